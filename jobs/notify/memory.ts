/** Stores the notifier's state in a file next to the warehouse. An unreadable file counts as empty. */
import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { reportNames } from '../../schema/index.ts'
import { replaceText } from '../../src/files.ts'
import { RUN_KINDS } from '../runs/runs.ts'

const report = z.enum(reportNames)
export const NOTICE_EVENTS = ['report.paused', 'report.failing', 'brake.pulled', 'lag.exceeded', 'rows.late'] as const

const Notice = z.object({
  id: z.string(),
  event: z.enum(NOTICE_EVENTS),
  state: z.enum(['firing', 'resolved']),
  report,
  code: z.string().optional(),
  message: z.string(),
  cure: z.string(),
  at: z.string(),
  /** Host of the service, so that a receiver can distinguish several installations. */
  service: z.string(),
  host: z.string(),
})
export type Notice = z.infer<typeof Notice>

const Waiting = z.object({ notice: Notice, tries: z.number(), dueMs: z.number() })
export type Waiting = z.infer<typeof Waiting>

/** The number of failures of one report and one kind of run since the last success, and the newest error. */
const Failures = z.object({
  report,
  kind: z.enum(RUN_KINDS),
  times: z.number(),
  code: z.string(),
  message: z.string(),
  cure: z.string(),
})

export type Failures = z.infer<typeof Failures>

const Memory = z.object({
  /** The notices of conditions that have not ended. The key identifies the condition. Example: `paused events`. */
  told: z.record(z.string(), Notice),
  failures: z.array(Failures),
  waiting: z.array(Waiting),
})
export type Memory = z.infer<typeof Memory>

/** Returns the state of a notifier that has never run. */
export const emptyMemory = (): Memory => ({ told: {}, failures: [], waiting: [] })

export const readMemory = (file: string): Promise<Memory> =>
  readFile(file, 'utf8')
    .then((text) => Memory.parse(JSON.parse(text)))
    .catch(emptyMemory)

/** Writes the file. If writing fails, for example on a full disk, the worker continues with the state in memory. */
export const writeMemory = (file: string, memory: Memory): Promise<void> =>
  replaceText(file, JSON.stringify(memory)).catch(() => undefined)

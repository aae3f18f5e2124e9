/**
 * What the notifier has to know after a restart: what was told already, how often runs failed in a row, and notices
 * that wait for their receiver. A small file beside the warehouse, replaced as a whole; without a readable one it
 * begins anew.
 */
import { readFile, rename, writeFile } from 'node:fs/promises'
import { z } from 'zod'
import { reportNames } from '../../schema/index.ts'

const report = z.enum(reportNames)
const event = z.enum(['report.paused', 'report.failing', 'brake.pulled', 'lag.exceeded'])

const Notice = z.object({
  id: z.string(),
  event,
  /** `firing` when it begins, `resolved` when it is over. */
  state: z.enum(['firing', 'resolved']),
  report,
  code: z.string().optional(),
  message: z.string(),
  cure: z.string(),
  /** When it began or was over. */
  at: z.string(),
  /** Whose it is, where one receiver serves several. */
  service: z.string(),
  host: z.string(),
})
export type Notice = z.infer<typeof Notice>

const Waiting = z.object({ notice: Notice, tries: z.number(), dueMs: z.number() })
export type Waiting = z.infer<typeof Waiting>

const Failures = z.object({
  report,
  kind: z.enum(['incremental', 'backfill', 'reconcile']),
  times: z.number(),
  code: z.string(),
  message: z.string(),
  cure: z.string(),
})

const Memory = z.object({
  /** What was told and is not over, by the condition's key. */
  told: z.record(z.string(), Notice),
  failures: z.array(Failures),
  waiting: z.array(Waiting),
})
export type Memory = z.infer<typeof Memory>

const NOTHING: Memory = { told: {}, failures: [], waiting: [] }

export async function readMemory(file: string): Promise<Memory> {
  try {
    return Memory.parse(JSON.parse(await readFile(file, 'utf8')))
  } catch {
    return structuredClone(NOTHING)
  }
}

/** A full disk must not end the worker: then it is kept in this process alone. */
export async function writeMemory(file: string, memory: Memory): Promise<void> {
  const fresh = `${file}.new`
  try {
    await writeFile(fresh, JSON.stringify(memory), { mode: 0o600 })
    await rename(fresh, file)
  } catch {
    return
  }
}

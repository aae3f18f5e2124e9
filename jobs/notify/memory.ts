/** Stores notices and undelivered messages in a file next to the warehouse. */
import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import type { ReportName } from '../../schema/index.ts'
import { removeTemporaryFiles, replaceText } from '../../src/files.ts'
import type { Cursor } from '../../src/warehouse/books/cursor.ts'
import type { ChangedReport } from '../../src/warehouse/books/newData.ts'
import { RUN_KINDS } from '../runs/runs.ts'

/** Accepts any name, so that nothing stored is lost if a report was removed from `reports_from`. */
const report = z.custom<ReportName>((value) => typeof value === 'string')

export const NOTICE_EVENTS = ['report.paused', 'report.failing', 'brake.pulled', 'lag.exceeded', 'rows.late'] as const
export const MESSAGE_EVENTS = [...NOTICE_EVENTS, 'data.published', 'notify.test'] as const

export const Message = z.object({
  id: z.string(),
  event: z.enum(MESSAGE_EVENTS),
  state: z.enum(['firing', 'resolved']).optional(),
  condition: z.string().optional(),
  report: report.optional(),
  code: z.string().optional(),
  message: z.string(),
  cure: z.string().optional(),
  at: z.string(),
  service: z.string(),
  host: z.string(),
  data: z.custom<Omit<ChangedReport, 'report'>>((value) => typeof value === 'object').optional(),
})
export type Message = z.infer<typeof Message>

const cursor = z.custom<Cursor>((value) => typeof value === 'string')
const ReceiverState = z.object({
  waiting: z.array(Message),
  /** For each report, the cursor of the last change that a message covers. Receivers of notices have no cursors. */
  cursors: z.partialRecord(report, cursor),
  /** The failed deliveries since the last accepted message. Undefined if the last message was accepted. */
  failing: z.object({ since: z.string(), tries: z.number(), why: z.string() }).optional(),
})
export type ReceiverState = z.infer<typeof ReceiverState>

/** The failures of one kind of run since its last success. */
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
  /** The notices of conditions that have not ended, by condition. */
  firing: z.record(z.string(), Message),
  failures: z.array(Failures),
  receivers: z.record(z.string(), ReceiverState),
})

export const noticesFileOf = (warehouse: string): string => `${warehouse}.notices.json`

export const readMemory = (warehouse: string): Promise<z.infer<typeof Memory>> =>
  readFile(noticesFileOf(warehouse), 'utf8')
    .then((text) => Memory.parse(JSON.parse(text)))
    .catch(() => ({ firing: {}, failures: [], receivers: {} }))

/** Opens the stored notices. Only the process that owns the warehouse may call it: two would overwrite the file. */
export async function openNoticeBook(warehouse: string) {
  const file = noticesFileOf(warehouse)
  await removeTemporaryFiles(file).catch(() => undefined)
  const memory = await readMemory(warehouse)
  let writing = Promise.resolve()
  // On a full disk, the worker continues with the state in memory.
  const write = () => replaceText(file, JSON.stringify(memory)).catch(() => undefined)
  return { memory, save: () => (writing = writing.then(write)) }
}
export type NoticeBook = Awaited<ReturnType<typeof openNoticeBook>>

/** The outcome of one run of a report: its state, its error, and what its loads have changed in total. */
import { z } from 'zod'
import { Report, type ReportName } from '../../schema/index.ts'
import type { SyncError } from '../errors.ts'

/** Returns the schema unchanged. The type `ZodType<T>` makes docs/api refer to `T` instead of repeating its fields. */
export const named = <T>(schema: z.ZodType<T>): z.ZodType<T> => schema

const count = z.number()
/** The default is 0, because another version of this program may not send the count. */
const figure = count.default(0)

export const Figures = z.object({
  rows: figure,
  inserted: figure,
  updated: figure,
  deleted: figure,
  rejected: figure,
  misfits: figure,
  childrenWritten: figure,
  schemaChanges: figure,
  /** Fields that got no column, because of the contract `freeze` or the column limit. Example: `['events.colour']`. */
  frozen: z.array(z.string()).readonly().default([]),
  /** Number of rows that the service returned only now, although an earlier window covered their modification time. */
  late: figure,
  /** The longest known delay (ms) between a late row's modification and its appearance. */
  latenessMs: figure,
})
/** What a run has read and changed. */
export interface Figures extends z.infer<typeof Figures> {}

export const noFigures = (): Figures => Figures.parse({})

export const OutcomeFacts = z.object({
  report: Report,
  runId: z.string().optional(),
  /** A `paused` report did not run, because a refusal or an operator paused it. `error` explains how to resume it. */
  state: z.enum(['done', 'failed', 'off', 'paused']),
  pages: count,
  figures: named<Figures>(Figures),
  offReason: z.string().optional(),
  elapsedMs: count,
})

export type ReportOutcome = Readonly<z.infer<typeof OutcomeFacts>> & { readonly error?: SyncError }

export function addFigures(total: Figures, part: Figures): void {
  const latenessMs = Math.max(total.latenessMs, part.latenessMs)
  for (const figure of Object.keys(total) as (keyof Figures)[]) if (figure !== 'frozen') total[figure] += part[figure]
  total.latenessMs = latenessMs
  total.frozen = [...total.frozen, ...part.frozen]
}

export const nothingRun = (report: ReportName) => ({ report, pages: 0, figures: noFigures(), elapsedMs: 0 })

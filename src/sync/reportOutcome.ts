/** The outcome of one report in one sync, with the figures of its loads. */
import type { ReportName } from '../../schema/index.ts'
import type { SyncError } from '../errors.ts'

export interface ReportOutcome {
  readonly report: ReportName
  /** Identifier of the run; undefined when the report did not run. */
  readonly runId?: string | undefined
  /** `paused`: skipped, since the service refused it before or an operator paused it; `error` contains reason and cure. */
  readonly state: 'done' | 'failed' | 'off' | 'paused'
  readonly pages: number
  readonly figures: Figures
  /** Why the report is switched off. Set only with the state `off`. */
  readonly offReason?: string
  readonly error?: SyncError
  readonly elapsedMs: number
}

/** Sums over all loads of a run. */
export interface Figures {
  rows: number
  inserted: number
  updated: number
  deleted: number
  rejected: number
  childrenWritten: number
  /** Columns that were added or widened. */
  schemaChanges: number
  /**
   * Fields for which no column was added, because of a frozen contract or the limit of columns. Each is reported once.
   * Example: `['events.colour']`.
   */
  frozen: readonly string[]
  /** Rows that earlier windows should have read and did not. */
  late: number
  /** The longest time between the stamp of a late row and its arrival, as a lower bound. */
  latenessMs: number
}

export const noFigures = (): Figures => ({
  rows: 0,
  inserted: 0,
  updated: 0,
  deleted: 0,
  rejected: 0,
  childrenWritten: 0,
  schemaChanges: 0,
  frozen: [],
  late: 0,
  latenessMs: 0,
})

/** Adds the figures of one part of a run to those of the run. */
export function addFigures(sum: Figures, part: Figures): void {
  const latenessMs = Math.max(sum.latenessMs, part.latenessMs)
  for (const figure of Object.keys(sum) as (keyof Figures)[]) if (figure !== 'frozen') sum[figure] += part[figure]
  sum.latenessMs = latenessMs
  sum.frozen = [...sum.frozen, ...part.frozen]
}

/** The common fields in the outcome of a report that was not run. */
export const nothingRun = (report: ReportName) => ({
  report,
  runId: undefined,
  pages: 0,
  figures: noFigures(),
  elapsedMs: 0,
})

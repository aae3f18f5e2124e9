/** The outcome of one run of one report, with the sums of its loads. */
import type { ReportName } from '../../schema/index.ts'
import type { SyncError } from '../errors.ts'

export interface ReportOutcome {
  readonly report: ReportName
  /** Identifier of the run; undefined if the report did not run. */
  readonly runId?: string | undefined
  /** `paused`: the service or an operator paused the report, so it did not run. `error` has the reason and the cure. */
  readonly state: 'done' | 'failed' | 'off' | 'paused'
  readonly pages: number
  readonly figures: Figures
  /** The reason why the report is switched off; set only in state `off`. */
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
  /** Number of values that did not fit their columns. */
  misfits: number
  childrenWritten: number
  /** Number of columns that were added or widened. */
  schemaChanges: number
  /**
   * Fields that got no column, because the contract is `freeze` or the table has the maximum of columns. Each field is
   * reported once. Example: `['events.colour']`.
   */
  frozen: readonly string[]
  /** Number of rows that were first returned now, although an earlier window had requested their time. */
  late: number
  /** The largest delay (ms) of the late rows, from modification to visibility. The true delay may be longer. */
  latenessMs: number
}

export const noFigures = (): Figures => ({
  rows: 0,
  inserted: 0,
  updated: 0,
  deleted: 0,
  rejected: 0,
  misfits: 0,
  childrenWritten: 0,
  schemaChanges: 0,
  frozen: [],
  late: 0,
  latenessMs: 0,
})

/** Adds the figures of one part of a run, such as one currency, to those of the run. */
export function addFigures(sum: Figures, part: Figures): void {
  const latenessMs = Math.max(sum.latenessMs, part.latenessMs)
  for (const figure of Object.keys(sum) as (keyof Figures)[]) if (figure !== 'frozen') sum[figure] += part[figure]
  sum.latenessMs = latenessMs
  sum.frozen = [...sum.frozen, ...part.frozen]
}

/** Returns the fields that are the same in the outcomes of all reports that did not run. */
export const nothingRun = (report: ReportName) => ({
  report,
  runId: undefined,
  pages: 0,
  figures: noFigures(),
  elapsedMs: 0,
})

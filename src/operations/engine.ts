/** The functions by which operations execute runs. A worker queues its runs, and a command executes them at once. */
import type { OwnerContext } from '../../jobs/owner/housekeeping.ts'
import type { ReportName } from '../../schema/index.ts'
import type { BackfillRequest } from '../sync/backfill/backfillRequest.ts'
import type { ReportOutcome } from '../sync/reportOutcome.ts'
import type { OperationEvent } from './contract.ts'

export interface Caller {
  /** The caller's name for `tidemark.orders`: `console`, or the user and machine of a command. Example: `ada@etl-1`. */
  readonly by: string
  readonly tell: (event: OperationEvent) => void
  /** Aborts when the caller stops waiting. Runs that a worker has begun continue. */
  readonly signal: AbortSignal
}

export type RunRequest =
  | { readonly kind: 'incremental'; readonly reports: readonly ReportName[] }
  | { readonly kind: 'reconcile'; readonly reports: readonly ReportName[]; readonly allowMassDelete: boolean }
  | { readonly kind: 'backfill'; readonly ranges: readonly BackfillRequest[] }

export interface EndedRun {
  readonly outcome: ReportOutcome
  /** The result of a reconcile or a backfill; undefined for an incremental run, and if the run failed. */
  readonly result?: unknown
}

export interface Engine {
  readonly context: OwnerContext
  /** Runs the reports and returns their outcomes. The caller also receives each outcome as soon as a run has ended. */
  run(request: RunRequest, caller: Caller): Promise<readonly EndedRun[]>
  /** Publishes a copy for readers, unless the copy is up to date. */
  publish(): Promise<{ readonly path: string; readonly replaced: boolean }>
  /**
   * Stops an active or waiting run. Returns its description, such as `a run`; undefined if there is no such run. A
   * command's own engine has no such function: there, only the caller's signal can stop a run.
   */
  cancel?(id: string): Promise<string | undefined>
  /** Returns the description of a run that `cancel` stopped earlier; undefined if `cancel` stopped no such run. */
  cancelledBefore?(id: string): string | undefined
  /**
   * Starts the runs that were not possible during the pauses of these reports. Called when the pauses have ended.
   * A command's own engine has no such function, because the next `tidemark sync` runs the reports.
   */
  restart?(reports: readonly ReportName[]): Promise<void>
  /** Runs `work` after all earlier calls of `inTurn` have ended, so that only one `work` runs at a time. */
  inTurn<T>(work: () => Promise<T>): Promise<T>
}

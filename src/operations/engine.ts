/** Operations start runs through an `Engine`: a worker adds jobs to the queue, a command runs the reports itself. */
import type { OwnerContext } from '../../jobs/owner/housekeeping.ts'
import type { RunKind } from '../../jobs/runs/runs.ts'
import type { ReportName } from '../../schema/index.ts'
import type { GuardedLog } from '../log.ts'
import type { Observe } from '../observe.ts'
import type { BackfillRequest } from '../sync/backfill/backfillRequest.ts'
import type { ReportOutcome } from '../sync/reportOutcome.ts'
import type { OperationEvent } from './contract.ts'

export interface Caller {
  /** Who requested the operation: `console`, `status`, `check`, or a command's user and machine (`ada@etl-1`). */
  readonly by: string
  readonly tell: (event: OperationEvent) => void
  /** Aborts when the caller stops waiting. Runs in a worker continue. */
  readonly signal: AbortSignal
}

export type RunRequest =
  | { readonly kind: 'incremental'; readonly reports: readonly ReportName[] }
  | { readonly kind: 'reconcile'; readonly reports: readonly ReportName[]; readonly allowMassDelete: boolean }
  | { readonly kind: 'backfill'; readonly ranges: readonly BackfillRequest[] }

export interface EndedRun {
  readonly outcome: ReportOutcome
  readonly result?: unknown
}

export interface Engine {
  readonly context: OwnerContext
  /** Returns all outcomes at the end. The caller also receives each outcome as soon as its run has ended. */
  run(request: RunRequest, caller: Caller): Promise<readonly EndedRun[]>
  publish(): Promise<{ readonly path: string; readonly replaced: boolean }>
  /** Stops an active or waiting run. Returns what was stopped, such as `a run`. Only a worker has this method. */
  cancel?(id: string): Promise<string | undefined>
  cancelledBefore?(id: string): string | undefined
  /** Starts runs after a resume or a reset. Only a worker has this method: a command leaves runs to the next sync. */
  restart?(reports: readonly ReportName[]): Promise<void>
  inTurn<T>(work: () => Promise<T>): Promise<T>
}

/** Where an operation logs, traces and reports outcomes if the calling process executes it. */
export interface Surroundings extends AsyncDisposable {
  readonly log: GuardedLog
  readonly observe?: Observe | undefined
  readonly onEnded: (kind: RunKind, outcome: ReportOutcome) => void
}

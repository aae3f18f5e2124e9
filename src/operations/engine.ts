/**
 * Where an operation is executed. In the worker that owns the warehouse, runs go through the queues. In a command that
 * opens the warehouse itself, they start at once. Both implement this interface, so operations do not differ.
 */
import type { OwnerContext } from '../../jobs/owner/housekeeping.ts'
import type { ReportName } from '../../schema/index.ts'
import type { BackfillRequest } from '../sync/backfill/backfillRequest.ts'
import type { ReportOutcome } from '../sync/reportOutcome.ts'
import type { OperationEvent } from './contract.ts'

export interface Caller {
  readonly tell: (event: OperationEvent) => void
  /** Aborted when the caller has left. Runs that a worker has begun continue. */
  readonly signal: AbortSignal
}

export type RunRequest =
  | { readonly kind: 'incremental'; readonly reports: readonly ReportName[] }
  | { readonly kind: 'reconcile'; readonly reports: readonly ReportName[]; readonly allowMassDelete: boolean }
  | { readonly kind: 'backfill'; readonly ranges: readonly BackfillRequest[] }

export interface EndedRun {
  readonly outcome: ReportOutcome
  /** The result of a reconcile or a backfill; undefined when it failed. */
  readonly result?: unknown
}

export interface Engine {
  readonly context: OwnerContext
  /** Runs the reports and returns their outcomes. Each outcome is also sent to the caller as it becomes known. */
  run(request: RunRequest, caller: Caller): Promise<readonly EndedRun[]>
  /** Replaces the published copy when it is outdated. */
  publish(): Promise<{ readonly path: string; readonly replaced: boolean }>
  /** Ends an active or waiting run. Returns its description, such as `a run`; undefined when there is no such run. */
  callOff(id: string): Promise<string | undefined>
  /** Returns the description of a run that `callOff` ended earlier. */
  calledOffBefore(id: string): string | undefined
  /** Starts runs that these reports' pauses had prevented. */
  restart(reports: readonly ReportName[]): Promise<void>
  /** Runs `work` after all earlier calls of `inTurn` have ended. */
  inTurn<T>(work: () => Promise<T>): Promise<T>
}

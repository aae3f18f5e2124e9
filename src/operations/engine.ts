/**
 * The interface to what executes an operation. In the worker that owns the warehouse, runs go through the queues. In a
 * command that opens the warehouse itself, they begin at once. Operations use only this interface.
 */
import type { OwnerContext } from '../../jobs/owner/housekeeping.ts'
import type { ReportName } from '../../schema/index.ts'
import type { BackfillRequest } from '../sync/backfill/backfillRequest.ts'
import type { ReportOutcome } from '../sync/reportOutcome.ts'
import type { OperationEvent } from './contract.ts'

export interface Caller {
  readonly tell: (event: OperationEvent) => void
  /** Aborts when the caller has left. Runs that a worker has begun go on. */
  readonly signal: AbortSignal
}

export type RunRequest =
  | { readonly kind: 'incremental'; readonly reports: readonly ReportName[] }
  | { readonly kind: 'reconcile'; readonly reports: readonly ReportName[]; readonly allowMassDelete: boolean }
  | { readonly kind: 'backfill'; readonly ranges: readonly BackfillRequest[] }

export interface EndedRun {
  readonly outcome: ReportOutcome
  /** The result of a reconcile or a backfill; undefined if it failed. */
  readonly result?: unknown
}

export interface Engine {
  readonly context: OwnerContext
  /** Runs the reports and returns their outcomes. Each outcome is also sent to the caller as soon as it is known. */
  run(request: RunRequest, caller: Caller): Promise<readonly EndedRun[]>
  /** Publishes the copy for readers, unless it is up to date. */
  publish(): Promise<{ readonly path: string; readonly replaced: boolean }>
  /** Stops an active or waiting run. Returns what it was, such as `a run`; undefined if there is no such run. */
  callOff(id: string): Promise<string | undefined>
  /** Returns what a run was that `callOff` stopped earlier; undefined if it stopped none with this identifier. */
  calledOffBefore(id: string): string | undefined
  /** Starts the runs that the pauses of these reports have prevented. */
  restart(reports: readonly ReportName[]): Promise<void>
  /** Runs `work` after all earlier calls of `inTurn` have ended. */
  inTurn<T>(work: () => Promise<T>): Promise<T>
}

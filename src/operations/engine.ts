/**
 * Where an operation is carried out. In the worker that owns the warehouse, runs go through the queues; in a command
 * that opens the warehouse itself, they run at once. The operations see no difference.
 */
import type { OwnerContext } from '../../jobs/owner/housekeeping.ts'
import type { ReportName } from '../../schema/index.ts'
import type { BackfillRequest } from '../sync/backfill/backfillRequest.ts'
import type { ReportOutcome } from '../sync/reportOutcome.ts'
import type { OperationEvent } from './contract.ts'

/** Who asked for the operation. */
export interface Caller {
  readonly tell: (event: OperationEvent) => void
  /** Aborted when the caller is gone. What a worker has begun goes on. */
  readonly signal: AbortSignal
}

export type RunRequest =
  | { readonly kind: 'incremental'; readonly reports: readonly ReportName[] }
  | { readonly kind: 'reconcile'; readonly reports: readonly ReportName[]; readonly allowMassDelete: boolean }
  | { readonly kind: 'backfill'; readonly ranges: readonly BackfillRequest[] }

export interface EndedRun {
  readonly outcome: ReportOutcome
  /** What a reconcile found, or how a backfill ended; undefined when it failed. */
  readonly result?: unknown
}

export interface Engine {
  readonly context: OwnerContext
  /** Runs the reports and returns what became of each, after telling the caller about it. */
  run(request: RunRequest, caller: Caller): Promise<readonly EndedRun[]>
  /** Replaces the published copy when it is outdated. */
  publish(): Promise<{ readonly path: string; readonly replaced: boolean }>
  /** Ends a run that runs or waits. Returns what it was, such as `a run`; undefined when there is no such run. */
  callOff(id: string): Promise<string | undefined>
  /** Returns what a run was that `callOff` ended before. */
  calledOffBefore(id: string): string | undefined
  /** Starts what the pauses of these reports kept from running. */
  restart(reports: readonly ReportName[]): Promise<void>
  /** Runs one such work after the other. */
  inTurn<T>(work: () => Promise<T>): Promise<T>
}

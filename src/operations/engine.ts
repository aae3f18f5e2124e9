/** Starts the runs of an operation. Workers and commands have different engines. */
import type { ReportName } from '../../schema/index.ts'
import type { RunKind } from '../../jobs/runs/runs.ts'
import type { SharedContext } from '../sync/context.ts'
import type { ReportOutcome } from '../sync/reportOutcome.ts'
import type { OperationEvent, RequestOf } from './contract.ts'

export interface Caller {
  /** Who requests the operation: `console`, or the user and the machine of a command, such as `ada@etl-1`. */
  readonly by: string
  readonly onEvent: (event: OperationEvent) => void
  /** Aborts when the caller stops waiting. A run in a worker continues. */
  readonly signal: AbortSignal
}

/** An operation that consists of runs. */
export type RunsRequest = RequestOf<'sync' | 'reconcile' | 'backfill'>

export const kindOf = ({ do: name }: RunsRequest): RunKind => (name === 'sync' ? 'incremental' : name)

export interface EndedRun {
  readonly outcome: ReportOutcome
  readonly result?: unknown
}

export interface Engine {
  readonly context: SharedContext
  /** Executes runs and returns their outcomes. Also passes each outcome to the caller as soon as its run has ended. */
  run(request: RunsRequest, caller: Caller): Promise<readonly EndedRun[]>
  publish(): Promise<{ readonly path: string; readonly replaced: boolean }>
  /** Cancels a run and returns what was stopped, such as `a run`. Undefined in a command-line process. */
  cancel?(id: string): Promise<string | undefined>
  cancelledBefore?(id: string): string | undefined
  /** Starts runs after a resume or a reset. Undefined in a command, which leaves these runs to the next sync. */
  restart?(reports: readonly ReportName[]): Promise<void>
  inTurn<T>(work: () => Promise<T>): Promise<T>
}

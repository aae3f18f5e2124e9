/**
 * Where the console reads data and sends commands. In the process that owns the warehouse, the backend is the owner. In
 * other processes, it is the published copy and the queue. When the owner changes, the backend is replaced, and the
 * console stays open.
 */
import type { ReportName } from '../../schema/index.ts'
import type { OperationRequest, Reply, RunningRun } from '../operations/contract.ts'
import type { Caller } from '../operations/engine.ts'
import type { RequestConfig } from '../status/coverage.ts'
import type { Standing } from '../status/standing.ts'

export interface Reader {
  rows<T>(sql: string): Promise<T[]>
}

export interface ConsoleBackend {
  readonly isOwner: boolean
  /** Executes an operation. A failure is returned as an answer with `error`, not thrown. */
  answer(request: OperationRequest, caller: Caller): Promise<Reply>
  /** Runs SELECT statements on the bookkeeping tables, in the warehouse or in the published copy. */
  readonly books: Reader
  /** Returns each report's state, as `tidemark status --json` prints it. */
  standings(): Promise<readonly Standing[]>
  /** Returns the active runs of this process; none if it does not own the warehouse. */
  running(): readonly RunningRun[]
  /** Returns the number of runs that this process has begun since its start; 0 if it does not own the warehouse. */
  begun(): number
}

/** The part of a report's configuration that the console shows. */
export type ReportSettings = Pick<
  RequestConfig['reports'][ReportName],
  'enabled' | 'every' | 'everyMs' | 'settleMs' | 'overlapMs' | 'start'
>

export type AllSettings = Readonly<Record<ReportName, ReportSettings>>

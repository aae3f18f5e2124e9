/** The source of the console's data: the warehouse in its owner, elsewhere the published copy and the queue. */
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
  /** Executes an operation. Returns a failure as an answer with `error` and does not throw it. */
  answer(request: OperationRequest, caller: Caller): Promise<Reply>
  /** Reads tables of schema `tidemark`, from the warehouse or from the published copy. */
  readonly books: Reader
  standings(): Promise<readonly Standing[]>
  /** Returns the active runs of this process; none if it does not own the warehouse. */
  running(): readonly RunningRun[]
  /** Returns the number of runs since the start of this process; 0 if it does not own the warehouse. */
  begun(): number
}

export type ReportSettings = Pick<
  RequestConfig['reports'][ReportName],
  'enabled' | 'every' | 'everyMs' | 'settleMs' | 'overlapMs' | 'start'
>

export type AllSettings = Readonly<Record<ReportName, ReportSettings>>

/** The console's access to data. In the owner's process it reads the warehouse, in other workers the published copy. */
import type { ReportName } from '../../schema/index.ts'
import type { OperationRequest, Reply, RunningRun } from '../operations/contract.ts'
import type { Caller } from '../operations/engine.ts'
import type { StatusConfig } from '../status/coverage.ts'
import type { Standing } from '../status/standing.ts'

export interface BookReader {
  rows<T>(sql: string): Promise<T[]>
}

export interface ConsoleBackend {
  readonly isOwner: boolean
  /** Executes an operation. Never throws: the reply to a failed operation contains `error`. */
  answer(request: OperationRequest, caller: Caller): Promise<Reply>
  readonly books: BookReader
  standings(): Promise<readonly Standing[]>
  running(): readonly RunningRun[]
  begun(): number
}

export type ReportSettings = Pick<
  StatusConfig['reports'][ReportName],
  'enabled' | 'every' | 'everyMs' | 'settleMs' | 'overlapMs' | 'start'
>

export type AllSettings = Readonly<Record<ReportName, ReportSettings>>

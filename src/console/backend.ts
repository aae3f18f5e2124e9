/**
 * The source of the console's data and the target of its commands. If this process owns the warehouse, it is both
 * itself. In any other process, data are read from the published copy, and commands are sent through the queue to the
 * owner. When the owner changes, so does the backend, while the console stays open.
 */
import type { ReportName } from '../../schema/index.ts'
import type { Instant } from '../instant.ts'
import type { OperationRequest, Reply, RunningRun } from '../operations/contract.ts'
import type { Caller } from '../operations/engine.ts'
import type { Standing } from './api/schemas.ts'

export interface Reader {
  rows<T>(sql: string): Promise<T[]>
}

export interface ConsoleBackend {
  /** Whether this process owns the warehouse. */
  readonly isOwner: boolean
  /** Executes an operation of the command line. A failure is returned as an answer with `error`. */
  answer(request: OperationRequest, caller: Caller): Promise<Reply>
  /** Runs SELECT statements on the bookkeeping tables of the warehouse, or of the published copy. */
  readonly books: Reader
  /** Returns what `tidemark status --json` prints for each report. */
  standings(): Promise<readonly Standing[]>
  /** Returns the active runs of this process; none if it is not the owner. */
  running(): readonly RunningRun[]
  /** Returns how many runs this process has begun so far; 0 if it is not the owner. */
  begun(): number
}

/** The part of a report's configuration that the console shows. */
export interface ReportSettings {
  readonly enabled: boolean
  readonly every: string
  /** `every` in milliseconds; undefined for a cron line. */
  readonly everyMs?: number
  readonly settleMs: number
  readonly overlapMs: number
  readonly start: Instant
}

export type AllSettings = Readonly<Record<ReportName, ReportSettings>>

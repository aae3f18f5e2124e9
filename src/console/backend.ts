/**
 * The source of the console's data and the target of its commands. In the process that owns the warehouse, both are
 * that process. In any other process, data comes from the published copy, and commands go through the queue to the
 * owner. The backend changes with the ownership, while the console stays open.
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
  /** Executes an operation of the command line. A failure is an answer with `error`. */
  answer(request: OperationRequest, caller: Caller): Promise<Reply>
  /** Runs SELECT statements on the bookkeeping tables of the warehouse, or of the published copy. */
  readonly books: Reader
  /** Returns what `tidemark status --json` prints for each report. */
  standings(): Promise<readonly Standing[]>
  /** Returns the active runs of this process; empty when it is not the owner. */
  running(): readonly RunningRun[]
  /** Returns how many runs this process has started so far; 0 when it is not the owner. */
  begun(): number
}

/** The configuration of one report, as far as the console shows it. */
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

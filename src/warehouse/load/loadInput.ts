/** What a load is given, what it needs to know of the warehouse, and what it gives. */
import type { Declaration } from '../../../schema/report.ts'
import type { Instant } from '../../instant.ts'
import type { ColumnChange, DiscoveredColumn } from '../../plan/columns.ts'
import type { AskedBefore } from '../../plan/lateness.ts'
import type { Segment } from '../../staging/spool.ts'
import type { BackfilledWindow } from '../books/backfills.ts'
import type { ClosedWindow, RunRecord } from '../books/books.ts'
import type { Fence, Fences } from '../books/fences.ts'
import type { AskedRecord, Follower } from '../books/followed.ts'
import type { EntryWindow } from '../books/told.ts'
import type { Database, Sql } from '../database/duckdb.ts'
import type { MergedWithItems } from './merge.ts'
import type { ReconcileProgress } from './reconcile.ts'
import type { Retried } from './rejected.ts'
import type { LoadRules } from './stage.ts'

export interface LoadInput {
  readonly report: Declaration
  readonly runId: string
  /** Our own clock, for the books. */
  readonly now: Instant
  /** The service's clock now, as a lower bound: what was observed later was observed before the clock was set back. */
  readonly serviceNow?: Instant | undefined
  /** The staged rows; none when the window holds nothing. */
  readonly segment?: Segment | undefined
  readonly closes: readonly ClosedWindow[]
  /** Keys that a second read showed to be deleted (budgets), each with the columns of the report's key. */
  readonly gone?: readonly (readonly (string | number)[])[] | undefined
  /** For audit entries: the records and bounds whose entries this load replaces. */
  readonly replaces?: readonly EntryWindow[] | undefined
  /** Audit reports that follow this one. */
  readonly followers?: readonly Follower[]
  /** The rows were asked for whether or not they were modified (reconcile, backfill, refill). */
  readonly rereads?: boolean
  /** For audit entries: when each record was asked about. */
  readonly asked?: readonly AskedRecord[]
  /** For incremental windows: what the windows before had asked for, so that late rows are known. */
  readonly askedBefore?: AskedBefore | undefined
  /** The reconcile that this load is part of: the keys that came are remembered. */
  readonly reconcile?: ReconcileProgress | undefined
  /** The window of a backfill that this load ends. */
  readonly backfilled?: BackfilledWindow | undefined
  /** The rows were read some time ago: where nothing says which version is newer, the one held stays. */
  readonly yields?: boolean
  /** Refused rows that this load takes up again: they are its rows, and refused no longer but for those it refuses. */
  readonly retries?: Retried | undefined
  /** Without them columns change as the rows ask for, and everything is kept. */
  readonly rules?: LoadRules | undefined
  /** The run's right to commit; without it, nothing is checked. */
  readonly fence?: Fence | undefined
  /** The finished run, with the figures so far; this load's own are added. */
  readonly run?: RunRecord | undefined
}

export interface LoadResult extends MergedWithItems {
  readonly loadId: number
  readonly rows: number
  readonly rejected: number
  /** Those that weren't told before. */
  readonly changes: readonly TableChange[]
}

export interface TableChange {
  readonly table: string
  readonly change: ColumnChange
}

/** What a load needs to know of the warehouse. */
export interface LoadPlace {
  readonly database: Database
  readonly mark: string
  /** Discovered columns by table, as they are before the load. */
  readonly discovered: ReadonlyMap<string, readonly DiscoveredColumn[]>
  /** Called in the transaction, before anything is written. */
  readonly beforeWriting?: (sql: Sql) => Promise<void>
  readonly fences: Fences
  /** The record of the load's run as it began, while the file doesn't know it. */
  readonly begun?: RunRecord | undefined
}

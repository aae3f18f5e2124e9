/** The input of each kind of load, the parts of the warehouse that a load uses, and the result of a load. */
import type { Declaration } from '../../../schema/report.ts'
import type { Instant } from '../../instant.ts'
import type { ColumnChange, DiscoveredColumn } from '../../plan/columns.ts'
import type { PreviousRead } from '../../plan/lateness.ts'
import type { Segment } from '../../staging/spool.ts'
import type { CompletedWindow } from '../books/backfills.ts'
import type { ClosedWindow, RunRecord } from '../books/books.ts'
import type { Fence, Fences } from '../books/fences.ts'
import type { AuditedRecord } from '../books/auditRecords.ts'
import type { Follower } from './changedRecords.ts'
import type { EntryWindow } from './inputTables.ts'
import type { Database } from '../database/duckdb.ts'
import type { Sql } from '../database/sql.ts'
import type { LoadCounts } from './merge.ts'
import type { ReconcileProgress } from './reconcile.ts'
import type { RejectedBatch } from './rejectedRows.ts'
import type { LoadRules } from './stage.ts'

interface LoadBase {
  readonly report: Declaration
  readonly runId: string
  readonly now: Instant
  readonly segment?: Segment | undefined
  /** If undefined, the load is allowed to add columns, and it also stores each row's original JSON. */
  readonly rules?: LoadRules | undefined
}

/** A load whose rows a run has just read from the service. */
interface RunLoad extends LoadBase {
  /** The service's time. A stored row that was observed after this time shows that the service's clock was set back. */
  readonly serviceNow?: Instant | undefined
  readonly closes: readonly ClosedWindow[]
  /** The load's transaction checks this right to commit. If undefined, nothing is checked. */
  readonly fence?: Fence | undefined
  /** The record of the run, without the figures of this load. Set only for the last load of the run. */
  readonly run?: RunRecord | undefined
}

interface KeyedRows {
  readonly gone?: readonly (readonly (string | number)[])[] | undefined
  readonly followers?: readonly Follower[] | undefined
}

/** Rows that an incremental run has read because they were modified. */
export interface ChangesLoad extends RunLoad, KeyedRows {
  readonly kind: 'changes'
  /** The range of modification times that earlier windows have read. A new row in this range is late. */
  readonly previousRead?: PreviousRead | undefined
}

export interface RereadLoad extends RunLoad, KeyedRows {
  readonly kind: 'reread'
  /** Set if a comparison of counts requests the rows. Each new row is then late by at least this time (ms). */
  readonly lateMs?: number | undefined
}

/** Rows of a reconcile. The load stores their keys, which the end of the reconcile compares with the stored rows. */
export interface ReconcileLoad extends RunLoad, KeyedRows {
  readonly kind: 'reconcile'
  readonly reconcile: ReconcileProgress
}

/** Rows that a backfill has read earlier. A stored version with the same modification time is not replaced. */
export interface BackfillLoad extends RunLoad, KeyedRows {
  readonly kind: 'backfill'
  /** The window of the backfill that this load completes. Set only for the last load of the window. */
  readonly completes?: CompletedWindow | undefined
}

/** Rejected rows that are loaded again. A stored version with the same modification time is not replaced. */
export interface RetryLoad extends LoadBase, KeyedRows {
  readonly kind: 'retry'
  /** The rows to remove from `tidemark.rejected_rows`. Rows that are rejected again are stored there again. */
  readonly batch: RejectedBatch
  /** Only for audit reports: an empty window for each record, so that the load deletes no stored entry. */
  readonly entryWindows?: readonly EntryWindow[] | undefined
}

/** Audit entries. They replace the stored entries of the same records and times. */
export interface AuditLoad extends RunLoad {
  readonly kind: 'audit'
  readonly entryWindows: readonly EntryWindow[]
  /** The times at which trails were read. Example: `[{ scope: '3:1001', at }]` for record 1001 of entity 3. */
  readonly audited: readonly AuditedRecord[]
}

export const goneKeysOf = (input: LoadInput): KeyedRows['gone'] => (input.kind === 'audit' ? undefined : input.gone)

export type LoadInput = ChangesLoad | RereadLoad | ReconcileLoad | BackfillLoad | RetryLoad | AuditLoad

/** Returns true for loads that request all rows of a range, modified or not. Most of these rows are unchanged. */
export const readsUnmodified = ({ kind }: LoadInput): boolean =>
  kind === 'reread' || kind === 'reconcile' || kind === 'backfill'

/** Returns true for loads of rows that were read earlier. They keep stored versions with equal modification times. */
export const isReadEarlier = ({ kind }: LoadInput): boolean => kind === 'backfill' || kind === 'retry'

export interface LoadResult extends LoadCounts {
  readonly loadId: number
  readonly rows: number
  readonly rejected: number
  readonly changes: readonly TableChange[]
}

export interface TableChange {
  readonly table: string
  readonly change: ColumnChange
}

export interface LoadPlace {
  readonly database: Database
  readonly numberMark: string
  readonly discovered: ReadonlyMap<string, readonly DiscoveredColumn[]>
  /** Called in the load's transaction before the first write. If it throws, the load is rolled back. */
  readonly beforeWriting?: (sql: Sql) => Promise<void>
  readonly fences: Fences
  /** Set if the load's run has not committed anything yet. */
  readonly begun?: RunRecord | undefined
}

/** The input of a load, by what is loaded; what it needs from the warehouse; and its result. */
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
import type { Database, Sql } from '../database/duckdb.ts'
import type { LoadCounts } from './merge.ts'
import type { ReconcileProgress } from './reconcile.ts'
import type { RejectedBatch } from './rejectedRows.ts'
import type { LoadRules } from './stage.ts'

/** Fields of every load. */
interface LoadBase {
  readonly report: Declaration
  readonly runId: string
  /** The time of this machine's clock, for the books. */
  readonly now: Instant
  /** The staged rows; undefined when the service returned none. */
  readonly segment?: Segment | undefined
  /** The rules of the configuration. Without rules, columns are added as needed and rows are also stored as sent. */
  readonly rules?: LoadRules | undefined
}

/** Fields of a load whose rows were just read from the service. */
interface RunLoad extends LoadBase {
  /**
   * A lower bound of the service's current time. If a stored row has a later time of observation, the service's clock
   * was set back since.
   */
  readonly serviceNow?: Instant | undefined
  /** Windows that are complete with this load. */
  readonly closes: readonly ClosedWindow[]
  /** The run's right to commit. Without a fence nothing is checked. */
  readonly fence?: Fence | undefined
  /** The record of the run with the figures of earlier loads. Set only with the last load of the run. */
  readonly run?: RunRecord | undefined
}

/** Fields of a load of rows that have a key; audit entries have none. */
interface KeyedRows {
  /** Keys of rows without a flag that a second read showed to be deleted. Example: `[[1001, 'EUR']]`. */
  readonly gone?: readonly (readonly (string | number)[])[] | undefined
  /** Audit reports that follow this report. */
  readonly followers?: readonly Follower[] | undefined
}

/** Rows that an incremental run read because they were modified. */
export interface ChangesLoad extends RunLoad, KeyedRows {
  readonly kind: 'changes'
  /** What earlier windows have read; rows that they missed are counted as late. Undefined: late rows are not counted. */
  readonly previousRead?: PreviousRead | undefined
}

/** Rows that an incremental run reads again after a change of configuration, whether or not they were modified. */
export interface RereadLoad extends RunLoad, KeyedRows {
  readonly kind: 'reread'
  /** Only for rows that a comparison of counts found: each new row is late, by at least this time in milliseconds. */
  readonly lateMs?: number | undefined
}

/** Rows of a reconcile, whose keys are recorded for the comparison at its end. */
export interface ReconcileLoad extends RunLoad, KeyedRows {
  readonly kind: 'reconcile'
  readonly reconcile: ReconcileProgress
}

/** Rows of a backfill, which waited on disk: an equally new version in the warehouse is kept. */
export interface BackfillLoad extends RunLoad, KeyedRows {
  readonly kind: 'backfill'
  /** The window of the backfill that is complete with this load; set only with its last load. */
  readonly completes?: CompletedWindow | undefined
}

/** Rejected rows that are loaded again: an equally new version in the warehouse is kept. */
export interface RetryLoad extends LoadBase, KeyedRows {
  readonly kind: 'retry'
  /** Each row of the batch leaves `tidemark.rejected_rows`, and returns there when it is rejected again. */
  readonly batch: RejectedBatch
  /** Audit reports only: the records of the entries, with an empty window each, since their other entries stay. */
  readonly entryWindows?: readonly EntryWindow[] | undefined
}

/** Entries of audit trails. */
export interface AuditLoad extends RunLoad {
  readonly kind: 'audit'
  /** The load replaces all stored entries of these windows. */
  readonly entryWindows: readonly EntryWindow[]
  /** When the trail of each record was read. Example: `[{ scope: '3:1001', at }]` for record 1001 of entity 3. */
  readonly audited: readonly AuditedRecord[]
}

/** Returns the keys of deleted rows; undefined where the report finds deletions in another way. */
export const goneKeysOf = (input: LoadInput): KeyedRows['gone'] => (input.kind === 'audit' ? undefined : input.gone)

export type { AuditedRecord, EntryWindow }

export type LoadInput = ChangesLoad | RereadLoad | ReconcileLoad | BackfillLoad | RetryLoad | AuditLoad

/** Returns whether the rows were read without a condition on their modification, so that most of them did not change. */
export const readsUnmodified = ({ kind }: LoadInput): boolean =>
  kind === 'reread' || kind === 'reconcile' || kind === 'backfill'

/** Returns whether the rows were read some time ago, so that a stored version with the same time stays. */
export const isReadEarlier = ({ kind }: LoadInput): boolean => kind === 'backfill' || kind === 'retry'

export interface LoadResult extends LoadCounts {
  readonly loadId: number
  readonly rows: number
  readonly rejected: number
  /** Changes of columns that no load before has reported. */
  readonly changes: readonly TableChange[]
}

export interface TableChange {
  readonly table: string
  readonly change: ColumnChange
}

/** What a load needs from the warehouse. */
export interface LoadPlace {
  readonly database: Database
  readonly mark: string
  /** Discovered columns by table, as they are before the load. */
  readonly discovered: ReadonlyMap<string, readonly DiscoveredColumn[]>
  /** Called in the transaction, before anything is written. */
  readonly beforeWriting?: (sql: Sql) => Promise<void>
  readonly fences: Fences
  /** The record of the load's run, while the run has committed nothing yet. */
  readonly begun?: RunRecord | undefined
}

/** Types for the input, the dependencies and the result of a load. */
import type { Declaration } from '../../../schema/report.ts'
import type { SyncError } from '../../errors.ts'
import type { Instant } from '../../instant.ts'
import type { ColumnChange, SchemaContract } from '../../plan/columns.ts'
import type { RequestEntry } from '../../plan/requestBudget.ts'
import type { PreviousRead } from '../../plan/lateness.ts'
import type { Segment } from '../../staging/spool.ts'
import type { CompletedWindow } from '../books/backfills.ts'
import type { RunRecord } from '../books/runs.ts'
import type { ClosedWindow } from '../books/windows.ts'
import type { Fence, Fences } from '../books/fences.ts'
import type { AuditedRecord } from '../books/auditRecords.ts'
import type { Database } from '../database/duckdb.ts'

export interface LoadRules {
  readonly contract: SchemaContract
  /** After a change, the service may return the old state for this long. */
  readonly settleMs: number
  readonly excludePayload: boolean
}

export const NO_RULES: LoadRules = { contract: 'evolve', excludePayload: false, settleMs: 30_000 }

export interface Follower {
  readonly report: string
  /** The prefix of the scopes of audited records. Example: `3:` for the scope `3:7`, which is record 7 of entity 3. */
  readonly scopePrefix: string
  readonly settleMs: number
}

export interface EntryWindow {
  /** The record's identifiers. Example: `[3, 1001]` for record 1001 of entity 3. */
  readonly record: readonly (string | number)[]
  readonly since: Instant
  readonly until: Instant
}

export interface RejectedBatch {
  readonly loadIds: readonly number[]
  readonly rows: number
  readonly errorIfChanged: SyncError
}

export interface ReconcileProgress {
  readonly reconcileId: string
  /** The time up to which rows were requested. Undefined before the first request. */
  readonly reached: Instant | undefined
}

/** Keys of rows, such as `[7, 'EUR']`. The row's modification time can follow the key. */
export type RowKeys = readonly (readonly (string | number)[])[]

interface AnyLoad {
  readonly report: Declaration
  readonly runId: string
  readonly now: Instant
  readonly segment?: Segment | undefined
  /** Rules for new columns and private fields. Default: `NO_RULES`. */
  readonly rules?: LoadRules | undefined
  /** The service's time. If a stored row was observed later than this, the service's clock was set back. */
  readonly serviceNow?: Instant | undefined
  readonly requests?: readonly RequestEntry[] | undefined
  readonly closes?: readonly ClosedWindow[]
  readonly fence?: Fence | undefined
  /** The run's record. Set only for the last load of the run. */
  readonly run?: RunRecord | undefined
  readonly gone?: RowKeys | undefined
  readonly followers?: readonly Follower[] | undefined
  /** The range that earlier windows have read. New rows in this range are late. */
  readonly previousRead?: PreviousRead | undefined
  /** Set if a comparison of counts found the rows: each new row is counted as at least this late. */
  readonly lateMs?: number | undefined
  /** The backfill window that this load completes. Set only for the window's last load. */
  readonly completes?: CompletedWindow | undefined
  /** The load replaces the stored entries of these records and times. */
  readonly entryWindows?: readonly EntryWindow[] | undefined
}

interface RunLoad<Kind extends string> extends AnyLoad {
  readonly kind: Kind
  readonly closes: readonly ClosedWindow[]
}

export type ChangesLoad = RunLoad<'changes'>

/** Old rows that were read again, modified or not. */
export type RereadLoad = RunLoad<'reread'>

/** Rows of a backfill. A stored version with the same modification time is kept. */
export type BackfillLoad = RunLoad<'backfill'>

/** Rows of a reconcile, whose keys are stored to find missing rows. */
interface ReconcileLoad extends RunLoad<'reconcile'> {
  readonly reconcile: ReconcileProgress
}

export interface AuditLoad extends RunLoad<'audit'> {
  readonly entryWindows: readonly EntryWindow[]
  /** When audit trails were read. Example: `[{ scope: '3:1001', at }]`. */
  readonly audited: readonly AuditedRecord[]
}

/** Rejected rows that are loaded again. They replace only older versions. */
interface RetryLoad extends AnyLoad {
  readonly kind: 'retry'
  readonly batch: RejectedBatch
}

export type LoadInput = ChangesLoad | RereadLoad | ReconcileLoad | BackfillLoad | RetryLoad | AuditLoad

export interface MergeCounts {
  readonly inserted: number
  readonly updated: number
  readonly unchanged: number
  readonly deleted: number
  /** Undefined if late rows are not counted. */
  readonly late?: { readonly late: number; readonly latenessMs: number | undefined } | undefined
}

export interface LoadCounts extends MergeCounts {
  readonly childrenWritten: number
  readonly misfits: number
}

export const NO_COUNTS = { inserted: 0, updated: 0, unchanged: 0, deleted: 0, childrenWritten: 0, misfits: 0 }

export interface LoadResult extends LoadCounts {
  readonly loadId: number
  readonly rows: number
  readonly rejected: number
  readonly changes: readonly { readonly table: string; readonly change: ColumnChange }[]
}

export interface LoadDependencies {
  readonly database: Database
  readonly numberPrefix: string
  readonly fences: Fences
  /** The record of the run. Undefined once the run has committed something. */
  readonly begun?: RunRecord | undefined
}

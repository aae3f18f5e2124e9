/** The input of each kind of load, the parts of the warehouse that a load uses, and the result of a load. */
import type { Declaration } from '../../../schema/report.ts'
import type { SyncError } from '../../errors.ts'
import type { Instant } from '../../instant.ts'
import type { ColumnChange, DiscoveredColumn, SchemaContract } from '../../plan/columns.ts'
import type { RequestEntry } from '../../plan/requestBudget.ts'
import type { PreviousRead } from '../../plan/lateness.ts'
import type { Segment } from '../../staging/spool.ts'
import type { CompletedWindow } from '../books/backfills.ts'
import type { ClosedWindow, RunRecord } from '../books/books.ts'
import type { Fence, Fences } from '../books/fences.ts'
import type { AuditedRecord } from '../books/auditRecords.ts'
import type { Database } from '../database/duckdb.ts'
import type { Sql } from '../database/sql.ts'

/** The report's settings `schema_contract`, `settle` and `exclude_payload`. */
export interface LoadRules {
  readonly contract: SchemaContract
  /** How long (ms) after a change the service may still return the old state. */
  readonly settleMs: number
  readonly excludePayload: boolean
}

export const NO_RULES: LoadRules = { contract: 'evolve', excludePayload: false, settleMs: 30_000 }

export interface Follower {
  readonly report: string
  /** The prefix that the scopes of an entity's records share. Example: `3:`, as in `3:7` (entity 3, record 7). */
  readonly scopePrefix: string
  readonly settleMs: number
}

export interface EntryWindow {
  /** The record's identifiers, in the order of the request's columns. Example: `[3, 1001]`, record 1001 of entity 3. */
  readonly record: readonly (string | number)[]
  readonly since: Instant
  readonly until: Instant
}

export interface RejectedBatch {
  readonly loadIds: readonly number[]
  readonly rows: number
  /** The error to throw if the number of rejected rows in these loads is no longer `rows`. */
  readonly moved: SyncError
}

export interface ReconcileProgress {
  readonly reconcileId: string
  /** The creation or modification time up to which rows were requested. Undefined before the first request. */
  readonly reached: Instant | undefined
}

/** Keys of deleted rows, such as `[7, 'EUR']`. An optional last element is the deleted version's modification time. */
export type GoneKeys = readonly (readonly (string | number)[])[]

interface AnyLoad {
  readonly report: Declaration
  readonly runId: string
  readonly now: Instant
  readonly segment?: Segment | undefined
  /** If undefined, `NO_RULES` apply: the load may add columns, and stores original JSON in `_extra` and `_payload`. */
  readonly rules?: LoadRules | undefined
  /** The current time by the service's clock. A stored row that was observed later means the clock was set back. */
  readonly serviceNow?: Instant | undefined
  /** The requests that this load records in `tidemark.requests`, because no earlier load has recorded them. */
  readonly requests?: readonly RequestEntry[] | undefined
  readonly closes?: readonly ClosedWindow[]
  /** The load commits only if this fence is still the newest. If undefined, nothing is checked. */
  readonly fence?: Fence | undefined
  /** The record of the run, without the figures of this load. Set only for the last load of the run. */
  readonly run?: RunRecord | undefined
  readonly gone?: GoneKeys | undefined
  readonly followers?: readonly Follower[] | undefined
  /** For kind `changes`: the range that earlier windows have already read. A new row modified in that range is late. */
  readonly previousRead?: PreviousRead | undefined
  /** For a `reread` after a count comparison: all new rows count as late, by at least this many milliseconds. */
  readonly lateMs?: number | undefined
  /** `backfill`: the window of the backfill that this load completes. Set only for the last load of the window. */
  readonly completes?: CompletedWindow | undefined
  /** For audit reports: the records and times whose stored entries this load replaces with its own. */
  readonly entryWindows?: readonly EntryWindow[] | undefined
}

/** A load of rows that a run has read from the service, and of the windows that these rows complete. */
interface RunLoad<Kind extends string> extends AnyLoad {
  readonly kind: Kind
  readonly closes: readonly ClosedWindow[]
}

/** Rows that an incremental run has read because they were modified. */
export type ChangesLoad = RunLoad<'changes'>

/** Rows that were read again after the configuration changed, or because counts differ. Some may be unmodified. */
export type RereadLoad = RunLoad<'reread'>

/** Rows that a backfill read some time before this load. A stored version with the same modification time is kept. */
export type BackfillLoad = RunLoad<'backfill'>

/** Rows of a reconcile. Their keys are stored, so that the reconcile can later find stored rows it did not read. */
interface ReconcileLoad extends RunLoad<'reconcile'> {
  readonly reconcile: ReconcileProgress
}

export interface AuditLoad extends RunLoad<'audit'> {
  readonly entryWindows: readonly EntryWindow[]
  /** The times at which audit trails were read. Example: `[{ scope: '3:1001', at }]` for record 1001 of entity 3. */
  readonly audited: readonly AuditedRecord[]
}

/** Rejected rows that are loaded again. They replace only versions with an older stamp, and delete no audit entries. */
interface RetryLoad extends AnyLoad {
  readonly kind: 'retry'
  /** The rows to remove from `tidemark.rejected_rows`. Rows that are rejected again are stored there again. */
  readonly batch: RejectedBatch
}

export type LoadInput = ChangesLoad | RereadLoad | ReconcileLoad | BackfillLoad | RetryLoad | AuditLoad

export interface MergeCounts {
  readonly inserted: number
  readonly updated: number
  readonly unchanged: number
  readonly deleted: number
  /** How many rows were late. The latest was at least `latenessMs` late. Undefined if late rows are not counted. */
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

export interface LoadPlace {
  readonly database: Database
  readonly numberMark: string
  readonly discovered: ReadonlyMap<string, readonly DiscoveredColumn[]>
  /** Called in the load's transaction before the first write. If it throws, the load is rolled back. */
  readonly beforeWriting?: (sql: Sql) => Promise<void>
  readonly fences: Fences
  /** The record of the run's start, which this load stores. Set if the run has not committed anything yet. */
  readonly begun?: RunRecord | undefined
}

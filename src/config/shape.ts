/**
 * Configuration as the rest of Tidemark sees it: one frozen value, made once at the start from a file, a `.env` beside
 * it and the environment (product contract, configuration). Everything in it has been checked; nothing reads it twice.
 */
import type { ReportName } from '../../schema/index.ts'
import type { Instant } from '../instant.ts'
import type { Secret } from '../secret.ts'
import type { Mistyped } from './environment.ts'

/** An audited kind of record: the service's number for it, and the report whose changed rows are asked about. */
export interface AuditedEntity {
  readonly entityId: number
  readonly follows: ReportName
}

export type OffReason =
  | 'enabled: false'
  | 'not in TIDEMARK_REPORTS'
  | 'no currencies are configured'
  | 'no entities are configured'

/** When something is done again and again. */
export interface Rhythm {
  /** As written: a duration such as `5m`, or a cron line of five or six fields. */
  readonly every: string
  /** The same in milliseconds, when it is a duration. */
  readonly everyMs?: number
}

export type SchemaContract = 'evolve' | 'freeze' | 'reject'

export interface Privacy {
  /** `column` or `collection.column` → what becomes of it. */
  readonly columns: Readonly<Record<string, 'hash' | 'drop' | 'keep'>>
  readonly excludePayload: boolean
}

export interface ReportConfig extends Rhythm {
  readonly name: ReportName
  readonly enabled: boolean
  /** Why it is off, in words, when it is. */
  readonly offReason?: OffReason
  /** The zone that cron lines are read in. */
  readonly timeZone: string
  /** When a worker compares the whole report with the service; undefined: never by itself. */
  readonly reconcile?: Rhythm
  readonly pageSize: number
  readonly overlapMs: number
  readonly settleMs: number
  readonly start: Instant
  /** Flags of `expand` that are switched on; all of them unless the report names a subset. */
  readonly expand: readonly string[]
  readonly filters: Readonly<Record<string, unknown>>
  /** What becomes of fields and types that the service brings anew. */
  readonly contract: SchemaContract
  /** Every version of each row is kept. */
  readonly keepsHistory: boolean
  /** What of the rows may not be kept in clear. */
  readonly privacy: Privacy
  /** Incremental runs also ask the created filters, where the report has them. */
  readonly askCreated: boolean
  /** Only `audit_entries` has any. */
  readonly entities: readonly AuditedEntity[]
}

export interface ServiceConfig {
  readonly baseUrl: URL
  readonly clientId: string
  readonly clientSecret: Secret
  readonly scopes?: readonly string[]
  /** Requests in flight at once. */
  readonly concurrency: number
  readonly requestsPerSecond?: number
}

export interface ConsoleConfig {
  readonly host: string
  readonly port: number
  /** From `TIDEMARK_CONSOLE_TOKEN`; without one the console makes its own at the start. */
  readonly token?: Secret
}

export interface LakeConfig {
  readonly catalogue: 'sqlite' | 'postgres'
  /** The catalogue's file, or a connection string; it can hold a password. */
  readonly at: string
  /** Directory of the Parquet files, with a slash at its end. */
  readonly data: string
  readonly extensions: string | undefined
}

/** Where a worker serves the published copy. */
export interface ServeConfig {
  readonly host: string
  readonly port: number
  readonly isLoopback: boolean
  /** From `TIDEMARK_SERVE_TOKEN`; without one the worker makes its own at the start. */
  readonly token?: Secret
}

/** Whom the worker tells when somebody should look. */
export interface NotifyConfig {
  /** It may hold what only the receiver should know: never printed beyond its host. */
  readonly webhook: URL
  readonly secret: Secret
  readonly lagMs: number
  readonly failures: number
}

export interface Limits {
  readonly loadRowsMax: number
  readonly loadBytesMax: number
  readonly pageBytesMax: number
  readonly walkPagesMax: number
  readonly walkAttemptsMax: number
  /** Passed to DuckDB as written, such as `1GB`. */
  readonly warehouseMemory: string
  /** The same, for what reads. */
  readonly queryMemory: string
  readonly warehouseThreads?: number
}

export interface Config {
  readonly service: ServiceConfig
  /** Absolute, as are the other two paths. Of a lake: where its local files stand. */
  readonly warehouse: string
  /** The lake that is the warehouse, where it is one. */
  readonly lake?: LakeConfig
  readonly published: string
  /** A directory beside the warehouse, so that moving a file between them is a rename. */
  readonly staging: string
  /** Directory of DuckDB's extensions; there wherever one is needed. */
  readonly extensions?: string
  readonly serve?: ServeConfig
  readonly queue: string
  readonly console: ConsoleConfig
  /** How long the books keep each run and each window by itself. */
  readonly historyMs: number
  /** With which hashed columns are made; there wherever a report has one. */
  readonly hashKey?: Secret
  readonly notify?: NotifyConfig
  /** ISO 4217. */
  readonly currencies: readonly string[]
  readonly reports: Readonly<Record<ReportName, ReportConfig>>
  readonly limits: Limits
  /** Where it came from: the file, the names of the variables that took effect, and those that probably should have. */
  readonly source: { readonly file?: string; readonly env: readonly string[]; readonly mistyped?: readonly Mistyped[] }
}

export interface ConfigSources {
  /** From `--config`. */
  readonly file?: string
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
}

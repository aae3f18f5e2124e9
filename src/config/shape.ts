/** The configuration as all other code uses it: one frozen value, read and checked once at the start. */
import type { ReportName } from '../../schema/index.ts'
import type { Instant } from '../instant.ts'
import type { Secret } from '../secret.ts'
import type { LakeAddress, ServeAddress } from './checks.ts'
import type { Misspelling } from './environment.ts'

/** A kind of audited record. Example: `{ entityId: 3, follows: 'events' }` audits the changed rows of `events`. */
export interface AuditedEntity {
  readonly entityId: number
  readonly follows: ReportName
}

export type OffReason =
  | 'enabled: false'
  | 'not in TIDEMARK_REPORTS'
  | 'no currencies are configured'
  | 'no entities are configured'

/** The interval, or the times, at which something is repeated. */
export interface Rhythm {
  /** The text of the setting: a duration such as `5m`, or a cron line of five or six fields. */
  readonly every: string
  /** `every` in milliseconds; undefined for a cron line. */
  readonly everyMs?: number
}

export type SchemaContract = 'evolve' | 'freeze' | 'reject'

export interface Privacy {
  /** The rule by `column` or `collection.column`. */
  readonly columns: Readonly<Record<string, 'hash' | 'drop' | 'keep'>>
  readonly excludePayload: boolean
}

export interface ReportConfig extends Rhythm {
  readonly name: ReportName
  readonly enabled: boolean
  /** Why the report is off; undefined if it is on. */
  readonly offReason?: OffReason
  /** The time zone of cron lines. */
  readonly timeZone: string
  /** When a worker compares the whole report with the service; undefined: only on request. */
  readonly reconcile?: Rhythm
  /** How often incremental runs compare counts; 0: each of them; undefined: never. */
  readonly deletesEveryMs: number | undefined
  readonly pageSize: number
  readonly overlapMs: number
  readonly settleMs: number
  readonly start: Instant
  /** The flags of `expand` in requests: all, unless the settings name some. */
  readonly expand: readonly string[]
  readonly filters: Readonly<Record<string, unknown>>
  /** What new fields and types cause. */
  readonly contract: SchemaContract
  /** True: every version of each row is kept in schema `history`. */
  readonly keepsHistory: boolean
  /** Which values are hashed or dropped before they are written. */
  readonly privacy: Privacy
  /** True: incremental runs also request rows by creation time, if the report can be read so. */
  readonly askCreated: boolean
  /** The audited entities; empty for all reports except `audit_entries`. */
  readonly entities: readonly AuditedEntity[]
}

export interface ServiceConfig {
  readonly baseUrl: URL
  readonly clientId: string
  readonly clientSecret: Secret
  readonly scopes?: readonly string[]
  /** The maximum number of concurrent requests. */
  readonly concurrency: number
  readonly requestsPerSecond?: number
}

export interface ConsoleConfig {
  readonly host: string
  readonly port: number
  /** The value of `TIDEMARK_CONSOLE_TOKEN`; undefined: the console makes a token when it starts. */
  readonly token?: Secret
}

export interface LakeConfig extends LakeAddress {
  /** Directory of the Parquet files, with a slash at its end. */
  readonly data: string
  readonly extensions: string | undefined
}

/** Where a worker serves the published copy. */
export interface ServeConfig extends ServeAddress {
  /** The value of `TIDEMARK_SERVE_TOKEN`; undefined: the worker makes a token when it starts. */
  readonly token?: Secret
}

/** Where the worker posts notices for operators. */
export interface NotifyConfig {
  /** The address. Only its host is printed or logged, because path and query may be secret. */
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
  /** A size that DuckDB parses, such as `1GB`. */
  readonly warehouseMemory: string
  /** Memory of DuckDB for queries: a size that DuckDB parses, such as `1GB`. */
  readonly queryMemory: string
  readonly warehouseThreads?: number
}

export interface Config {
  readonly service: ServiceConfig
  /** Absolute path; for a lake, the path from which those of its local files (staging, queue, socket) are derived. */
  readonly warehouse: string
  /** The lake; undefined if the warehouse is a file. */
  readonly lake?: LakeConfig
  readonly published: string
  /** A directory on the warehouse's file system, so that a file is moved between them by a rename. */
  readonly staging: string
  /** Directory of DuckDB's extensions. Always set if one is needed. */
  readonly extensions?: string
  readonly serve?: ServeConfig
  readonly queue: string
  readonly console: ConsoleConfig
  /** How long a run or window is kept in the bookkeeping tables before only a sum of it is kept. */
  readonly historyMs: number
  /** The key for hashed columns. Always set if a report has one. */
  readonly hashKey?: Secret
  readonly notify?: NotifyConfig
  /** ISO 4217 codes. */
  readonly currencies: readonly string[]
  readonly reports: Readonly<Record<ReportName, ReportConfig>>
  readonly limits: Limits
  /** The file, the variables that are set, and variables that are probably misspelt. */
  readonly source: {
    readonly file?: string
    readonly env: readonly string[]
    readonly misspellings?: readonly Misspelling[]
  }
}

export interface ConfigSources {
  /** The file in `--config`; undefined: the usual places are searched. */
  readonly file?: string
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
}

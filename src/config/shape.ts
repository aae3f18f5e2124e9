/** The configuration as all other code uses it: one frozen value, read and checked once at the start. */
import type { ReportName } from '../../schema/index.ts'
import type { Instant } from '../instant.ts'
import type { Secret } from '../secret.ts'
import type { LakeAddress, ServeAddress } from './checks.ts'
import type { Misspelling } from './environment.ts'

/** A kind of audited record. Example: `{ entityId: 3, follows: 'events' }` audits the changed rows of `events`. */
export interface AuditedEntity {
  /** The number of the kind. A number beyond 2^53 is text, because a JavaScript number would be rounded. */
  readonly entityId: number | string
  readonly follows: ReportName
}

export type OffReason =
  | 'enabled: false'
  | 'not in TIDEMARK_REPORTS'
  | 'no currencies are configured'
  | 'no entities are configured'

/** How often runs are repeated: at an interval, or at the times of a cron line. */
export interface Rhythm {
  /** The text of the setting: a duration such as `5m`, or a cron line of five or six fields. */
  readonly every: string
  /** `every` in milliseconds; undefined for a cron line. */
  readonly everyMs?: number
}

export type SchemaContract = 'evolve' | 'freeze' | 'reject'

export interface Privacy {
  /** Maps `column` or `collection.column` to its rule. */
  readonly columns: Readonly<Record<string, 'hash' | 'drop' | 'keep'>>
  readonly excludePayload: boolean
}

export interface ReportConfig extends Rhythm {
  readonly name: ReportName
  readonly enabled: boolean
  /** Why the report is off; undefined if it is on. */
  readonly offReason?: OffReason
  /** The time zone in which cron lines are read. */
  readonly timeZone: string
  /** How often a worker compares the whole report with the service. Undefined if it does so only on request. */
  readonly reconcile?: Rhythm
  /** Minimum time (ms) between two comparisons of the total with the stored rows. 0: in each run. Undefined: never. */
  readonly deletesEveryMs: number | undefined
  readonly pageSize: number
  readonly overlapMs: number
  readonly settleMs: number
  readonly start: Instant
  /** The `expand` flags that requests contain: all flags, unless the settings list some. */
  readonly expand: readonly string[]
  readonly filters: Readonly<Record<string, unknown>>
  /** What happens to new fields and types: `evolve` changes columns, `freeze` uses `_extra`, `reject` rejects rows. */
  readonly contract: SchemaContract
  /** Whether every version of each row is kept in schema `history`. */
  readonly keepsHistory: boolean
  /** Rules by which values are hashed or dropped before they are stored. */
  readonly privacy: Privacy
  /**
   * Whether incremental runs request rows by their creation time, in addition to the requests by modification time.
   * Without it, rows that were never edited may be missed.
   */
  readonly askCreated: boolean
  /** The audited entities; empty for all reports except `audit_entries`. */
  readonly entities: readonly AuditedEntity[]
}

export interface ServiceConfig {
  readonly baseUrl: URL
  readonly clientId: string
  readonly clientSecret: Secret
  readonly scopes?: readonly string[]
  readonly concurrency: number
  readonly requestsPerSecond?: number
}

export interface ConsoleConfig {
  readonly host: string
  readonly port: number
  /** Addresses or networks of proxies whose `X-Forwarded-For` names the client. Example: `['10.0.0.0/8']`. */
  readonly proxies: readonly string[]
  /** The value of `TIDEMARK_CONSOLE_TOKEN`. If it is undefined, the console creates a token at its start. */
  readonly token?: Secret | undefined
  /** The value of `TIDEMARK_CONSOLE_VIEW_TOKEN`, for logins that may only look. */
  readonly viewToken?: Secret | undefined
}

export interface LakeConfig extends LakeAddress {
  /** The directory of the Parquet files. Ends with a slash. */
  readonly data: string
  readonly extensions: string | undefined
}

/** The address at which a worker serves the published copy. */
export interface ServeConfig extends ServeAddress {
  /** The value of `TIDEMARK_SERVE_TOKEN`. If it is undefined, the worker creates a token at its start. */
  readonly token?: Secret
}

/** Settings of the notices that the worker posts to operators. */
export interface NotifyConfig {
  /** The webhook's address. Only its host is printed or logged, because path and query may be secret. */
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
  /** Memory that DuckDB may use for loads, as text that DuckDB parses. Example: `1GB`. */
  readonly warehouseMemory: string
  readonly queryMemory: string
  /** Maximum size of a reader's temporary files, as text that DuckDB parses. */
  readonly queryDisk: string
  /** Time limit (ms) of one statement of a reader. */
  readonly queryTimeMs: number
  readonly warehouseThreads?: number
}

export interface Config {
  readonly service: ServiceConfig
  /** Absolute path of the file or, for a lake, a local path. Staging, queue and socket are created next to it. */
  readonly warehouse: string
  /** The lake; undefined if the warehouse is a file. */
  readonly lake?: LakeConfig
  readonly published: string
  /** Absolute path of the directory of staged files: the path of the warehouse with `.staging` appended. */
  readonly staging: string
  /** Directory of DuckDB's extensions. Always set if an extension is needed. */
  readonly extensions?: string
  readonly serve?: ServeConfig
  readonly queue: string
  readonly console: ConsoleConfig
  /** How long (ms) the bookkeeping tables keep a run and a window. Older runs are deleted; older windows are merged. */
  readonly historyMs: number
  /** How long (ms) a rejected row stays listed after the service last sent it. */
  readonly rejectedKeepMs: number
  /** The key for hashed columns. Always set if a report has such a column. */
  readonly hashKey?: Secret
  readonly notify?: NotifyConfig
  /** ISO 4217 codes. Example: `['EUR', 'USD']`. */
  readonly currencies: readonly string[]
  readonly reports: Readonly<Record<ReportName, ReportConfig>>
  readonly limits: Limits
  /** The sources of the configuration: the file, the set variables, and variables whose names are probably misspelt. */
  readonly source: {
    readonly file?: string
    readonly env: readonly string[]
    readonly misspellings?: readonly Misspelling[]
  }
}

export interface ConfigSources {
  /** The file that `--config` names; undefined without that option. */
  readonly file?: string
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
}

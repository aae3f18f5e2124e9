/** The configuration as all other code uses it: one frozen value, read and checked once at the start. */
import type { ReportName } from '../../schema/index.ts'
import type { Instant } from '../instant.ts'
import type { Secret } from '../secret.ts'
import type { LakeAddress, RECEIVER_SECRETS, ServeAddress } from './checks.ts'
import type { Misspelling } from './environment.ts'
import type { Limits } from './raw.ts'

/** A kind of audited record. Example: `{ entityId: 3, follows: 'events' }` audits the changed rows of `events`. */
export interface AuditedEntity {
  /** A number beyond 2^53 is text, because a JavaScript number would be rounded. */
  readonly entityId: number | string
  readonly follows: ReportName
}

export type OffReason =
  | 'enabled: false'
  | 'not in TIDEMARK_REPORTS'
  | 'no currencies are configured'
  | 'no entities are configured'

export interface Rhythm {
  /** A duration such as `5m`, or a cron line. */
  readonly every: string
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
  readonly offReason?: OffReason
  readonly timeZone: string
  readonly requestsPerDay?: number | undefined
  /** How often a worker compares the whole report with the service. Undefined: only on request. */
  readonly reconcile?: Rhythm
  /** Minimum time (ms) between comparisons of the service's total with stored rows. 0: each run. Undefined: never. */
  readonly deletesEveryMs: number | undefined
  readonly pageSize: number
  readonly overlapMs: number
  readonly settleMs: number
  readonly start: Instant
  readonly expand: readonly string[]
  readonly filters: Readonly<Record<string, unknown>>
  /** Where a new field is stored: `evolve` adds a column, `freeze` uses `_extra`, `reject` rejects the row. */
  readonly contract: SchemaContract
  readonly keepsHistory: boolean
  readonly privacy: Privacy
  /** True if runs also request rows by creation time, because a filter by modification time can miss unedited rows. */
  readonly askCreated: boolean
  /** The kinds of audited records. Empty for all reports except `audit_entries`. */
  readonly entities: readonly AuditedEntity[]
}

export interface ServiceConfig {
  readonly baseUrl: URL
  readonly reportsPath?: string | undefined
  readonly tokenPath?: string | undefined
  readonly clientId: string
  readonly clientSecret: Secret
  readonly scopes?: readonly string[]
  readonly concurrency: number
  readonly requestsPerSecond?: number
}

export interface ConsoleConfig {
  readonly host: string
  readonly port: number
  /** Proxies whose `X-Forwarded-For` names the client, as addresses or networks. Example: `['10.0.0.0/8']`. */
  readonly proxies: readonly string[]
  /** `TIDEMARK_CONSOLE_TOKEN`. If it is undefined, the console creates a token when it starts. */
  readonly token?: Secret | undefined
  readonly viewToken?: Secret | undefined
}

export interface LakeConfig extends LakeAddress {
  readonly data: string
  readonly extensions: string | undefined
}

export interface ServeConfig extends ServeAddress {
  /** `TIDEMARK_SERVE_TOKEN`. If it is undefined, the worker creates a token when it starts. */
  readonly token?: Secret
}

export interface ReceiverConfig {
  /** The setting, as messages name it. Example: `notify.data.pipeline`. */
  readonly name: string
  readonly takes: 'notices' | 'data'
  readonly format: keyof typeof RECEIVER_SECRETS
  /** Only the host is printed or logged, because path and query can be secret. Undefined for Slack: see `secret`. */
  readonly webhook?: URL
  /** The signing key, the address of a Slack webhook, or the integration key of PagerDuty. */
  readonly secret: Secret
  /** Undefined: all reports. */
  readonly reports?: readonly ReportName[]
}

export interface NotifyConfig {
  readonly receivers: readonly ReceiverConfig[]
  readonly lagMs: number
  readonly failures: number
}

export interface Config {
  readonly requestsPerDay?: number | undefined
  readonly service: ServiceConfig
  /** Absolute path of the file. For a lake: the path next to which staging, queue and socket are created. */
  readonly warehouse: string
  readonly lake?: LakeConfig
  readonly published: string
  readonly publishBy: 'blocks' | 'whole'
  readonly staging: string
  /** The directory of DuckDB's extensions. It is always set if a setting needs an extension. */
  readonly extensions?: string
  readonly serve?: ServeConfig
  readonly queue: string
  readonly console: ConsoleConfig
  /** The tables of schema `tidemark` keep runs and windows for this time. Older windows are merged. */
  readonly historyMs: number
  /** A rejected row stays listed for this time after the service last sent it. */
  readonly rejectedKeepMs: number
  /** The key for hashed columns. It is always set if a report has such a column. */
  readonly hashKey?: Secret
  readonly notify?: NotifyConfig
  readonly currencies: readonly string[]
  readonly reports: Readonly<Record<ReportName, ReportConfig>>
  readonly limits: Limits
  readonly source: {
    readonly file?: string
    readonly env: readonly string[]
    readonly misspellings?: readonly Misspelling[]
    /** Returns the settings that differ now from those at the start. Example: `['reports.events.every']`. */
    readonly editedKeys: () => Promise<readonly string[]>
  }
}

export interface ConfigSources {
  readonly file?: string
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
}

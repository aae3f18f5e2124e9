/** The parts of the configuration that other code names. */
import type { ReportName } from '../../schema/index.ts'
import type { Instant } from '../instant.ts'
import type { Secret } from '../secret.ts'
import type { RECEIVER_SECRETS } from './checks.ts'

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

export interface ConfigSources {
  readonly file?: string
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
}

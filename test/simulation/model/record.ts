/**
 * A record of the model: everything that it ever was, each version with the moment from which the service shows it.
 * The model knows nothing of Tidemark's declarations; it says once more, by itself, what the specification says.
 */

/** Whole microseconds since 1970, as the service stamps. */
export type Micros = number

/** A member of a collection; `id` only where the collection's members have one. */
export interface Child {
  readonly id?: number
  readonly label: string
  /** A decimal, as it is sent. */
  readonly size: string
}

export interface Version {
  readonly revision: number
  /** Modification of the record or of anything in it; undefined: never modified. */
  readonly stamp: Micros | undefined
  /** Modification of the record itself (events alone tell the two apart). */
  readonly ownStamp: Micros | undefined
  /** The earliest of the stamps that are this version's own: by it a window finds the version. */
  readonly foundAt: Micros
  /** From here on the service shows this version. */
  readonly committedAt: Micros
  readonly deleted: boolean
  readonly title: string
  readonly count: number
  /** A decimal, as it is sent. */
  readonly amount: string
  /** Null, or a text with something in it that is easily broken. */
  readonly remark: string | null
  readonly many: readonly Child[]
  readonly unnamed: readonly Child[]
  readonly one: Child | null
  /** No window asks for it any more when it is shown: only the total tells. */
  readonly isBeyond?: true
  /** What makes the row unfit to be stored. */
  readonly broken?: 'no key' | 'wrong type' | undefined
}

export interface AuditEntry {
  readonly at: Micros
  readonly shownFrom: Micros
  readonly userId: number
  readonly action: string
}

export interface ModelRecord {
  readonly key: number
  /** Whose it is; what a filter asks by. */
  readonly company: number
  /** Undefined: from before the service kept creation times. */
  readonly created: Micros | undefined
  readonly versions: Version[]
  /** How often its amount was recalculated without a new stamp. */
  drift: number
  readonly entries: AuditEntry[]
}

/** The version that the service shows at `at`; undefined before the first. */
export const shownAt = (record: ModelRecord, at: Micros): Version | undefined =>
  record.versions.findLast((version) => version.committedAt <= at)

export const newestOf = (record: ModelRecord): Version => record.versions.at(-1) as Version

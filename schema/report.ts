/**
 * The vocabulary of declarations. A declaration describes a report once: its endpoint, parameters, fields, key, window
 * and collections. Requests, tables, parsing, settings, comments and docs are derived from it.
 */

/** The specification's field types, and `json` for an object that is stored unchanged (spec §2, conventions). */
export type FieldType = 'integer' | 'decimal' | 'date-time' | 'string' | 'boolean' | 'json'
export type ParameterType = 'integer' | 'integer[]' | 'string' | 'boolean' | 'date-time'

export interface Field {
  readonly type: FieldType
  /** The specification's description of the field; it becomes the column's comment. */
  readonly meaning: string
  /** Names of this field in other row shapes; all fill the same column (spec §2, event row). */
  readonly also?: readonly string[]
}

export interface Collection {
  /**
   * The field of the row that contains the collection. It can differ from the flag: the flag `commissions` adds
   * `commission` (spec §2).
   */
  readonly field: string
  /** `one`: an object, at most one child row. `many`: an array. */
  readonly holds: 'one' | 'many'
}

/** A column whose value comes from the request, not from the row. */
export interface AskedColumn {
  readonly column: string
  readonly type: FieldType
  readonly meaning: string
}

/** The two parameters that limit a time; both limits are inclusive (spec §4, rule 1). */
export interface Window {
  readonly since: string
  readonly until: string
}

/**
 * How deleted rows are recognised: a flag in the row, the difference of two reads, absence from two reconciles in a
 * row, or not at all.
 */
export type Deletes = 'flag' | 'diff' | 'absence' | 'none'

export interface Declaration {
  /** Name of the report on the command line, in YAML and as a table. */
  readonly name: string
  readonly meaning: string
  /** Path below `{base_url}/reportingapi`. `{enquiryId}` is replaced by the requested record. */
  readonly path: string
  readonly answer: 'envelope' | 'array'
  /** The OAuth scope that grants the report, if the specification names one (spec §5.3). */
  readonly scope?: string
  /** The key columns, in order. */
  readonly key: readonly string[]
  /** Columns from the request that the row does not contain: the requested currency, or the requested record. */
  readonly asked: readonly AskedColumn[]
  readonly fields: Readonly<Record<string, Field>>
  /**
   * Columns with the row's own modification time, best first. If empty, versions are ordered by the time at which they
   * were read.
   */
  readonly newerBy: readonly string[]
  readonly window: Window & { readonly required: boolean }
  /**
   * The filters by creation time, if the report has them. Rows that were never edited may match no modification filter.
   */
  readonly created?: Window
  readonly deletes: Deletes
  /** The field of the row that contains the soft-delete flag. */
  readonly deletedFlag?: string
  /**
   * The parameter that includes deleted rows. Rows without a flag are read with and without it: the difference is what
   * is deleted.
   */
  readonly includeDeleted?: string
  /** Flag of `expand` → the collection that it adds. `'fields'`: the flag adds fields to the row itself (audits). */
  readonly expand: Readonly<Record<string, Collection | 'fields'>>
  /** Documented parameters that an operator may use as filters. */
  readonly filters: Readonly<Record<string, ParameterType>>
  /** The parameter with the currency. Such a report is read once for each configured currency. */
  readonly currency?: string
  /** Set for a report with one request for each record. `follows`: which reports' changed rows name the records. */
  readonly perRecord?: { readonly follows: 'enquiries' | 'configured' }
}

type Optional = 'asked' | 'newerBy' | 'expand' | 'filters' | 'deletes'

/** Returns a declaration with the defaults filled in. Keeps the literal types. */
export function defineReport<const D extends Omit<Declaration, Optional> & Partial<Pick<Declaration, Optional>>>(
  declaration: D,
): Declaration & D {
  const defaults = { asked: [], newerBy: [], expand: {}, filters: {}, deletes: 'none' } as const
  return Object.freeze({ ...defaults, ...declaration }) as Declaration & D
}

/**
 * Returns a builder for fields of one type. Its arguments are the field's meaning and its names in other row shapes.
 */
const field =
  (type: FieldType) =>
  (meaning: string, also?: readonly string[]): Field =>
    also === undefined ? { type, meaning } : { type, meaning, also }

export const integer = field('integer')
export const decimal = field('decimal')
export const dateTime = field('date-time')
export const string = field('string')
export const boolean = field('boolean')
export const json = field('json')

/** Declares a collection that is an array. */
export const many = (field: string): Collection => ({ field, holds: 'many' })
/** Declares a collection that is one object: at most one child row. */
export const one = (field: string): Collection => ({ field, holds: 'one' })

/** Declares arrays whose field has the flag's own name. */
export const manyOf = <const F extends readonly string[]>(...flags: F): Record<F[number], Collection> =>
  Object.fromEntries(flags.map((flag) => [flag, many(flag)])) as Record<F[number], Collection>

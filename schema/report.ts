/** The types of declarations. Each declaration describes a report once, for requests, tables and documents. */

/** The field types of the specification, and `json` for an object that is stored unchanged (spec §2, conventions). */
export type FieldType = 'integer' | 'decimal' | 'date-time' | 'string' | 'boolean' | 'json'
export type ParameterType = 'integer' | 'integer[]' | 'string' | 'boolean' | 'date-time'

export interface Field {
  readonly type: FieldType
  /** The specification's description of the field. It becomes the comment on the column. */
  readonly meaning: string
  /** Other names of this field, in other row shapes. All names fill one column (spec §2, event row). */
  readonly also?: readonly string[]
}

export interface Collection {
  /** The field of the row. The `expand` flag may have another name: `commissions` adds the field `commission`. */
  readonly field: string
  /** `one`: an object, so at most one child row. `many`: an array. */
  readonly holds: 'one' | 'many'
}

/** A column whose value comes from the request, not from the row. */
export interface RequestColumn {
  readonly column: string
  readonly type: FieldType
  readonly meaning: string
}

/** Names of the two request parameters that limit a range of time. Both limits are included (spec §4, rule 1). */
export interface Window {
  readonly since: string
  readonly until: string
}

/**
 * How deleted rows are recognised: by a flag, by the difference of two reads, by absence from two complete reads
 * (reconciles or comparisons of counts), or not at all.
 */
export type Deletes = 'flag' | 'diff' | 'absence' | 'none'

export interface Declaration {
  /** Name of the report on the command line and in YAML. It is also the name of its table. */
  readonly name: string
  readonly meaning: string
  /** Path after `{base_url}/reportingapi`. `{enquiryId}` is replaced by the identifier of the requested enquiry. */
  readonly path: string
  readonly answer: 'envelope' | 'array'
  /** The OAuth scope that the report requires; undefined if the specification names none (spec §5.3). */
  readonly scope?: string
  readonly key: readonly string[]
  /** Columns that the request fills, because the row does not contain them: the requested currency or record. */
  readonly asked: readonly RequestColumn[]
  readonly fields: Readonly<Record<string, Field>>
  /**
   * Columns with the row's own modification time. Two versions of a row are compared by the first of these columns that
   * has a value. Without such columns, the version that was read later is newer.
   */
  readonly newerBy: readonly string[]
  readonly window: Window & { readonly required: boolean }
  /** Parameters for a range of creation times, if there are any. They also match rows that were never edited. */
  readonly created?: Window
  readonly deletes: Deletes
  /** The field of the row with the deletion flag; undefined if rows have none. */
  readonly deletedFlag?: string
  /** The parameter that includes deleted rows. If rows have no flag, windows are read with it and without it. */
  readonly includeDeleted?: string
  /** The collection that each flag of `expand` adds. `'fields'`: the flag adds fields to the row itself (audits). */
  readonly expand: Readonly<Record<string, Collection | 'fields'>>
  /** Documented parameters that an operator may use as filters. */
  readonly filters: Readonly<Record<string, ParameterType>>
  /** The parameter with the currency. The report is then read once per configured currency. */
  readonly currency?: string
  /** Audit reports only: which records are requested, one by one. `configured`: records of the setting `entities`. */
  readonly perRecord?: { readonly follows: 'enquiries' | 'configured' }
}

type Optional = 'asked' | 'newerBy' | 'expand' | 'filters' | 'deletes'

/** Returns the declaration, frozen and with defaults. The returned type keeps the literal names, not only `string`. */
export function defineReport<const D extends Omit<Declaration, Optional> & Partial<Pick<Declaration, Optional>>>(
  declaration: D,
): Declaration & D {
  const defaults = { asked: [], newerBy: [], expand: {}, filters: {}, deletes: 'none' } as const
  return Object.freeze({ ...defaults, ...declaration }) as Declaration & D
}

/** Returns a function that declares a field of this type. Its arguments are the field's `meaning` and `also`. */
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

/** Declares several collections that are arrays, each in a field with the same name as its `expand` flag. */
export const manyOf = <const F extends readonly string[]>(...flags: F): Record<F[number], Collection> =>
  Object.fromEntries(flags.map((flag) => [flag, many(flag)])) as Record<F[number], Collection>

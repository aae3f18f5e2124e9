/**
 * The vocabulary in which a report is declared. A declaration says once what a report is: its endpoint, parameters,
 * fields, key, window and collections. Requests, tables, parsing, settings, comments and docs follow from it.
 */

/** The specification's field types, and `json` for an object that is kept as it came (spec §2, conventions). */
export type FieldType = 'integer' | 'decimal' | 'date-time' | 'string' | 'boolean' | 'json'
export type ParameterType = 'integer' | 'integer[]' | 'string' | 'boolean' | 'date-time'

export interface Field {
  readonly type: FieldType
  /** The specification's own meaning; becomes the column's comment. */
  readonly meaning: string
  /** Other wire fields that fill the same column in another row shape (spec §2, event row). */
  readonly also?: readonly string[]
}

export interface Collection {
  /** The row's field that holds it; not always the name of the flag (spec §2: `commissions` gives `commission`). */
  readonly field: string
  /** `one`: an object, at most one child row. `many`: an array. */
  readonly holds: 'one' | 'many'
}

/** A column that the question fills and not the answer. */
export interface AskedColumn {
  readonly column: string
  readonly type: FieldType
  readonly meaning: string
}

/** The two parameters that bound a time; both bounds are inclusive (spec §4, rule 1). */
export interface Window {
  readonly since: string
  readonly until: string
}

/**
 * How deleted rows show: a flag in the row, the difference of two reads, their absence from two reconciles in a row, or
 * never.
 */
export type Deletes = 'flag' | 'diff' | 'absence' | 'none'

export interface Declaration {
  /** Names the report on the command line, in YAML and as a table. */
  readonly name: string
  readonly meaning: string
  /** Below `{base_url}/reportingapi`; `{enquiryId}` stands for the record that is asked for. */
  readonly path: string
  readonly answer: 'envelope' | 'array'
  /** The scope that the specification names, where it names one (spec §5.3). */
  readonly scope?: string
  /** Key columns, in order. */
  readonly key: readonly string[]
  /** Columns that the question gives and the answer doesn't: the currency asked for, the record asked about. */
  readonly asked: readonly AskedColumn[]
  readonly fields: Readonly<Record<string, Field>>
  /**
   * Columns that hold the row's own modification stamp, best first; none: only the time of observation orders versions.
   */
  readonly newerBy: readonly string[]
  readonly window: Window & { readonly required: boolean }
  /** The created filters, where the report has them: rows that were never edited may match no modification filter. */
  readonly created?: Window
  readonly deletes: Deletes
  /** The wire field of the soft-delete flag. */
  readonly deletedFlag?: string
  /** Flag of `expand` → what it adds. A flag without a collection adds fields to the row itself (audits). */
  readonly expand: Readonly<Record<string, Collection | 'fields'>>
  /** Documented parameters that an operator may set as filters. */
  readonly filters: Readonly<Record<string, ParameterType>>
  /** Parameters that every request of this report carries. */
  readonly always: Readonly<Record<string, unknown>>
  /** The parameter that names the currency; such a report is walked once per configured currency. */
  readonly currency?: string
  /** A report that is asked record by record, after the reports that it follows. */
  readonly perRecord?: { readonly follows: 'enquiries' | 'configured' }
}

type Optional = 'asked' | 'newerBy' | 'expand' | 'filters' | 'always' | 'deletes'

/** Fills in what most reports leave out and keeps the literal types. */
export function defineReport<const D extends Omit<Declaration, Optional> & Partial<Pick<Declaration, Optional>>>(
  declaration: D,
): Declaration & D {
  const defaults = { asked: [], newerBy: [], expand: {}, filters: {}, always: {}, deletes: 'none' } as const
  return Object.freeze({ ...defaults, ...declaration }) as Declaration & D
}

/** Makes fields of one type, each with its meaning and the fields that fill the same column in another row shape. */
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

/** An array collection. */
export const many = (field: string): Collection => ({ field, holds: 'many' })
/** An object collection: at most one child row. */
export const one = (field: string): Collection => ({ field, holds: 'one' })

/** Flags whose collection has the flag's own name. */
export const manyOf = <const F extends readonly string[]>(...flags: F): Record<F[number], Collection> =>
  Object.fromEntries(flags.map((flag) => [flag, many(flag)])) as Record<F[number], Collection>

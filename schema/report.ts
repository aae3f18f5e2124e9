/** The declaration of a report. Requests, tables and documents are made from declarations. */

/** The field types of the specification (§2). `json` is for an object that is stored unchanged. */
export type FieldType = 'integer' | 'decimal' | 'date-time' | 'string' | 'boolean' | 'json'
export type ParameterType = 'integer' | 'integer[]' | 'string' | 'boolean' | 'date-time'

export interface Field {
  readonly type: FieldType
  /** The specification's description of the field, which becomes the comment on the column. */
  readonly meaning: string
  /** Other names that rows use for this field. Example: `eventName` for the field `name` (spec §2, event row). */
  readonly also?: readonly string[]
}

export interface Collection {
  /** The row's field that contains the collection. Example: the flag `commissions` adds the field `commission`. */
  readonly field: string
  readonly holds: 'one' | 'many'
}

export interface RequestColumn {
  readonly column: string
  readonly type: FieldType
  readonly meaning: string
}

/** The two request parameters that limit a range of time. Rows at both limits are included (spec §4, rule 1). */
export interface Window {
  readonly since: string
  readonly until: string
}

/** Evidence of a deletion. `diff`: a read without deleted rows lacks the row. `absence`: two complete reads lack it. */
export type Deletes = 'flag' | 'diff' | 'absence' | 'none'

export interface Declaration {
  readonly name: string
  readonly meaning: string
  /** Path after `{base_url}/reportingapi`. In a request, the identifier of an enquiry replaces `{enquiryId}`. */
  readonly path: string
  readonly answer: 'envelope' | 'array'
  /** The OAuth scope that the report requires; undefined if the specification names none (spec §5.3). */
  readonly scope?: string
  readonly key: readonly string[]
  /** Columns for values that are in the request and not in the row: the requested currency or record. */
  readonly asked: readonly RequestColumn[]
  readonly fields: Readonly<Record<string, Field>>
  /** Columns with a modification time. The first one with a value decides which of two versions of a row is newer. */
  readonly newerBy: readonly string[]
  readonly window: Window & { readonly required: boolean }
  /** The parameters for a range of creation times. Requests with them also return rows that were never edited. */
  readonly created?: Window
  readonly deletes: Deletes
  readonly deletedFlag?: string
  readonly includeDeleted?: string
  /** The collection that each flag of `expand` adds. The value `'fields'` means that the flag adds fields to rows. */
  readonly expand: Readonly<Record<string, Collection | 'fields'>>
  readonly filters: Readonly<Record<string, ParameterType>>
  /** The name of a parameter. The report is read once for each configured currency. */
  readonly currency?: string
  /** Only for audit reports. `configured` means that the setting `entities` names the records to request. */
  readonly perRecord?: { readonly follows: 'enquiries' | 'configured' }
}

type Optional = 'asked' | 'newerBy' | 'expand' | 'filters' | 'deletes'

/** Returns the declaration, frozen and with defaults. Its type keeps literals such as `'events'`. */
export function defineReport<const D extends Omit<Declaration, Optional> & Partial<Pick<Declaration, Optional>>>(
  declaration: D,
): Declaration & D {
  const defaults = { asked: [], newerBy: [], expand: {}, filters: {}, deletes: 'none' } as const
  return Object.freeze({ ...defaults, ...declaration }) as Declaration & D
}

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

export const many = (field: string): Collection => ({ field, holds: 'many' })
export const one = (field: string): Collection => ({ field, holds: 'one' })

export const manyOf = <const F extends readonly string[]>(...flags: F): Record<F[number], Collection> =>
  Object.fromEntries(flags.map((flag) => [flag, many(flag)])) as Record<F[number], Collection>

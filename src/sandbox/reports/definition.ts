/**
 * What the sandbox knows of one report: its endpoint as the specification states it (§4), and how its rows and
 * collections are made up where the specification is silent. One file per report; `index.ts` lists them.
 */
import type { Dice } from '../dice.ts'
import type { Ticks } from '../ticks.ts'

export type ParameterType = 'integer' | 'integer[]' | 'string' | 'date-time' | 'boolean'

export interface Endpoint {
  /** Below `{base_url}/reportingapi`; `{enquiryId}` is the place of a number. */
  readonly path: string
  readonly scope: string
  /** False: the response is a bare array. */
  readonly envelope: boolean
  readonly parameters: Readonly<Record<string, ParameterType>>
  readonly required: readonly string[]
}

/** Groups of parameters that several reports share (spec §4). */
export const paging = { pageNumber: 'integer', pageSize: 'integer' } as const
export const modified = { modifiedSince: 'date-time', modifiedUntil: 'date-time' } as const
export const created = { createdSince: 'date-time', createdUntil: 'date-time' } as const
export const stay = { startDate: 'date-time', endDate: 'date-time' } as const
export const booker = { bookerEmail: 'string', bookerCompany: 'string', bookerName: 'string' } as const

/** Values by field; undefined leaves the field out. */
export type Fields = Readonly<Record<string, unknown>>

/** What a row is made from: its key, its stamps and its draws. */
export interface RowSource {
  readonly key: number
  readonly dice: Dice
  readonly created: Ticks
  readonly modified: Ticks
  /** Events only; elsewhere the same as `modified`. */
  readonly aggregate: Ticks
  readonly deleted: boolean
}

export interface Definition {
  readonly endpoint: Endpoint
  /** The field with the row's identifier, and the identifier of the first row. */
  readonly key: string
  readonly firstKey: number
  /** Rows for each event of the world. Example: 0.5. */
  readonly rowsPerEvent: number
  /** How the audit names the rows; the numbers are ours, because the specification states none. */
  readonly entity: { readonly id: number; readonly type: string }
  /** True: rows have a modification time from their creation on, and deleted ones come back with `includeDeleted`. */
  readonly keepsDeleted: boolean
  readonly fields: (row: RowSource) => Fields
  /** Fields that an edit may change, each with a function that draws a new value. */
  readonly edits: Readonly<Record<string, (dice: Dice, row: RowSource) => unknown>>
  /** The field with an amount in the currency of the request; `currencyCode` goes with it. */
  readonly amount?: string
  /** Fields of the row that a parameter compares with, where the names differ. */
  readonly comparesWith?: Readonly<Record<string, string>>
  readonly collections: readonly CollectionKind[]
}

export interface CollectionKind {
  readonly field: string
  readonly flag: string
  /** `one`: an object or null. */
  readonly holds: 'many' | 'one'
  /** Items carry an `id` of their own. */
  readonly identified: boolean
  readonly content: (dice: Dice, row: RowSource) => Fields
}

type Content = CollectionKind['content']

/** An array of items with identifiers. */
export const many = (field: string, content: Content): CollectionKind => ({
  field,
  flag: field,
  holds: 'many',
  identified: true,
  content,
})

/** An array of items without identifiers. */
export const plain = (field: string, content: Content): CollectionKind => ({
  ...many(field, content),
  identified: false,
})

/** An object or null. */
export const one = (field: string, content: Content): CollectionKind => ({ ...many(field, content), holds: 'one' })

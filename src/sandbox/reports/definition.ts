/**
 * What the sandbox knows of one report: its endpoint as specified (§4), and how its rows and collections are generated
 * where the specification has a gap. One file per report; `index.ts` lists them.
 */
import type { Dice, Range } from '../dice.ts'
import type { Ticks } from '../ticks.ts'

export type ParameterType = 'integer' | 'integer[]' | 'string' | 'date-time' | 'boolean'

export interface Endpoint {
  /** Path below `{base_url}/reportingapi`; `{enquiryId}` is replaced by a number. */
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

/** Values by field. A field whose value is undefined is left out. */
export type Fields = Readonly<Record<string, unknown>>

/** What a row is generated from: its key, its times and its random values. */
export interface RowSource {
  readonly key: number
  readonly dice: Dice
  readonly created: Ticks
  readonly modified: Ticks
  /** The time of the last change in the event or its children; for other reports, the same as `modified`. */
  readonly aggregate: Ticks
  readonly deleted: boolean
}

export interface Definition {
  readonly endpoint: Endpoint
  /** The field with the row's identifier, and the identifier of the first row. */
  readonly key: string
  readonly firstKey: number
  /** Number of rows per event of the world. Example: 0.5. */
  readonly rowsPerEvent: number
  /** The row's kind in the audit. The specification defines no numbers, so these are arbitrary. */
  readonly entity: { readonly id: number; readonly type: string }
  /** True: rows always have a modification time, and deleted rows are returned if `includeDeleted` is set. */
  readonly keepsDeleted: boolean
  readonly fields: (row: RowSource) => Fields
  /** Fields that an edit may change, with a function that returns a new value for each. */
  readonly edits: Readonly<Record<string, (dice: Dice, row: RowSource) => unknown>>
  /** The field with an amount in the currency of the request, next to `currencyCode`. */
  readonly amount?: string
  /** The range of that amount in euros, where amounts are believable ones (`cents`). */
  readonly amountEuros?: Range
  /** The field that a parameter is compared with, if their names differ. */
  readonly comparesWith?: Readonly<Record<string, string>>
  readonly collections: readonly CollectionKind[]
}

export interface CollectionKind {
  readonly field: string
  readonly flag: string
  /** `many`: an array. `one`: an object or null. */
  readonly holds: 'many' | 'one'
  /** The only status in which a row has this collection; undefined: every one. */
  readonly onlyIn?: string
  /** Whether items have an `id` of their own. */
  readonly identified: boolean
  readonly content: (dice: Dice, row: RowSource) => Fields
}

type Content = CollectionKind['content']

/** Declares an array of items with identifiers. */
export const many = (field: string, content: Content): CollectionKind => ({
  field,
  flag: field,
  holds: 'many',
  identified: true,
  content,
})

/** Declares an array of items without identifiers. */
export const plain = (field: string, content: Content): CollectionKind => ({
  ...many(field, content),
  identified: false,
})

export const one = (field: string, content: Content): CollectionKind => ({ ...many(field, content), holds: 'one' })

/** The definition of a report: its endpoint as specified (§4), and how its rows and collections are generated. */
import type { Dice, Range } from '../dice.ts'
import type { Ticks } from '../ticks.ts'

export type ParameterType = 'integer' | 'integer[]' | 'string' | 'date-time' | 'boolean' | 'ISO 4217 code'

export interface Endpoint {
  readonly path: string
  readonly scope: string
  readonly envelope: boolean
  readonly parameters: Readonly<Record<string, ParameterType>>
  readonly required?: readonly string[]
  /** Maps a declaration's parameter names to those in the specification, where the two differ. */
  readonly renames?: Readonly<Record<string, string>>
  /** The field names of an envelope, if they differ from the specification's (§2). */
  readonly pages?: { readonly number: string; readonly size: string; readonly items: string; readonly total: string }
}

/** Groups of parameters that several reports share (spec §4). */
export const paging = { pageNumber: 'integer', pageSize: 'integer' } as const
export const modified = { modifiedSince: 'date-time', modifiedUntil: 'date-time' } as const
export const created = { createdSince: 'date-time', createdUntil: 'date-time' } as const
export const owner = { companyId: 'integer', affiliateGroupId: 'integer' } as const

export const booking = {
  ...paging,
  ...created,
  ...modified,
  status: 'integer[]',
  bookerEmail: 'string',
  bookerCompany: 'string',
  bookerName: 'string',
  startDate: 'date-time',
  endDate: 'date-time',
} as const

export type Fields = Readonly<Record<string, unknown>>

export interface RowSource {
  readonly key: number
  readonly dice: Dice
  readonly created: Ticks
  readonly modified: Ticks
  readonly aggregate: Ticks
  readonly deleted: boolean
}

export interface Definition extends Endpoint {
  readonly key: string
  readonly firstKey: number
  readonly rowsPerEvent: number
  /** The specification does not define entity IDs, so `id` is invented. */
  readonly entity: { readonly id: number; readonly type: string }
  /** If true, `includeDeleted` returns deleted rows, and the modification time of an unedited row is its creation time. */
  readonly keepsDeleted?: true
  readonly fields: (row: RowSource) => Fields
  /** Each function returns a field's new value after an edit. */
  readonly edits: Readonly<Record<string, (dice: Dice, row: RowSource, editedAt: Ticks) => unknown>>
  readonly amount?: string
  /** The range of amounts in euros, used only with the option `amounts: cents`. */
  readonly amountEuros?: Range
  /** Maps parameters to the fields that they filter by, if the names differ. Example: `startDate` to `arrivalDate`. */
  readonly comparesWith?: Readonly<Record<string, string>>
  readonly collections: readonly CollectionKind[]
}

export interface CollectionKind {
  readonly field: string
  readonly flag: string
  readonly holds: 'many' | 'one'
  /** Only rows with this status have the collection. If undefined, rows with any status have it. */
  readonly onlyIn?: string
  readonly identified: boolean
  readonly content: (dice: Dice, row: RowSource) => Fields
}

type Content = CollectionKind['content']

export const many = (field: string, content: Content): CollectionKind => ({
  field,
  flag: field,
  holds: 'many',
  identified: true,
  content,
})

export const plain = (field: string, content: Content) => ({ ...many(field, content), identified: false })

export const one = (field: string, content: Content): CollectionKind => ({ ...many(field, content), holds: 'one' })

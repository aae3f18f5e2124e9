/** The endpoint of a report (spec §4) and the functions that generate its rows. */
import type { Dice, Range } from '../dice.ts'
import type { Ticks } from '../ticks.ts'

export type ParameterType = 'integer' | 'integer[]' | 'string' | 'date-time' | 'boolean' | 'ISO 4217 code'

export interface Endpoint {
  readonly path: string
  readonly scope: string
  readonly envelope: boolean
  readonly parameters: Readonly<Record<string, ParameterType>>
  readonly required?: readonly string[]
  /** Maps parameter names of a declaration to those of the specification. */
  readonly renames?: Readonly<Record<string, string>>
  /** The names for paging in requests and responses, if they differ from the specification (§2). */
  readonly pages?: { readonly number: string; readonly size: string; readonly items: string; readonly total: string }
}

/** Parameters that several reports share (spec §4). */
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
  /** The specification names no entity IDs, so `id` is invented. */
  readonly entity: { readonly id: number; readonly type: string }
  /** Whether the parameter `includeDeleted` makes the service return deleted rows. */
  readonly keepsDeleted?: true
  readonly fields: (row: RowSource) => Fields
  /** Each function returns the new value of a field. */
  readonly edits: Readonly<Record<string, (dice: Dice, row: RowSource, editedAt: Ticks) => unknown>>
  readonly amount?: string
  /** Used only with the option `amounts: cents`. */
  readonly amountEuros?: Range
  /** The field that a parameter filters by. Example: `startDate` filters by `arrivalDate`. */
  readonly comparesWith?: Readonly<Record<string, string>>
  readonly collections: readonly CollectionKind[]
}

export interface CollectionKind {
  readonly field: string
  readonly flag: string
  readonly holds: 'many' | 'one'
  /** Only rows with this status have the collection. */
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

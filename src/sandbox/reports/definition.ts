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
  /** Maps names of parameters in the declaration to their names in the specification, where the two differ. */
  readonly renames?: Readonly<Record<string, string>>
  /** The names of the paging fields, if they differ from those of the specification (§2). */
  readonly pages?: { readonly number: string; readonly size: string; readonly items: string; readonly total: string }
}

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
  /** The report's entity in audit entries. The specification lists no entity IDs, so `id` is invented. */
  readonly entity: { readonly id: number; readonly type: string }
  /** Whether the report keeps deleted rows, so that a request with `includeDeleted` receives them. */
  readonly keepsDeleted?: true
  readonly fields: (row: RowSource) => Fields
  /** Functions that an edit chooses from. Each key is a field, and its function returns the field's new value. */
  readonly edits: Readonly<Record<string, (dice: Dice, row: RowSource, editedAt: Ticks) => unknown>>
  readonly amount?: string
  /** The range of amounts in euros. Used only with the option `amounts: cents`. */
  readonly amountEuros?: Range
  /** The field that each date parameter filters by. Example: `startDate` filters by `arrivalDate`. */
  readonly comparesWith?: Readonly<Record<string, string>>
  readonly collections: readonly CollectionKind[]
}

export interface CollectionKind {
  readonly field: string
  readonly flag: string
  readonly holds: 'many' | 'one'
  /** The value of `status` that a row must have to contain the collection. Undefined if all rows contain it. */
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

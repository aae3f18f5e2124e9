/** Generates a report from a declaration. */
import type { Dice } from '../dice.ts'
import type { Ticks } from '../ticks.ts'
import type { Definition, ParameterType, RowSource } from './definition.ts'
import { created, many, modified, one, paging } from './definition.ts'

type FieldType = 'integer' | 'decimal' | 'date-time' | 'string' | 'boolean' | 'json'

export interface DeclaredReport {
  readonly name: string
  readonly path: string
  readonly answer: 'envelope' | 'array'
  readonly scope?: string | undefined
  readonly key: readonly string[]
  readonly fields: Readonly<Record<string, { readonly type: FieldType }>>
  readonly newerBy: readonly string[]
  readonly window: { readonly since: string; readonly until: string; readonly required: boolean }
  readonly created?: { readonly since: string; readonly until: string } | undefined
  readonly pages: { readonly number: string; readonly size: string; readonly items: string; readonly total: string }
  readonly deletes: 'flag' | 'diff' | 'absence' | 'none'
  readonly deletedFlag?: string | undefined
  readonly includeDeleted?: string | undefined
  readonly expand: Readonly<Record<string, 'fields' | { readonly field: string; readonly holds: 'one' | 'many' }>>
  readonly filters: Readonly<Record<string, ParameterType>>
  readonly currency?: string | undefined
}

const FIRST_KEY = 1
const SECOND_KEY_VALUES = 7
const FIRST_ENTITY = 1_000

export function definitionOf(declared: DeclaredReport, number: number): Definition {
  const { fields, key, newerBy, window, pages, expand, deletedFlag, includeDeleted, currency } = declared
  const { created: byCreation } = declared
  const names = Object.keys(fields)
  const isKey = (field: string) => key.some((column) => isColumnOf(column, field))
  const keyField = names.find(isKey) ?? ''
  const [newest] = newerBy
  const isStamp = (field: string) => newerBy.some((column) => isColumnOf(column, field))
  const valueOf = (field: string, row: RowSource): unknown => {
    if (field === keyField) return fields[field]?.type === 'string' ? String(row.key) : row.key
    const second = row.key % SECOND_KEY_VALUES
    if (isKey(field)) return fields[field]?.type === 'integer' ? second : `part ${second}`
    if (field === deletedFlag) return row.deleted
    const editedAt = isColumnOf(newest ?? '', field) ? row.aggregate : row.modified
    // A row that was never edited has no modification time.
    if (isStamp(field)) return Number.isFinite(editedAt) ? row.dice.time(field, editedAt) : null
    return DRAWN[fields[field]?.type ?? 'string'](row.dice, field, row.created)
  }
  const editable = names.filter((field) => !isKey(field) && field !== deletedFlag && !isStamp(field))
  const renames = [
    [pages.number, 'pageNumber'],
    [pages.size, 'pageSize'],
    [window.since, 'modifiedSince'],
    [window.until, 'modifiedUntil'],
    ...(byCreation ? [[byCreation.since, 'createdSince'] as const, [byCreation.until, 'createdUntil'] as const] : []),
    ...(includeDeleted === undefined ? [] : [[includeDeleted, 'includeDeleted'] as const]),
    ...(currency === undefined ? [] : [[currency, 'currencyCode'] as const]),
  ] as const
  return {
    path: declared.path,
    scope: declared.scope ?? 'event.read',
    envelope: declared.answer === 'envelope',
    parameters: {
      ...paging,
      ...modified,
      ...(byCreation && created),
      ...(includeDeleted !== undefined && { includeDeleted: 'boolean' }),
      ...(currency !== undefined && { currencyCode: 'ISO 4217 code' }),
      ...declared.filters,
    },
    ...(window.required && { required: ['modifiedSince'] }),
    renames: Object.fromEntries(renames),
    pages,
    key: keyField,
    firstKey: FIRST_KEY,
    rowsPerEvent: 1,
    entity: { id: FIRST_ENTITY + number, type: declared.name },
    ...((declared.deletes === 'flag' || declared.deletes === 'diff') && { keepsDeleted: true }),
    fields: (row) => Object.fromEntries(names.map((field) => [field, valueOf(field, row)])),
    edits: Object.fromEntries(
      editable.map((field) => [field, (dice, _row, at) => DRAWN[fields[field]?.type ?? 'string'](dice, field, at)]),
    ),
    collections: Object.entries(expand).flatMap(([flag, added]) =>
      added === 'fields' ? [] : [{ ...(added.holds === 'one' ? one : many)(added.field, itemOf), flag }],
    ),
  }
}

/** Example: the column `order_id` belongs to the field `orderId`. */
const isColumnOf = (column: string, field: string): boolean =>
  column.replaceAll('_', '').toLowerCase() === field.replaceAll(/\W|_/g, '').toLowerCase()

const DRAWN: Readonly<Record<FieldType, (dice: Dice, field: string, at: Ticks) => unknown>> = {
  integer: (dice, field) => 1 + dice.below(1_000, field),
  decimal: (dice, field) => dice.amount(field),
  'date-time': (dice, field, at) => dice.time(field, at),
  boolean: (dice, field) => dice.chance(50, field),
  json: (dice, field) => ({ note: dice.pick(dice.pools.notes, field) }),
  string: (dice, field) => (dice.chance(10, `${field} is null`) ? null : dice.pick(dice.pools.notes, field)),
}

const itemOf = (dice: Dice) => ({
  label: dice.pick(dice.pools.notes, 'label'),
  count: dice.below(100, 'count'),
  price: dice.amount('price'),
})

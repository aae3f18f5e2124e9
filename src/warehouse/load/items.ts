/**
 * The items of a collection as staging has written them (src/staging/childLines.ts): the ordinal of their row, their
 * position, what was sent, and the text of each field, from which come `_child_key`, `is_deleted` and typed columns.
 */
import { has, Kind, NESTED, only } from '../../plan/kinds.ts'
import { ITEM_FIELDS_MAX, NO_VALUE } from '../../plan/stagedNames.ts'
import type { CatalogField } from '../../staging/catalog.ts'
import type { StagedCollection } from '../../staging/spool.ts'
import { memberOf } from './casts.ts'
import { pointer, text } from '../database/sqlText.ts'

/** The field of an item that fills `is_deleted`. */
export const CHILD_DELETED_FIELD = 'isDeleted'

/** DuckDB holds a few buffers of this size for each thread, so it is no larger than the longest line needs. */
const BUFFER_BYTES_MIN = 4 * 1024 * 1024

const columnOf = (field: CatalogField): string => `f${field.id}`

/** A table expression with the columns `ordinal`, `position`, `sent` and those of the fields. */
export function itemsSql({ file, lineBytesMax }: StagedCollection, fields: readonly CatalogField[] = []): string {
  const line = lineBytesMax + 1
  const columns = fields.slice(0, ITEM_FIELDS_MAX).map((field) => `, ${columnOf(field)}: 'VARCHAR'`)
  return `read_csv(${text(file)}, columns = {ordinal: 'BIGINT', position: 'INTEGER', sent: 'VARCHAR'${columns.join('')}},
    delim = '\t', quote = '', escape = '', nullstr = ${text(NO_VALUE)}, null_padding = true, header = false,
    auto_detect = false, max_line_size = ${line}, buffer_size = ${Math.max(BUFFER_BYTES_MIN, 2 * line)})`
}

/**
 * The same without an item: a load may know a collection's fields from the loads before it, and bring none of its
 * items.
 */
export function noItemsSql(fields: readonly CatalogField[]): string {
  const columns = fields.slice(0, ITEM_FIELDS_MAX).map((field) => `, NULL::VARCHAR AS ${columnOf(field)}`)
  return `(SELECT NULL::BIGINT AS ordinal, NULL::INTEGER AS position, NULL::VARCHAR AS sent${columns.join('')} WHERE false)`
}

/**
 * A field of the item in `alias` as text: a JSON string without its quotes and escapes, anything else as it was sent.
 */
export function itemText(field: CatalogField, alias: string): string {
  if (field.id >= ITEM_FIELDS_MAX) return `json_extract_string(${alias}.sent, ${pointer(field.name)})`
  const value = `${alias}.${columnOf(field)}`
  return `CASE WHEN starts_with(${value}, '"') THEN json_extract_string(${value}, '$') ELSE ${value} END`
}

/** Condition: the field is an array or object. A text may begin like one and stands without quotes, so the item is asked. */
export function itemIsNested(field: CatalogField, alias: string): string {
  if (!has(field.kinds, NESTED)) return 'false'
  const type = `json_type(${alias}.sent, ${pointer(field.name)})`
  return `coalesce(left(${itemText(field, alias)}, 1) IN ('{', '[') AND ${type} IN ('ARRAY', 'OBJECT'), false)`
}

/**
 * A field of the item as JSON text, with all digits of its numbers, which DuckDB's own way would send through a double.
 * In the field's column stands what was sent, but a text without its quotes: so that is taken from the item.
 */
export function itemValue(field: CatalogField, alias: string, mark: string): string {
  if (field.id >= ITEM_FIELDS_MAX) return `nullif(${memberOf(`${alias}.sent`, field.name, mark)}::VARCHAR, 'null')`
  const value = `${alias}.${columnOf(field)}`
  if (only(field.kinds, NESTED | Kind.null | Kind.marked)) return value
  const at = pointer(field.name)
  return `CASE WHEN json_type(${alias}.sent, ${at}) = 'VARCHAR' THEN (${alias}.sent::JSON -> ${at})::VARCHAR ELSE ${value} END`
}

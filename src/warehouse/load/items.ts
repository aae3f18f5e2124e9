/** Builds SQL that reads collection items from the files that src/staging/itemLines.ts has written. */
import { has, Kind, NESTED, only, TEXTS } from '../../plan/kinds.ts'
import { ITEM_FIELDS_MAX, NO_VALUE } from '../../plan/stagedNames.ts'
import type { CatalogField } from '../../staging/catalog.ts'
import type { StagedCollection } from '../../staging/spool.ts'
import { memberOf } from './casts.ts'
import { pointer, text } from '../database/sql.ts'

export const CHILD_DELETED_FIELD = 'isDeleted'

/** The least `buffer_size`. A larger one needs more memory, because each thread has several buffers. */
const BUFFER_BYTES_MIN = 4 * 1024 * 1024

const columnOf = (field: CatalogField): string => `f${field.id}`

/** Returns a table expression of items. `file_index` is the index in `all`. */
export function itemsSql(all: readonly StagedCollection[], fields: readonly CatalogField[] = []): string {
  const ofFields = fields.slice(0, ITEM_FIELDS_MAX).map((field) => [columnOf(field), 'VARCHAR'])
  const columns = [['ordinal', 'BIGINT'], ['position', 'INTEGER'], ['sent', 'VARCHAR'], ...ofFields]
  if (all.length === 0)
    return `(SELECT ${columns.map(([each, type]) => `NULL::${type} AS ${each}`).join(', ')}, 0 AS file_index WHERE false)`
  const line = Math.max(...all.map((items) => items.lineBytesMax)) + 1
  return `read_csv([${all.map((items) => text(items.file)).join(', ')}], columns = {${columns.map(([each, type]) => `${each}: '${type}'`).join(', ')}},
    delim = '\t', quote = '', escape = '', nullstr = ${text(NO_VALUE)}, null_padding = true, header = false,
    auto_detect = false, max_line_size = ${line}, buffer_size = ${Math.max(BUFFER_BYTES_MIN, 2 * line)})`
}

export function itemText(field: CatalogField, alias: string): string {
  if (field.id >= ITEM_FIELDS_MAX) return `json_extract_string(${alias}.sent, ${pointer(field.name)})`
  const value = `${alias}.${columnOf(field)}`
  if (!has(field.kinds, TEXTS)) return value
  return `CASE WHEN starts_with(${value}, '"') THEN json_extract_string(${value}, '$') ELSE ${value} END`
}

/** Returns SQL that is true for arrays and objects, but false for text that looks like them. */
export function itemIsNested(field: CatalogField, alias: string): string {
  if (!has(field.kinds, NESTED)) return 'false'
  const type = `json_type(${alias}.sent, ${pointer(field.name)})`
  return `coalesce(left(${itemText(field, alias)}, 1) IN ('{', '[') AND ${type} IN ('ARRAY', 'OBJECT'), false)`
}

/** Returns SQL that reads a field as JSON, with all digits of long numbers. */
export function itemValue(field: CatalogField, alias: string, numberPrefix: string): string {
  if (field.id >= ITEM_FIELDS_MAX)
    return `nullif(${memberOf(`${alias}.sent`, field.name, numberPrefix)}::VARCHAR, 'null')`
  const value = `${alias}.${columnOf(field)}`
  if (only(field.kinds, NESTED | Kind.null | Kind.marked)) return value
  const at = pointer(field.name)
  return `CASE WHEN json_type(${alias}.sent, ${at}) = 'VARCHAR' THEN (${alias}.sent::JSON -> ${at})::VARCHAR ELSE ${value} END`
}

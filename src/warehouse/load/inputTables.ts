/** Builds statements that create temporary tables: the keys of deleted rows, and the windows of audit entries. */
import type { ReportTable } from '../../../schema/tables.ts'
import type { Instant } from '../../instant.ts'
import { Kind } from '../../plan/kinds.ts'
import { castOf } from './casts.ts'
import { name, names, text, time } from '../database/sql.ts'

export interface EntryWindow {
  /** The record's identifiers, in the order of the request's columns. Example: `[3, 1001]`, record 1001 of entity 3. */
  readonly record: readonly (string | number)[]
  readonly since: Instant
  readonly until: Instant
}

/**
 * Returns the statements that create the temporary table `gone_keys` of deleted keys. Its column `~stamp` contains the
 * modification time of the deleted version. NULL means that all versions were deleted. Infinity means that the time
 * could not be parsed.
 */
export function goneKeysSql(table: ReportTable, keys: readonly (readonly (string | number)[])[]): string {
  const types = new Map(table.fields.map((column) => [column.name, column.type]))
  const asked = new Map(table.asked.map((column) => [column.name, column.type]))
  const columns = table.key.map((column) => `${name(column)} ${asked.get(column) ?? types.get(column) ?? 'VARCHAR'}`)
  const values = keys.map((key) => {
    const stamped = [...table.key, '~stamp'].map((_, n) => key[n])
    return `(${stamped.map((value) => (value === undefined ? 'NULL' : text(String(value)))).join(', ')})`
  })
  const typed = table.key.map((column) => {
    if (asked.has(column)) return name(column)
    return `${castOf(sentText(name(column)), types.get(column) ?? 'VARCHAR', Kind.text)} AS ${name(column)}`
  })
  const stamp = `CASE WHEN "~stamp" IS NOT NULL THEN coalesce(${castOf('"~stamp"', 'TIMESTAMPTZ', Kind.text)}, 'infinity') END`
  const known = table.key.map((column) => `${name(column)} IS NOT NULL`).join(' AND ')
  return `
    CREATE OR REPLACE TEMP TABLE gone_keys (${columns.join(', ')}, "~stamp" TIMESTAMPTZ);
    ${values.length === 0 ? '' : `INSERT INTO gone_keys FROM (SELECT ${typed.join(', ')}, ${stamp} FROM (VALUES ${values.join(', ')}) g(${names(table.key)}, "~stamp")) WHERE ${known};`}`
}

/** Returns SQL that converts a JSON scalar to text. Strings lose quotes and escapes. Invalid JSON becomes NULL. */
const sentText = (value: string): string =>
  `CASE WHEN starts_with(${value}, '"') THEN try_cast(${value} AS JSON) ->> '$' ELSE ${value} END`

export function entryWindowsSql(table: ReportTable, windows: readonly EntryWindow[]): string {
  const columns = table.asked.map((column) => `${name(column.name)} ${column.type}`)
  const values = windows.map(
    (window) => `(${window.record.map(literal).join(', ')}, ${time(window.since)}, ${time(window.until)})`,
  )
  return `
    CREATE OR REPLACE TEMP TABLE asked_windows (${columns.join(', ')}, since TIMESTAMPTZ, until TIMESTAMPTZ);
    ${values.length === 0 ? '' : `INSERT INTO asked_windows (${names(table.asked.map((column) => column.name))}, since, until) VALUES ${values.join(', ')};`}`
}

const literal = (value: string | number): string => (typeof value === 'number' ? String(value) : text(value))

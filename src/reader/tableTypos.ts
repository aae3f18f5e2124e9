/** Suggests tables of Tidemark for mistyped names. DuckDB itself suggests system tables, such as `pg_type`, too. */
import { nearest } from '../config/suggest.ts'
import { SyncError } from '../errors.ts'
import type { Sql } from '../warehouse/database/sql.ts'

const UNKNOWN_TABLE = /^(Catalog Error: Table with name "?([\w.]+)"? does not exist[^\n]*)(?:\nDid you mean [^\n]*)?/

const TABLES = `
  SELECT table_schema AS "schema", table_name AS name FROM information_schema.tables
  WHERE table_catalog = current_database() AND table_schema IN ('main', 'current', 'history', 'tidemark') ORDER BY ALL`

/** Returns the error of a statement, with the most similar table in place of DuckDB's suggestion. */
export async function withNearestTable(sql: Pick<Sql, 'rows'>, error: SyncError): Promise<SyncError> {
  const [whole, problem = '', word = ''] = UNKNOWN_TABLE.exec(error.message) ?? []
  if (whole === undefined) return error
  const tables = await sql.rows<{ schema: string; name: string }>(TABLES)
  const name = nearest(word.split('.').at(-1) ?? '', [...new Set(tables.map((table) => table.name))])
  const places = tables.filter((table) => table.name === name).map((table) => `"${table.schema}.${table.name}"`)
  const hint = places.length === 0 ? '' : `\nDid you mean ${places.join(' or ')}?`
  return new SyncError(error.code, `${problem}${hint}${error.message.slice(whole.length)}`, error)
}

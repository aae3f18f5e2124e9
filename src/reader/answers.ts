/** Reads a limited number of rows for AI assistants and for the console. */
import type { Cell } from '../warehouse/database/cells.ts'
import { iso, text } from '../warehouse/database/sql.ts'
import type { QueryEnd } from './messages.ts'
import type { QueryOptions, Reader } from './reader.ts'

export interface ReadAnswer extends Pick<QueryEnd, 'columns' | 'warrants'> {
  readonly rows: readonly (readonly Cell[])[]
  readonly more: boolean
}

export async function readAnswer(
  reader: Reader,
  { sql, rowsMax, ...options }: { readonly sql: string; readonly rowsMax: number } & QueryOptions,
): Promise<ReadAnswer> {
  const rows: (readonly Cell[])[] = []
  const take = async (piece: readonly (readonly Cell[])[]) => {
    rows.push(...piece.slice(0, rowsMax + 1 - rows.length))
    return rows.length <= rowsMax
  }
  const { isCut, ...end } = await reader.query(sql, take, options)
  return { ...end, rows: rows.slice(0, rowsMax), more: isCut || rows.length > rowsMax }
}

export const TABLES_SQL = `
  SELECT schema_name || '.' || name AS "table", comment, ${iso('mark')} AS complete_up_to, deletes_visible FROM (
    SELECT schema_name, table_name AS name, comment FROM duckdb_tables() WHERE NOT internal
    UNION ALL SELECT schema_name, view_name, comment FROM duckdb_views() WHERE NOT internal)
  LEFT JOIN tidemark.freshness ON report = split_part(name, '__', 1)
  WHERE schema_name IN ('main', 'current', 'history', 'tidemark') ORDER BY ALL`

export const columnsSql = (table: string): string => {
  const [schema = '', name = ''] = table.includes('.') ? table.split('.') : ['main', table]
  return `
    SELECT column_name AS "column", data_type AS type, comment FROM duckdb_columns()
    WHERE schema_name = ${text(schema)} AND table_name = ${text(name)} ORDER BY column_index`
}

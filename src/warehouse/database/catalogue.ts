/** Reads DuckDB's catalogue: tables, views and the kind of the database. */
import type { WarehouseColumns } from '../../../schema/dictionary.ts'
import type { RowTable } from '../../../schema/rowTypes.ts'
import { type Sql, name, text } from './sql.ts'

export interface CatalogueTable extends RowTable {
  /** The statement that creates a view. Null for a table. */
  readonly view: string | null
}

/** Returns the tables, then the views that read them. `of` is SQL for the name of a database. */
export const catalogueOf = (sql: Pick<Sql, 'rows'>, of = 'current_database()'): Promise<CatalogueTable[]> =>
  sql.rows<CatalogueTable>(`
    WITH every AS (
      SELECT schema_name, table_name, comment, NULL AS view FROM duckdb_tables() WHERE database_name = ${of}
      UNION ALL
      SELECT schema_name, view_name, comment, sql FROM duckdb_views() WHERE database_name = ${of} AND NOT internal),
    columns AS (
      SELECT schema_name, table_name, list({name: column_name, nullable: is_nullable, comment: coalesce(comment, ''),
        type: replace(data_type, 'TIMESTAMP WITH TIME ZONE', 'TIMESTAMPTZ')} ORDER BY column_index) AS columns
      FROM duckdb_columns() WHERE database_name = ${of} AND NOT internal GROUP BY ALL)
    SELECT schema_name AS schema, table_name AS name, coalesce(comment, '') AS comment, view, columns
    FROM every JOIN columns USING (schema_name, table_name)
    ORDER BY view IS NOT NULL, list_position(['tidemark', 'main', 'history', 'current'], schema_name) NULLS LAST, table_name`)

export async function isLake(sql: Pick<Sql, 'rows'>): Promise<boolean> {
  const rows = await sql.rows(
    `SELECT 1 FROM duckdb_databases() WHERE database_name = current_database() AND type = 'ducklake'`,
  )
  return rows.length > 0
}

export const columnsIn = (catalogue: readonly CatalogueTable[], schema: string): WarehouseColumns =>
  new Map(catalogue.filter((table) => table.schema === schema).map(({ name, columns }) => [name, columns]))

export function definitionSql(catalogue: readonly CatalogueTable[]): string {
  const schemas = [...new Set(catalogue.map(({ schema }) => schema))].filter((schema) => schema !== 'main')
  return [
    ...schemas.map((schema) => `CREATE SCHEMA IF NOT EXISTS ${name(schema)};`),
    ...catalogue.map((table) => `\n${tableSql(table)}`),
    '',
  ].join('\n')
}

function tableSql(table: CatalogueTable): string {
  const target = `${name(table.schema)}.${name(table.name)}`
  const kind = table.view === null ? 'TABLE' : 'VIEW'
  const definition = table.view === null ? createSql(target, table) : table.view.trim()
  const comments = table.columns
    .filter(({ comment }) => comment !== '')
    .map((column) => `COMMENT ON COLUMN ${target}.${name(column.name)} IS ${text(column.comment)};`)
  const own = table.comment === '' ? [] : [`COMMENT ON ${kind} ${target} IS ${text(table.comment)};`]
  return [definition, ...own, ...comments].join('\n')
}

function createSql(target: string, { columns }: CatalogueTable): string {
  const lines = columns.map(
    ({ name: column, type, nullable }) => `  ${name(column)} ${type}${nullable ? '' : ' NOT NULL'}`,
  )
  return `CREATE TABLE ${target} (\n${lines.join(',\n')}\n);`
}

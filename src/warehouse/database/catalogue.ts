/** Reads tables and views from DuckDB's catalogue. Unlike schema/, the catalogue has columns of undocumented fields. */
import type { ColumnEntry } from '../../../schema/dictionary.ts'
import { type Sql, name, text } from './sql.ts'

export interface CatalogueColumn extends ColumnEntry {
  readonly nullable: boolean
}

export interface CatalogueTable {
  readonly schema: string
  readonly name: string
  readonly comment: string
  readonly columns: readonly CatalogueColumn[]
  readonly view: string | undefined
}

/** The order in which tables are created. Views are created after all tables, because they read from tables. */
const SCHEMA_ORDER = ['tidemark', 'main', 'history', 'current']

export async function catalogueOf(sql: Pick<Sql, 'rows'>): Promise<CatalogueTable[]> {
  const tables = await sql.rows<Omit<CatalogueTable, 'columns' | 'view'> & { view: string | null }>(`
    SELECT schema_name AS schema, table_name AS name, coalesce(comment, '') AS comment, NULL AS view
    FROM duckdb_tables() WHERE database_name = current_database()
    UNION ALL
    SELECT schema_name, view_name, coalesce(comment, ''), sql
    FROM duckdb_views() WHERE database_name = current_database() AND NOT internal
    ORDER BY name`)
  const columns = await sql.rows<CatalogueColumn & { schema: string; table: string }>(`
    SELECT schema_name AS schema, table_name AS "table", column_name AS name,
      replace(data_type, 'TIMESTAMP WITH TIME ZONE', 'TIMESTAMPTZ') AS type, is_nullable AS nullable,
      coalesce(comment, '') AS comment
    FROM duckdb_columns() WHERE database_name = current_database() AND NOT internal ORDER BY column_index`)
  const byTable = Map.groupBy(columns, ({ schema, table }) => `${schema}.${table}`)
  return tables
    .map(({ view, ...table }) => ({
      ...table,
      view: view ?? undefined,
      columns: (byTable.get(`${table.schema}.${table.name}`) ?? []).map(({ name, type, nullable, comment }) => ({
        name,
        type,
        nullable,
        comment,
      })),
    }))
    .toSorted((a, b) => rank(a) - rank(b))
}

const rank = ({ schema, view }: CatalogueTable): number =>
  (SCHEMA_ORDER.indexOf(schema) + 1 || SCHEMA_ORDER.length + 1) + (view === undefined ? 0 : SCHEMA_ORDER.length + 1)

export const columnsIn = (
  catalogue: readonly CatalogueTable[],
  schema: string,
): ReadonlyMap<string, readonly CatalogueColumn[]> =>
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
  const kind = table.view === undefined ? 'TABLE' : 'VIEW'
  const definition = table.view === undefined ? createSql(target, table) : table.view.trim()
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

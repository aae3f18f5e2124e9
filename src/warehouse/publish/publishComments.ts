/**
 * Adds missing comments on views, on closed versions and on the columns of the books. A view loses its comments
 * whenever it is created again, and only readers need them, so they are added when the file is published.
 */
import { BOOK_COLUMNS } from '../../../schema/books.ts'
import { SYSTEM_COLUMNS, VERSION_COLUMNS } from '../../../schema/tables.ts'
import type { Sql } from '../database/duckdb.ts'
import { name, text } from '../database/sqlText.ts'
import { closedName } from '../tables/versions.ts'

/** A COMMENT statement without its first two words. */
type CommentClause = string

export async function commentForReaders(sql: Sql): Promise<void> {
  const told = [...(await viewsOfTables(sql)), ...(await columnsOfVersions(sql)), ...(await columnsOfBooks(sql))]
  if (told.length > 0) await sql.run(told.map((each) => `COMMENT ON ${each};`).join('\n'))
}

/** Returns comments on the `current` views: those of their tables. */
async function viewsOfTables(sql: Sql): Promise<CommentClause[]> {
  const views = await sql.rows<{ view: string; comment: string | null }>(`
    SELECT v.view_name AS view, t.comment
    FROM duckdb_views() v JOIN duckdb_tables() t
      ON t.table_name = v.view_name AND t.schema_name = 'main' AND t.database_name = v.database_name
    WHERE v.schema_name = 'current' AND v.database_name = current_database() AND v.comment IS NULL`)
  if (views.length === 0) return []
  const columns = await sql.rows<{ view: string; column: string; comment: string }>(`
    SELECT table_name AS view, column_name AS "column", comment FROM duckdb_columns()
    WHERE database_name = current_database() AND schema_name = 'main' AND comment IS NOT NULL
      AND table_name IN (${views.map(({ view }) => text(view)).join(', ')})
      AND column_name NOT IN (${SYSTEM_COLUMNS.map((column) => text(column.name)).join(', ')})`)
  // A view's own comment is last: a view that has one also has the comments on its columns.
  return [
    ...columns.map(({ view, column, comment }) => `COLUMN current.${name(view)}.${name(column)} IS ${text(comment)}`),
    ...views.map(({ view, comment }) => `VIEW current.${name(view)} IS ${text(`${comment ?? view}: not deleted`)}`),
  ]
}

/**
 * Returns comments on the columns of versions: those of their table. `history` has a view and a table for each table.
 */
async function columnsOfVersions(sql: Sql): Promise<CommentClause[]> {
  const own = VERSION_COLUMNS.map((column) => `(${text(column.name)}, ${text(column.comment)})`).join(', ')
  const bare = await sql.rows<{ table: string; column: string; comment: string }>(`
    SELECT h.table_name AS "table", h.column_name AS "column", coalesce(o.comment, m.comment) AS comment
    FROM duckdb_columns() h
    LEFT JOIN (VALUES ${own}) o(name, comment) ON o.name = h.column_name
    LEFT JOIN duckdb_columns() m ON m.database_name = h.database_name AND m.schema_name = 'main'
      AND h.table_name IN (m.table_name, ${text(closedName(''))} || m.table_name) AND m.column_name = h.column_name
    WHERE h.database_name = current_database() AND h.schema_name = 'history' AND h.comment IS NULL
      AND coalesce(o.comment, m.comment) IS NOT NULL`)
  return bare.map(({ table, column, comment }) => `COLUMN history.${name(table)}.${name(column)} IS ${text(comment)}`)
}

async function columnsOfBooks(sql: Sql): Promise<CommentClause[]> {
  const bare = await sql.rows<{ table: string; column: string }>(`
    SELECT table_name AS "table", column_name AS "column" FROM duckdb_columns()
    WHERE database_name = current_database() AND schema_name = 'tidemark' AND comment IS NULL`)
  return bare.flatMap(({ table, column }) => {
    const meaning = BOOK_COLUMNS[column]
    return meaning === undefined ? [] : [`COLUMN tidemark.${name(table)}.${name(column)} IS ${text(meaning)}`]
  })
}

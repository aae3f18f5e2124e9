/**
 * Comments on views and on the books' columns, where they are missing. A view loses its comments whenever it is made
 * anew, and only readers need them: so they are written when the file is published, not with each change.
 */
import { BOOK_COLUMNS } from '../../schema/books.ts'
import { SYSTEM_COLUMNS } from '../../schema/tables.ts'
import type { Sql } from './duckdb.ts'
import { name, text } from './sqlText.ts'

/** What a COMMENT statement says, without its first words. */
type Told = string

export async function commentForReaders(sql: Sql): Promise<void> {
  const told = [...(await viewsOfTables(sql)), ...(await columnsOfBooks(sql))]
  if (told.length > 0) await sql.run(told.map((each) => `COMMENT ON ${each};`).join('\n'))
}

/** The `current` views say what their tables say. */
async function viewsOfTables(sql: Sql): Promise<Told[]> {
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
  // A view's own comment comes last: where it stands, those of its columns do.
  return [
    ...columns.map(({ view, column, comment }) => `COLUMN current.${name(view)}.${name(column)} IS ${text(comment)}`),
    ...views.map(({ view, comment }) => `VIEW current.${name(view)} IS ${text(`${comment ?? view}: not deleted`)}`),
  ]
}

async function columnsOfBooks(sql: Sql): Promise<Told[]> {
  const bare = await sql.rows<{ table: string; column: string }>(`
    SELECT table_name AS "table", column_name AS "column" FROM duckdb_columns()
    WHERE database_name = current_database() AND schema_name = 'tidemark' AND comment IS NULL`)
  return bare.flatMap(({ table, column }) => {
    const meaning = BOOK_COLUMNS[column]
    return meaning === undefined ? [] : [`COLUMN tidemark.${name(table)}.${name(column)} IS ${text(meaning)}`]
  })
}

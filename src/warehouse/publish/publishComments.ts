/** Adds comments to tables, columns and views before each publication, because only readers of the copy need them. */
import { BOOK_COLUMNS } from '../../../schema/books.ts'
import { reports } from '../../../schema/index.ts'
import { SYSTEM_COLUMNS, tableOf, VERSION_COLUMNS } from '../../../schema/tables.ts'
import { type Sql, name, text } from '../database/sql.ts'
import { closedName } from '../tables/versions.ts'

/** The part of a statement after `COMMENT ON`. Example: `COLUMN current."events"."name" IS 'Name'`. */
type CommentClause = string

export async function commentForReaders(sql: Sql): Promise<void> {
  const outdated = await outdatedColumns(sql)
  if (outdated.length > 0) await sql.run(outdated.map((each) => `COMMENT ON ${each};`).join('\n'))
  const missing = [...(await viewsOfTables(sql)), ...(await columnsOfVersions(sql)), ...(await columnsOfBooks(sql))]
  if (missing.length > 0) await sql.run(missing.map((each) => `COMMENT ON ${each};`).join('\n'))
}

async function outdatedColumns(sql: Sql): Promise<CommentClause[]> {
  const documented = reports
    .map(tableOf)
    .flatMap(({ name: table, asked, fields }) =>
      [...asked, ...fields].map((column) => `(${text(table)}, ${text(column.name)}, ${text(column.comment)})`),
    )
  const rows = await sql.rows<{ schema: string; table: string; column: string; comment: string }>(`
    WITH first_seen AS (
      SELECT table_name, column_name, min(load_id) AS load_id, min_by(changed_at, load_id) AS changed_at
      FROM tidemark.schema_changes WHERE change = 'added' GROUP BY ALL),
    discovered AS (
      SELECT c.table_name, c.column_name, concat('Undocumented field ', replace(c.field, chr(0), '\\0'), ': ', c.type,
        ', first seen ' || strftime(f.changed_at, '%Y-%m-%d %H:%M:%S') || ' UTC in load ' || f.load_id) AS comment
      FROM tidemark.columns c LEFT JOIN first_seen f USING (table_name, column_name)),
    wanted AS (FROM discovered UNION ALL FROM (VALUES ${documented.join(', ')}))
    SELECT d.schema_name AS "schema", d.table_name AS "table", d.column_name AS "column", w.comment
    FROM duckdb_columns() d JOIN wanted w USING (table_name, column_name)
    WHERE d.database_name = current_database() AND d.comment IS DISTINCT FROM w.comment
      AND (d.schema_name = 'main' OR d.schema_name IN ('current', 'history') AND d.comment IS NOT NULL)`)
  return rows.map((each) => `COLUMN ${each.schema}.${name(each.table)}.${name(each.column)} IS ${text(each.comment)}`)
}

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
  // The comment on a view is written last. So if a view has a comment, its columns have comments too.
  return [
    ...columns.map(({ view, column, comment }) => `COLUMN current.${name(view)}.${name(column)} IS ${text(comment)}`),
    ...views.map(({ view, comment }) => `VIEW current.${name(view)} IS ${text(`${comment ?? view}: not deleted`)}`),
  ]
}

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

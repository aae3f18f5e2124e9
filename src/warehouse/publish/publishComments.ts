/** Adds comments to tables, columns and views before each publication, because only readers of the copy need them. */
import { BOOK_COLUMNS } from '../../../schema/books.ts'
import { reports } from '../../../schema/index.ts'
import { tableOf, VERSION_COLUMNS } from '../../../schema/tables.ts'
import { type Sql, text } from '../database/sql.ts'
import { closedName } from '../tables/versions.ts'

export async function commentForReaders(sql: Sql): Promise<void> {
  const outdated = await sql.rows<{ target: string; comment: string }>(outdatedSql())
  if (outdated.length === 0) return
  await sql.run(outdated.map(({ target, comment }) => `COMMENT ON ${target} IS ${text(comment)};`).join('\n'))
}

const rowOf = (...values: readonly string[]): string => `(${values.map(text).join(', ')})`

/** Runs for each publication, because the setting `reports_from` adds reports after this module is loaded. */
const documented = () =>
  reports
    .map(tableOf)
    .flatMap(({ name: table, asked, fields }) =>
      [...asked, ...fields].map((column) => rowOf(table, column.name, column.comment)),
    )

const quoted = (column: string): string => `'"' || replace(${column}, '"', '""') || '"'`

const outdatedSql = (): string => `
  WITH first_seen AS (
    SELECT table_name, column_name, min(load_id) AS load_id, min_by(changed_at, load_id) AS changed_at
    FROM tidemark.schema_changes WHERE change = 'added' GROUP BY ALL),
  discovered AS (
    SELECT c.table_name, c.column_name, concat('Undocumented field ', replace(c.field, chr(0), '\\0'), ': ', c.type,
      ', first seen ' || strftime(f.changed_at, '%Y-%m-%d %H:%M:%S') || ' UTC in load ' || f.load_id) AS comment
    FROM tidemark.columns c LEFT JOIN first_seen f USING (table_name, column_name)),
  own AS (FROM discovered UNION ALL FROM (VALUES ${documented().join(', ')})),
  stored AS (FROM duckdb_columns() WHERE database_name = current_database()),
  main AS (
    SELECT table_name, column_name, coalesce(own.comment, stored.comment) AS comment
    FROM stored LEFT JOIN own USING (table_name, column_name) WHERE schema_name = 'main'),
  versions(column_name, comment) AS (VALUES ${VERSION_COLUMNS.map((each) => rowOf(each.name, each.comment)).join(', ')}),
  books(column_name, comment) AS (VALUES ${Object.entries(BOOK_COLUMNS)
    .map((each) => rowOf(...each))
    .join(', ')}),
  wanted AS (
    SELECT s.*, CASE s.schema_name WHEN 'tidemark' THEN coalesce(s.comment, b.comment)
      WHEN 'history' THEN coalesce(v.comment, m.comment) ELSE m.comment END AS wanted
    FROM stored s LEFT JOIN versions v USING (column_name) LEFT JOIN books b USING (column_name)
    LEFT JOIN main m ON m.column_name = s.column_name
      AND m.table_name = CASE s.schema_name WHEN 'history' THEN replace(s.table_name, ${text(closedName(''))}, '') ELSE s.table_name END)
  SELECT 'COLUMN ' || schema_name || '.' || ${quoted('table_name')} || '.' || ${quoted('column_name')} AS target, wanted AS comment
  FROM wanted WHERE wanted IS DISTINCT FROM comment AND wanted IS NOT NULL
  UNION ALL
  SELECT 'VIEW current.' || ${quoted('view_name')}, coalesce(t.comment, t.table_name) || ': not deleted' AS wanted
  FROM duckdb_views() v JOIN duckdb_tables() t ON t.table_name = v.view_name AND t.database_name = v.database_name
  WHERE v.schema_name = 'current' AND t.schema_name = 'main' AND v.database_name = current_database()
    AND v.comment IS DISTINCT FROM wanted`

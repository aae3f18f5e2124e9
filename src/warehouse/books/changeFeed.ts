/**
 * The change feed: the rows that differ between the state of a cursor and the present state. Present rows are in the
 * tables, and `tidemark.replaced` contains what they were before. So the feed needs no copy of the rows.
 */
import { type ReportName, reportOf } from '../../../schema/index.ts'
import { type Column, type ReportTable, tableOf } from '../../../schema/tables.ts'
import { SyncError } from '../../errors.ts'
import { type Sql, name, text } from '../database/sql.ts'
import { parentKeyColumns } from '../tables/tables.ts'
import { childKey, rowKeySql } from '../tables/versions.ts'
import { type Cursor, CURSOR_SQL, loadOf, START } from './cursor.ts'

/** The column of the feed that contains what happened: `insert`, `update`, `delete` or `undelete`. */
export const CHANGE = '_change'

export interface FeedTable {
  readonly name: string
  readonly report: ReportName
  readonly key: readonly Pick<Column, 'name' | 'type'>[]
}

/** Returns the tables of a report: its own table first, then the tables of its collections. */
export function feedTablesOf(report: ReportName): FeedTable[] {
  return feedTables(tableOf(reportOf(report)))
}

function feedTables(table: ReportTable): FeedTable[] {
  const key = parentKeyColumns(table)
  const report = table.name as ReportName
  const ofChildren = childKey({ key: [] }).map((column) => ({ name: column, type: 'VARCHAR' as const }))
  return [
    { name: table.name, report, key },
    ...table.children.map((child) => ({ name: child.name, report, key: [...key, ...ofChildren] })),
  ]
}

/** Returns the query of a table's rows that were changed after the load `load` (SQL for a number). */
export function changesSql({ name: table, key }: FeedTable, load: string): string {
  const keySql = rowKeySql(
    key.map((column) => column.name),
    't',
  )
  const ofRemoved = key.map((column, n) => `json_extract_string(b.key, '$[${n}]')::${column.type}`)
  const isSame = key.map((column, n) => `t.${name(column.name)} = ${ofRemoved[n]}`).join(' AND ')
  // The version that was present after the load is the only one that began before its end and was replaced later.
  return `
    WITH c AS (SELECT ${load} AS load),
    before AS (
      SELECT key, bool_and(was_deleted) AS was_deleted FROM tidemark.replaced
      WHERE "table" = ${text(table)} AND version_load_id <= (SELECT load FROM c) AND load_id > (SELECT load FROM c)
      GROUP BY key)
    SELECT CASE WHEN t.is_deleted THEN 'delete' WHEN b.key IS NULL THEN 'insert' WHEN b.was_deleted THEN 'undelete'
      ELSE 'update' END AS ${CHANGE}, t.* EXCLUDE (_row_hash)
    FROM main.${name(table)} t LEFT JOIN before b ON b.key = ${keySql} WHERE t._load_id > (SELECT load FROM c)
    UNION ALL BY NAME
    SELECT 'delete' AS ${CHANGE}, ${key.map((column, n) => `${ofRemoved[n]} AS ${name(column.name)}`).join(', ')}, true AS is_deleted
    FROM before b WHERE NOT EXISTS (SELECT 1 FROM main.${name(table)} t WHERE ${isSame})`
}

const TOO_OLD = 'the cursor is too old'
const UNKNOWN =
  'the cursor is of another warehouse, or of a state that was lost when an older copy of the warehouse was restored'
const CURE = `Read all rows again, with the cursor "${START}", and go on with the cursor of that answer.`

/** Returns the load of a cursor. Throws CURSOR_EXPIRED if the feed does not know what has changed since the cursor. */
export async function loadAtCursor(
  sql: Pick<Sql, 'rows'>,
  cursor: Cursor,
  reports: readonly ReportName[],
): Promise<number> {
  const load = loadOf(cursor)
  if (cursor === START) return load
  const [start] = await sql.rows<{ report: string; reason: string }>(`
    SELECT report, reason FROM tidemark.feed_starts
    WHERE load_id > ${load} AND report IN ('', ${reports.map(text).join(', ')}) ORDER BY load_id DESC LIMIT 1`)
  const [known] = await sql.rows(
    `SELECT 1 FROM tidemark.loads WHERE load_id = ${load} AND ${CURSOR_SQL} = ${text(cursor)}`,
  )
  if (start === undefined && known !== undefined) return load
  const message = start === undefined ? UNKNOWN : `${TOO_OLD}${start.report && ` for ${start.report}`}: ${start.reason}`
  throw new SyncError('CURSOR_EXPIRED', message, {
    cure: CURE,
    report: start?.report || undefined,
    data: { cursor, status: 410 },
  })
}

/** Creates the missing functions of the feed: `changes.<table>(cursor)`, `tidemark.changes(report, cursor)` and others. */
export async function createFeed(sql: Sql, tables: readonly ReportTable[]): Promise<void> {
  const rows = await sql.rows<{ name: string }>(
    `SELECT DISTINCT function_name AS name FROM duckdb_functions() WHERE database_name = current_database() AND schema_name = 'changes'`,
  )
  const known = new Set(rows.map((row) => row.name))
  const missing = tables.flatMap(feedTables).filter((table) => !known.has(table.name))
  if (missing.length === 0) return
  const macros = missing.map(
    (table) => `
    CREATE OR REPLACE MACRO changes.${name(table.name)}(since) AS TABLE
    ${changesSql(table, `tidemark.load_of_cursor(${text(table.report)}, since)`)};`,
  )
  await sql.run(`${FEED_FUNCTIONS} ${macros.join('')}`)
}

const FEED_FUNCTIONS = `
  CREATE SCHEMA IF NOT EXISTS changes;
  CREATE OR REPLACE MACRO tidemark.current_cursor() AS
    (SELECT coalesce(arg_max(${CURSOR_SQL}, load_id), ${text(START)}) FROM tidemark.loads);
  CREATE OR REPLACE MACRO tidemark.load_of_cursor(of_report, since) AS CASE
    WHEN since = ${text(START)} THEN 0
    WHEN try_cast(regexp_extract(since, '^[0-9]+') AS BIGINT) <
      (SELECT coalesce(max(s.load_id), 0) FROM tidemark.feed_starts s WHERE s.report IN ('', of_report))
      THEN error(${text(`${TOO_OLD}. ${CURE}`)})
    ELSE coalesce((SELECT max(load_id) FROM tidemark.loads WHERE ${CURSOR_SQL} = since), error(${text(`${UNKNOWN}. ${CURE}`)})) END;
  CREATE OR REPLACE MACRO tidemark.changes(report, cursor) AS TABLE
    FROM query('FROM changes."' || replace(report, '"', '""') || '"(''' || replace(cursor, '''', '''''') || ''')');`

/** Makes all earlier cursors of a report too old, because stored rows have changed without a load. */
export async function restartFeed(sql: Sql, report: ReportName, reason: string): Promise<void> {
  // The load without rows gives the new state a number of its own.
  await sql.run(`
    INSERT INTO tidemark.loads
    SELECT coalesce(max(load_id), 0) + 1, ${text(reason)}, ${text(report)}, now(), 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, 0
    FROM tidemark.loads;
    DELETE FROM tidemark.feed_starts WHERE report = ${text(report)};
    INSERT INTO tidemark.feed_starts SELECT ${text(report)}, max(load_id), ${text(reason)} FROM tidemark.loads;
    DELETE FROM tidemark.replaced WHERE "table" = ${text(report)} OR starts_with("table", ${text(`${report}__`)})`)
}

/** Removes replaced versions that only cursors of loads before `before` (SQL for a time) need. */
export async function trimFeed(sql: Sql, before: string): Promise<void> {
  await sql.run(`
    CREATE OR REPLACE TEMP TABLE new_start AS
    SELECT least(max(load_id) FILTER (committed_at < ${before}) + 1, max(load_id)) AS load_id FROM tidemark.loads
    HAVING count(*) FILTER (committed_at < ${before}) > 0;
    DELETE FROM tidemark.feed_starts WHERE report = '' AND load_id <= (SELECT load_id FROM new_start);
    INSERT INTO tidemark.feed_starts
    SELECT '', load_id, 'it is older than the setting "history" allows' FROM new_start
    WHERE load_id > (SELECT coalesce(max(load_id), 0) FROM tidemark.feed_starts WHERE report = '');
    DELETE FROM tidemark.replaced WHERE load_id <= (SELECT load_id FROM new_start);
    DROP TABLE new_start`)
}

/** The change feed: rows that changed since a cursor. */
import { type ReportName, reportOf } from '../../../schema/index.ts'
import { type Column, type ReportTable, tableOf } from '../../../schema/tables.ts'
import { SyncError } from '../../errors.ts'
import { type Sql, name, text } from '../database/sql.ts'
import { parentKeyColumns } from '../tables/tables.ts'
import { childKey } from '../tables/versions.ts'
import { type Cursor, CURSOR_SHAPE, CURSOR_SQL, START } from './cursor.ts'

export interface FeedTable {
  readonly name: string
  readonly report: string
  readonly key: readonly Pick<Column, 'name' | 'type'>[]
}

/** Returns the report's table, then the tables of its collections. */
export const feedTablesOf = (report: ReportName): FeedTable[] => feedTables(tableOf(reportOf(report)))

function feedTables(table: ReportTable): FeedTable[] {
  const key = parentKeyColumns(table)
  const ofChildren = childKey({ key: [] }).map((column) => ({ name: column, type: 'VARCHAR' as const }))
  const children = table.children.map((child) => ({ name: child.name, key: [...key, ...ofChildren] }))
  return [{ name: table.name, key }, ...children].map((each) => ({ ...each, report: table.name }))
}

function tableFeedSql({ name: table, report, key }: FeedTable): string {
  const ofRemoved = key.map((column, n) => `json_extract_string(b.key, '$[${n}]')::${column.type}`)
  // Keys are stored with times in UTC, and a reader can have another time zone.
  const inUtc = key.map(({ name: column, type }) => {
    const value = `t.${name(column)}`
    return type === 'TIMESTAMPTZ' ? `(${value} AT TIME ZONE 'UTC')::VARCHAR || '+00'` : value
  })
  const isSame = key.map((column, n) => `t.${name(column.name)} = ${ofRemoved[n]}`).join(' AND ')
  // `before` contains rows that existed at the cursor and were replaced later.
  return `
    CREATE OR REPLACE MACRO changes.${name(table)}(since) AS TABLE
    WITH c AS (SELECT tidemark.load_of_cursor(${text(report)}, since) AS load),
    before AS (
      SELECT key, bool_and(was_deleted) AS was_deleted FROM tidemark.replaced
      WHERE "table" = ${text(table)} AND version_load_id <= (SELECT load FROM c) AND load_id > (SELECT load FROM c)
      GROUP BY key)
    SELECT CASE WHEN t.is_deleted THEN 'delete' WHEN b.key IS NULL THEN 'insert' WHEN b.was_deleted THEN 'undelete'
      ELSE 'update' END AS _change, t.* EXCLUDE (_row_hash)
    FROM main.${name(table)} t LEFT JOIN before b ON b.key = json_array(${inUtc.join(', ')})::VARCHAR WHERE t._load_id > (SELECT load FROM c)
    UNION ALL BY NAME
    SELECT 'delete' AS _change, ${key.map((column, n) => `${ofRemoved[n]} AS ${name(column.name)}`).join(', ')}, true AS is_deleted
    FROM before b WHERE NOT EXISTS (SELECT 1 FROM main.${name(table)} t WHERE ${isSame});`
}

export const feedSql = (tables: readonly ReportTable[]): string =>
  FEED_FUNCTIONS + tables.flatMap(feedTables).map(tableFeedSql).join('')

const CURE = `Read all rows again, with the cursor "${START}", and continue with the cursor of that answer.`
const UNKNOWN = `the cursor is of another warehouse, or of a state that was lost when a backup was restored. ${CURE}`

const FEED_FUNCTIONS = `
  CREATE SCHEMA IF NOT EXISTS changes;
  CREATE OR REPLACE MACRO tidemark.current_cursor() AS
    (SELECT coalesce(arg_max(${CURSOR_SQL}, load_id), ${text(START)}) FROM tidemark.loads);
  CREATE OR REPLACE MACRO tidemark.load_of_cursor(of_report, since) AS CASE WHEN since = ${text(START)} THEN 0
    WHEN NOT regexp_full_match(since, ${text(CURSOR_SHAPE)}) THEN error(concat('"', left(since, 80), ${text(`" is no cursor. ${CURE}`)}))::BIGINT
    ELSE coalesce(
    (SELECT error(concat('the cursor is too old', ' for ' || nullif(s.report, ''), ': ', s.reason, ${text(`. ${CURE}`)}))
      FROM tidemark.feed_starts s WHERE s.report IN ('', of_report)
        AND s.load_id > try_cast(regexp_extract(since, '^[0-9]+') AS BIGINT) LIMIT 1)::BIGINT,
    (SELECT max(load_id) FROM tidemark.loads WHERE ${CURSOR_SQL} = since), error(${text(UNKNOWN)})::BIGINT) END;
  CREATE OR REPLACE MACRO tidemark.changes(report, cursor) AS TABLE
    FROM query('FROM changes."' || replace(report, '"', '""') || '"(''' || replace(cursor, '''', '''''') || ''')');`

/** Throws CURSOR_EXPIRED if the feed can't continue from the cursor, or WAREHOUSE_MISSING if the copy has no feed. */
export async function checkCursor(sql: Pick<Sql, 'rows'>, cursor: Cursor, reports: readonly string[]): Promise<void> {
  if ((await sql.rows(`FROM duckdb_functions() WHERE function_name = 'load_of_cursor'`)).length === 0) {
    const cure = 'Run "tidemark sync": it publishes a new copy at its end.'
    throw new SyncError('WAREHOUSE_MISSING', 'an older version of Tidemark has published the copy', { cure })
  }
  const checks = reports.map((report) => `tidemark.load_of_cursor(${text(report)}, ${text(cursor)})`)
  await sql.rows(`SELECT ${checks.join(', ')}`).catch((error: Error) => {
    const [, message] = /(the cursor is .*)\. Read all rows again/.exec(error.message) ?? []
    if (message === undefined) throw error
    throw new SyncError('CURSOR_EXPIRED', message, { cure: CURE, data: { status: 410 } })
  })
}

/** Invalidates the report's cursors, because stored rows have changed without a load. */
export async function restartFeed(sql: Sql, report: ReportName, reason: string): Promise<void> {
  // Inserts an empty load, so that new cursors have a higher number than the invalid ones.
  await sql.run(`
    INSERT INTO tidemark.loads
    SELECT coalesce(max(load_id), 0) + 1, ${text(reason)}, ${text(report)}, now(), 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, 0
    FROM tidemark.loads;
    DELETE FROM tidemark.feed_starts WHERE report = ${text(report)};
    INSERT INTO tidemark.feed_starts SELECT ${text(report)}, max(load_id), ${text(reason)} FROM tidemark.loads;
    DELETE FROM tidemark.replaced WHERE "table" = ${text(report)} OR starts_with("table", ${text(`${report}__`)})`)
}

/** Removes replaced versions that no cursor newer than `before` needs. `before` is SQL for a time. */
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

/** Audit entries have no identifier (spec §2), so a load replaces all entries of a record in a window. */
import { type ReportTable, SYSTEM_COLUMNS } from '../../../schema/tables.ts'
import type { Instant } from '../../instant.ts'
import { countOf, type Sql, name, names, time } from '../database/sql.ts'
import type { MergeCounts, RowMerge } from './merge.ts'
import { recordReplaced, type History } from '../tables/versions.ts'

/** The load that removes entries, the service's time of the removal (`at`), and the history that stores the entries. */
export interface GoneEntries {
  readonly history: History | undefined
  readonly at: Instant
  readonly loadId: number
}

const SYSTEM = SYSTEM_COLUMNS.map((column) => column.name)

/** Stores the staged entries and deletes other stored entries in the windows of the table `asked_windows`. */
export async function mergeEntries(
  sql: Sql,
  parts: Pick<RowMerge, 'table' | 'staged' | 'tableColumns'> & { readonly gone: GoneEntries },
): Promise<MergeCounts> {
  const {
    table,
    staged,
    tableColumns,
    gone: { loadId },
  } = parts
  const target = `main.${name(table.name)}`
  const record = recordColumns(table)
  const sameRecord = isSameRecordSql(table)
  await sql.run(`
    CREATE OR REPLACE TEMP TABLE held AS
    SELECT t.rowid AS tid, ${recordColumns(table, 't')}, t._row_hash AS row_hash,
      w.since <= w.until AND (t.timestamp IS NULL OR t.timestamp BETWEEN w.since AND w.until) AS in_window,
      row_number() OVER (PARTITION BY ${recordColumns(table, 't')}, t._row_hash ORDER BY t.entry_number) AS nth
    FROM ${target} t JOIN asked_windows w ON ${sameRecord('t', 'w')};
    CREATE OR REPLACE TEMP TABLE numbered AS
    SELECT rowid AS sid, ${record}, "~row_hash" AS row_hash, "~ordinal" AS ordinal,
      row_number() OVER (PARTITION BY ${record}, "~row_hash" ORDER BY "~ordinal") AS nth
    FROM staged;
    CREATE OR REPLACE TEMP TABLE stay AS
    SELECT h.tid, n.sid FROM held h JOIN numbered n ON ${sameRecord('h', 'n')} AND n.row_hash = h.row_hash AND n.nth = h.nth`)
  const [counts] = await sql.rows<{ gone: number; fresh: number }>(`
    SELECT (SELECT count(*) FROM held WHERE in_window AND tid NOT IN (SELECT tid FROM stay)) AS gone,
      (SELECT count(*) FROM numbered WHERE sid NOT IN (SELECT sid FROM stay)) AS fresh`)
  const fresh = counts?.fresh ?? 0
  if (fresh > 0) {
    const carried = new Set(staged.columns.filter((column) => column.carried !== 'false').map((column) => column.name))
    const values = tableColumns.map((column) => {
      if (column === 'entry_number') return newEntryNumberSql(table, carried.has('timestamp'))
      return carried.has(column) || table.asked.some((asked) => asked.name === column) ? `s.${name(column)}` : 'NULL'
    })
    await sql.run(`
      CREATE OR REPLACE TEMP TABLE fresh AS
      SELECT ${values.map((value, n) => `${value} AS ${name(tableColumns[n] as string)}`).join(', ')},
        false AS is_deleted, NULL::VARCHAR AS _delete_evidence, NULL::TIMESTAMPTZ AS _deleted_seen_at,
        s."~observed_at" AS _observed_at, ${loadId}::BIGINT AS _load_id, s."~extra" AS _extra, s."~row_hash" AS _row_hash
      FROM staged s
      LEFT JOIN (SELECT ${record}, max(entry_number) AS last FROM ${target} JOIN (SELECT DISTINCT ${record} FROM asked_windows) USING (${record}) GROUP BY ALL) l
        ON ${sameRecord('l', 's')}
      WHERE s.rowid NOT IN (SELECT sid FROM stay)`)
  }
  if ((counts?.gone ?? 0) > 0) {
    const gone = 'FROM held WHERE in_window AND tid NOT IN (SELECT tid FROM stay)'
    await closeEntries(sql, table, { ...parts.gone, from: gone })
    await sql.run(`DELETE FROM ${target} WHERE rowid IN (SELECT tid ${gone})`)
  }
  if (fresh > 0) {
    const columns = names([...tableColumns, ...SYSTEM])
    await sql.run(`INSERT INTO ${target} (${columns}) SELECT ${columns} FROM fresh`)
  }
  return { inserted: fresh, updated: 0, unchanged: staged.rows - fresh, deleted: counts?.gone ?? 0 }
}

/**
 * Deletes the stored entries in the windows of the table `asked_windows`, because the service returned no entries for
 * these windows.
 */
export async function dropEntries(sql: Sql, table: ReportTable, gone: GoneEntries): Promise<MergeCounts> {
  const target = `main.${name(table.name)}`
  const same = isSameRecordSql(table)('t', 'w')
  await sql.run(`
    CREATE OR REPLACE TEMP TABLE held AS
    SELECT t.rowid AS tid FROM ${target} t JOIN asked_windows w ON ${same}
    WHERE t.timestamp IS NULL OR t.timestamp BETWEEN w.since AND w.until`)
  const deleted = await countOf(sql, 'held')
  await closeEntries(sql, table, { ...gone, from: 'FROM held' })
  await sql.run(`DELETE FROM ${target} WHERE rowid IN (SELECT tid FROM held)`)
  return { inserted: 0, updated: 0, unchanged: 0, deleted }
}

const closeEntries = (sql: Sql, table: ReportTable, { history, at, loadId, from }: GoneEntries & { from: string }) =>
  recordReplaced(sql, history, {
    table: table.name,
    key: table.key,
    loadId,
    rows: `SELECT tid, ${time(at)} AS until ${from}`,
  })

/** New entries are numbered by time, after the last stored number of their record. */
const newEntryNumberSql = (table: ReportTable, hasTime: boolean): string =>
  `coalesce(l.last, 0) + row_number() OVER (PARTITION BY ${recordColumns(table, 's')} ORDER BY ${hasTime ? 's.timestamp, ' : ''}s."~ordinal")`

const recordColumns = (table: ReportTable, alias?: string): string =>
  names(
    table.asked.map((column) => column.name),
    alias,
  )

const isSameRecordSql =
  (table: ReportTable) =>
  (a: string, b: string): string =>
    table.asked.map((column) => `${a}.${name(column.name)} = ${b}.${name(column.name)}`).join(' AND ')

/** Keeps old versions of rows in `history.closed_<table>`. The view `history.<table>` adds the current rows. */
import { type ReportName, reportOf } from '../../../schema/index.ts'
import { type ReportTable, tableOf } from '../../../schema/tables.ts'
import type { Instant } from '../../instant.ts'
import { countOf, type Sql, name, names, sameSql, text, time } from '../database/sql.ts'

/** SQL for the earliest time when a version can begin. */
export type HistoryStart = string

export const closedName = (table: string): string => `closed_${table}`

const BEGINNING = `TIMESTAMPTZ '0001-01-01 00:00:00+00'`

export async function hadHistory(sql: Sql, report: string): Promise<boolean> {
  return (await sql.rows(`SELECT 1 FROM tidemark.histories WHERE report = ${text(report)}`)).length > 0
}

export async function reportsWithHistory(sql: Sql): Promise<ReadonlySet<string>> {
  const rows = await sql.cachedRows<{ report: string }>('SELECT report FROM tidemark.histories WHERE ended_at IS NULL')
  return new Set(rows.map(({ report }) => report))
}

/** Returns the start of the report's history, or undefined if its history is off. */
export async function historyStartOf(sql: Sql, report: string): Promise<HistoryStart | undefined> {
  const [row] = await sql.cachedRows<{ on: boolean; ended: number | null }>(`
    SELECT bool_or(ended_at IS NULL) AS "on", epoch_us(max(ended_at)) AS ended FROM tidemark.histories WHERE report = ${text(report)}`)
  if (row?.on !== true) return undefined
  return row.ended === null ? BEGINNING : time(row.ended)
}

const validFrom = (alias: string, start: HistoryStart): string =>
  `greatest(${alias}._observed_at, coalesce(${alias}._deleted_seen_at, ${alias}._observed_at), ${start})`

/** Returns SQL for a row's key as text. Example: `[17,"EUR"]`. */
export const rowKeySql = (key: Parameters<typeof names>[0], alias: string): string =>
  `json_array(${names(key, alias)})::VARCHAR`

export const childKey = ({ key }: Pick<ReportTable, 'key'>): readonly string[] => [...key, '_child_key']

export interface VersionsToClose {
  readonly table: string
  readonly key: readonly string[]
  /** A query with two columns: `tid` (a rowid) and `until` (the end of the version). */
  readonly rows: string
}

/** Records rows for the change feed and the history before a load replaces the rows. */
export async function recordReplaced(
  sql: Sql,
  history: HistoryStart | undefined,
  { loadId, ...closing }: VersionsToClose & { readonly loadId: number },
): Promise<void> {
  const { table, key, rows } = closing
  const stored = `SELECT ${text(table)}, ${rowKeySql(key, 'c')}, c._load_id, c.is_deleted`
  await sql.run(insertReplacedSql(`${stored} FROM main.${name(table)} c JOIN (${rows}) r ON r.tid = c.rowid`, loadId))
  await closeVersions(sql, history, closing)
}

/** Ignores versions of this load, because no reader saw them. */
export const insertReplacedSql = (rows: string, loadId: number): string =>
  `INSERT INTO tidemark.replaced SELECT *, ${loadId} FROM (${rows}) r("table", key, load_id, was_deleted) WHERE load_id < ${loadId}`

/** Stores versions of rows that will be replaced or deleted. */
export async function closeVersions(sql: Sql, history: HistoryStart | undefined, closing: VersionsToClose) {
  if (history === undefined) return
  const closed = `history.${name(closedName(closing.table))}`
  await sql.run(`
    CREATE OR REPLACE TEMP TABLE closing AS
    SELECT c.*, ${validFrom('c', history)} AS _valid_from, r.until AS _valid_to
    FROM main.${name(closing.table)} c JOIN (${closing.rows}) r ON r.tid = c.rowid;
    INSERT INTO ${closed} BY NAME SELECT * FROM closing`)
  if ((await countOf(sql, 'closing WHERE _valid_from > _valid_to')) > 0) {
    const same = sameSql(closing.key, 'h', 'c')
    // If the service's clock was set back, stored versions are shortened, because versions must not overlap.
    await sql.run(`
      UPDATE ${closed} h SET _valid_from = least(h._valid_from, c._valid_to), _valid_to = least(h._valid_to, c._valid_to)
      FROM closing c WHERE ${same} AND c._valid_from > c._valid_to AND greatest(h._valid_from, h._valid_to) > c._valid_to`)
  }
  await sql.run('DROP TABLE closing')
}

export async function closeOpenVersions(sql: Sql, report: ReportName, now: Instant): Promise<void> {
  const history = await historyStartOf(sql, report)
  if (history === undefined) return
  for (const table of tablesOf(report)) {
    const ended = `SELECT rowid AS tid, greatest(${validFrom('m', history)}, ${time(now)}) AS until FROM main.${name(table)} m`
    await closeVersions(sql, history, { table, key: [], rows: ended })
  }
}

export async function switchHistory(sql: Sql, { report, on, now }: { report: ReportName; on: boolean; now: Instant }) {
  if (on) {
    await sql.run(`INSERT INTO tidemark.histories VALUES (${text(report)}, ${time(now)}, NULL)`)
  } else {
    await closeOpenVersions(sql, report, now)
    await sql.run(
      `UPDATE tidemark.histories SET ended_at = ${time(now)} WHERE report = ${text(report)} AND ended_at IS NULL`,
    )
  }
  await createHistory(sql, report)
}

/** Creates the tables and views of a report's history that are missing. */
export async function createHistory(sql: Sql, report: ReportName): Promise<void> {
  for (const table of tablesOf(report)) {
    await sql.run(`
      CREATE TABLE IF NOT EXISTS history.${name(closedName(table))} AS
      SELECT *, NULL::TIMESTAMPTZ AS _valid_from, NULL::TIMESTAMPTZ AS _valid_to FROM main.${name(table)} LIMIT 0;
      COMMENT ON TABLE history.${name(closedName(table))} IS ${text(`Versions that have ended; history.${table} shows them beside the open ones`)}`)
    await remakeHistoryView(sql, report, table)
  }
}

/** Creates the history view again. Call this after each change of the table's columns. */
export async function remakeHistoryView(sql: Sql, report: string, table: string): Promise<void> {
  const history = await historyStartOf(sql, report)
  const open =
    history === undefined
      ? ''
      : `UNION ALL BY NAME SELECT *, ${validFrom('m', history)} AS _valid_from, NULL::TIMESTAMPTZ AS _valid_to FROM main.${name(table)} m`
  const says = history === undefined ? 'closed: history is switched off' : 'the open ones have no _valid_to'
  await sql.run(`
    CREATE OR REPLACE VIEW history.${name(table)} AS SELECT * FROM history.${name(closedName(table))} ${open};
    COMMENT ON VIEW history.${name(table)} IS ${text(`Every version of ${table}; ${says}`)}`)
}

export function tablesOf(report: ReportName): string[] {
  const table = tableOf(reportOf(report))
  return [table.name, ...table.children.map((child) => child.name)]
}

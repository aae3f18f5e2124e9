/** Merges staged rows into the report's table. Writes only rows that are new, or newer and changed. */
import { type ReportTable, SYSTEM_COLUMNS } from '../../../schema/tables.ts'
import { type Instant, plusMs } from '../../instant.ts'
import { latenessMs } from '../../plan/lateness.ts'
import { CLOCK_GRAIN_MS, HEAD_MS_MAX } from '../../plan/window.ts'
import { onlyRow, type Sql, name, names, sameSql, text, time } from '../database/sql.ts'
import { memberOf } from './casts.ts'
import { closeVersions, insertReplacedSql, rowKeySql } from '../tables/versions.ts'
import type { LoadCounts, MergeCounts } from './loadInput.ts'
import type { PlannedLoad, RowMerge, StagedColumn } from './loadSteps.ts'
import { keysTableSql } from './reportPart.ts'
import { isLaterSql, isNewerSql } from './rowVersion.ts'
import { stampSql } from '../tables/tables.ts'

/** Adds the counts of two merges of one load. Late rows are not added, because both may have counted the same ones. */
export const addCounts = (one: LoadCounts, other: LoadCounts): LoadCounts => ({
  inserted: one.inserted + other.inserted,
  updated: one.updated + other.updated,
  unchanged: one.unchanged + other.unchanged,
  deleted: one.deleted + other.deleted,
  childrenWritten: one.childrenWritten + other.childrenWritten,
  misfits: one.misfits + other.misfits,
  late: other.late,
})

type Written = Record<'written' | 'updated' | 'deleted' | 'lateRows', number> & { readonly earliest: Instant | null }

const columnNames = (columns: readonly { readonly name: string }[]): string[] => columns.map((column) => column.name)

/** Merges staged rows. The table `written_rows` lists the rows that are written. */
export async function merge(sql: Sql, load: RowMerge): Promise<MergeCounts> {
  const { table, staged, loadId } = load
  const { previousRead } = load.input
  const target = `main.${name(table.name)}`
  if (load.input.gone !== undefined) await sql.run(keysTableSql(table, 'gone_keys', load.input.gone))
  await sql.run(createWrittenRowsSql(load, target))
  const { written, updated, deleted, lateRows, earliest } = await onlyRow<Written>(
    sql,
    `SELECT count(*) AS written, count(replaced) AS updated, count(*) FILTER (deleted) AS deleted,
      count(late_stamp) AS "lateRows", epoch_us(min(late_stamp)) AS earliest FROM written_rows`,
  )
  if (written === 0) return { inserted: 0, updated: 0, unchanged: staged.rows, deleted: 0 }
  const lateMs = earliest === null || previousRead === undefined ? undefined : latenessMs(earliest, previousRead)
  const late = lateStampSql(load) === undefined ? undefined : { late: lateRows, latenessMs: lateMs }
  const replaced = updated === 0 ? undefined : { target, extra: await extraSql(sql, load, target) }
  const isAll = replaced === undefined && written === staged.rows
  const rows = isAll ? 'staged s' : 'written_rows w JOIN staged s ON s.rowid = w.sid'
  await sql.run(insertRowsSql(load, { columns: staged.columns, rows, replaced }))
  if (replaced !== undefined) {
    const rows = 'FROM written_rows w JOIN staged s ON s.rowid = w.sid WHERE w.replaced IS NOT NULL'
    const stored = `SELECT ${text(table.name)}, ${rowKeySql(table.key, 's')}, w.load_id, w.was_deleted ${rows}`
    await sql.run(insertReplacedSql(stored, loadId))
    const closing = `SELECT w.replaced AS tid, s."~observed_at" AS until ${rows}`
    await closeVersions(sql, load.history, { table: table.name, key: table.key, rows: closing })
    await sql.run(`DELETE FROM ${target} WHERE rowid IN (SELECT replaced FROM written_rows WHERE replaced IS NOT NULL)`)
  }
  return { inserted: written - updated, updated, unchanged: staged.rows - written, deleted, late }
}

const STAGED_EXTRA = 's."~extra"'

/** Returns SQL for `_extra`, with old values that the new row lacks. */
async function extraSql(sql: Sql, load: RowMerge, target: string): Promise<string> {
  const members = [...(await missingExtraFields(sql, load, target))].map((field) => {
    const member = `${text(`${JSON.stringify(field)}:`)} || ${memberOf('t._extra', field, load.numberPrefix)}::VARCHAR`
    return `CASE WHEN NOT (${load.staged.carries(field)}) THEN ${member} END`
  })
  if (members.length === 0) return STAGED_EXTRA
  const brought = `nullif(left(substr(${STAGED_EXTRA}::VARCHAR, 2), -1), '')`
  return `CASE WHEN t._extra IS NULL THEN ${STAGED_EXTRA} ELSE nullif('{' || concat_ws(',', ${[brought, ...members].join(', ')}) || '}', '{}')::JSON END`
}

/** Long values of `_extra` are read in parts of this size, because DuckDB parses 2,048 values in memory at once. */
const PARSED_BYTES = 16 * 2 ** 20
const LONG_ROW_BYTES = PARSED_BYTES / 2_048

/** Lists the keys of short rows. For long rows, lists only NULL. */
const KEYS_OF_SHORT = `CASE WHEN strlen(t._extra) < ${LONG_ROW_BYTES} THEN json_keys(t._extra) ELSE [NULL] END`

/** Returns fields in `_extra` of replaced rows that the new rows lack. Several queries for long rows save memory. */
async function missingExtraFields(sql: Sql, { input }: RowMerge, target: string): Promise<Set<string>> {
  const shapes = input.segment?.catalog.shapes ?? []
  const replaced = `written_rows w JOIN staged s ON s.rowid = w.sid JOIN ${target} t ON t.rowid = w.replaced WHERE strlen(t._extra)`
  const missing = new Set<string>()
  const read = async (keys: string, rows: string): Promise<boolean> => {
    const found = await sql.rows<{ field: string | null; shape: number }>(
      `SELECT DISTINCT unnest(${keys}) AS field, s."~shape" AS shape FROM ${replaced} ${rows}`,
    )
    for (const { field, shape } of found) if (field !== null && !shapes[shape]?.includes(field)) missing.add(field)
    return found.some(({ field }) => field === null)
  }
  if (!(await read(KEYS_OF_SHORT, '> 0'))) return missing
  const parts = await sql.rows<{ first: number; last: number }>(`
    SELECT min(replaced) AS first, max(replaced) AS last FROM (
      SELECT w.replaced, sum(strlen(t._extra)) OVER (ORDER BY w.replaced) // ${PARSED_BYTES} AS part
      FROM ${replaced} >= ${LONG_ROW_BYTES})
    GROUP BY part`)
  for (const { first, last } of parts)
    await read('json_keys(t._extra)', `>= ${LONG_ROW_BYTES} AND t.rowid BETWEEN ${first} AND ${last}`)
  return missing
}

function createWrittenRowsSql(load: RowMerge, target: string): string {
  const match = sameSql(load.table.key, 't', 's')
  const deletedNow = deletedSql(load, load.staged.columns, STAYS_DELETED)
  return `
    CREATE OR REPLACE TEMP TABLE written_rows AS
    SELECT s.rowid AS sid, t.rowid AS replaced, ${deletedNow} AND NOT coalesce(t.is_deleted, false) AS deleted,
      t._row_hash IS NOT NULL OR t.rowid IS NULL AS is_changed, t._load_id AS load_id, t.is_deleted AS was_deleted,
      ${lateStampSql(load) ?? 'NULL::TIMESTAMPTZ'} AS late_stamp
    FROM staged s LEFT JOIN ${target} t ON ${match} LEFT JOIN tidemark.loads l ON l.load_id = t._load_id
    WHERE t.rowid IS NULL OR (
      ${stagedWinsSql(load)}
      AND (t._row_hash IS DISTINCT FROM s."~row_hash" OR t.is_deleted <> ${deletedNow}))`
}

/** Returns SQL that is true if the staged row is newer: by request time first, then by modification time. */
function stagedWinsSql({ input, report, rules: { settleMs }, staged, tableColumns }: RowMerge): string {
  const { serviceNow, kind } = input
  const columns = columnNames(staged.columns)
  const fresh = { alias: 's', observedAt: 's."~observed_at"', askedAt: 's."~asked_at"', columns }
  // The earliest time when the stored row could have been requested: a request takes at most `HEAD_MS_MAX`.
  const askedAt = `greatest(l.asked_at, t._observed_at - INTERVAL ${HEAD_MS_MAX} MILLISECONDS)`
  const stored = { alias: 't', observedAt: 't._observed_at', askedAt, columns: tableColumns }
  // A row observed in the future was stored before the service's clock was set back, so it does not count as newer.
  const isAhead = (byMs: number) =>
    serviceNow === undefined ? 'false' : `t._observed_at > ${time(plusMs(serviceNow, CLOCK_GRAIN_MS + byMs))}`
  return `CASE
    WHEN ${isLaterSql(fresh, stored, settleMs)} OR ${isAhead(report.newerBy.length > 0 ? settleMs + HEAD_MS_MAX : 0)} THEN true
    WHEN ${isLaterSql(stored, fresh, settleMs)} AND NOT ${isAhead(0)} THEN false
    ELSE ${isNewerSql(report, [fresh, stored], kind === 'backfill' || kind === 'retry' ? '>' : '>=')} END`
}

/** A deleted row stays deleted if its new version has no deletion flag, unless the row was deleted by absence. */
const STAYS_DELETED = `(t.is_deleted AND t._delete_evidence IS DISTINCT FROM 'absence')`

/** Returns SQL that is true for deleted rows: by their flag or, without a flag, because their key is in `gone_keys`. */
function deletedSql(load: PlannedLoad, columns: readonly StagedColumn[], staysDeleted: string): string {
  const stamp = stampSql(load.report, 's', columnNames(columns)) ?? 'NULL::TIMESTAMPTZ'
  const gone = load.input.gone && isProvenGoneSql(load.table, stamp, staysDeleted)
  return load.report.deletedFlag === undefined
    ? (gone ?? 'false')
    : `coalesce(s."~deleted", ${gone ?? staysDeleted}, false)`
}

/** Returns SQL that is true for rows of `gone_keys`, which a request without deleted rows did not return. */
function isProvenGoneSql(table: ReportTable, stamp: string, staysDeleted: string): string {
  const key = names(table.key, 's')
  const keys = names(table.key, 'g')
  return `coalesce((${key}) IN (SELECT (${keys}) FROM gone_keys g WHERE g."~stamp" IS NULL)
    OR (${key}, ${stamp}) IN (SELECT (${keys}, g."~stamp") FROM gone_keys g)
    OR (${staysDeleted} AND (${key}) IN (SELECT (${keys}) FROM gone_keys g)), false)`
}

interface RowsToInsert {
  readonly columns: readonly StagedColumn[]
  /** A FROM clause: `s` are staged rows and `w` the rows of `written_rows`. */
  readonly rows: string
  /** Where stored rows are, whose values stay for fields that a staged row lacks. */
  readonly replaced?: { readonly target: string; readonly extra: string } | undefined
}

export function insertRowsSql(load: PlannedLoad & { readonly loadId: number }, inserted: RowsToInsert): string {
  const { input, report, table, tableColumns, loadId } = load
  const { columns, rows, replaced } = inserted
  const carried = new Map(columns.map((column) => [column.name, column.carried]))
  const values = tableColumns.map((column) => {
    const quoted = name(column)
    if (table.asked.some((asked) => asked.name === column)) return `s.${quoted}`
    const before = replaced === undefined ? 'NULL' : `t.${quoted}`
    const condition = carried.get(column)
    if (condition === undefined || condition === 'false') return `${before} AS ${quoted}`
    if (condition === 'true') return `s.${quoted}`
    return `CASE WHEN ${condition} THEN s.${quoted} ELSE ${before} END AS ${quoted}`
  })
  const wasDeleted = replaced === undefined ? 'false' : 't.is_deleted'
  const deleted = deletedSql(load, columns, replaced === undefined ? 'false' : STAYS_DELETED)
  const seenBefore = replaced === undefined ? 'NULL' : 't._deleted_seen_at'
  const byFlag = input.gone === undefined ? `'flag'` : `CASE WHEN s."~deleted" THEN 'flag' ELSE 'diff' END`
  const evidence = report.deletedFlag === undefined ? `'diff'` : byFlag
  return `
    INSERT INTO main.${name(table.name)} (${names([...tableColumns, ...SYSTEM_COLUMNS])})
    SELECT ${values.join(', ')},
      ${deleted} AS is_deleted,
      CASE WHEN ${deleted} THEN ${evidence} END AS _delete_evidence,
      CASE WHEN ${deleted} THEN CASE WHEN ${wasDeleted} THEN ${seenBefore} ELSE s."~observed_at" END END AS _deleted_seen_at,
      s."~observed_at" AS _observed_at,
      ${loadId}::BIGINT AS _load_id,
      ${replaced?.extra ?? STAGED_EXTRA} AS _extra,
      s."~row_hash" AS _row_hash
    FROM ${rows}
    ${replaced === undefined ? '' : `LEFT JOIN ${replaced.target} t ON t.rowid = w.replaced`}`
}

/** Returns SQL for the modification time of late rows, NULL for others. Undefined if late rows are not counted. */
function lateStampSql({ report, staged, tableColumns, input: { previousRead } }: RowMerge): string | undefined {
  const sent = stampSql(report, 's', columnNames(staged.columns))
  if (previousRead === undefined || sent === undefined) return undefined
  const before = stampSql(report, 't', tableColumns) ?? 'NULL::TIMESTAMPTZ'
  // A time before 1970 is no time of a modification. Some services send the year 1 for a time that is not set.
  const wasRead = `${sent} BETWEEN ${time(0)} AND ${time(previousRead.until)}`
  return `CASE WHEN ${wasRead} AND coalesce(${before} < ${sent}, true) THEN ${sent} END`
}

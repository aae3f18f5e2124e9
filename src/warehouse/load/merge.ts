/** Merges staged rows into the report's table, without an index. Writes only rows that are newer and have changed. */
import type { Declaration } from '../../../schema/report.ts'
import { type ReportTable, SYSTEM_COLUMNS } from '../../../schema/tables.ts'
import { type Instant, plusMs } from '../../instant.ts'
import { type PreviousRead, latenessMs } from '../../plan/lateness.ts'
import { CLOCK_GRAIN_MS, HEAD_MS_MAX } from '../../plan/window.ts'
import { type Sql, name, names, text, time } from '../database/sql.ts'
import { memberOf } from './casts.ts'
import { recordReplaced, type History } from '../tables/versions.ts'
import { isLaterSql, isNewerSql } from './rowVersion.ts'
import type { StagedColumn } from './fieldSql.ts'
import type { StagedRows } from './stage.ts'
import { stampSql } from '../tables/tables.ts'

export interface RowMerge {
  readonly report: Declaration
  readonly table: ReportTable
  readonly staged: StagedRows
  readonly tableColumns: readonly string[]
  readonly loadId: number
  readonly numberMark: string
  /** True if a second read left out deleted rows. The temporary table `gone_keys` lists the keys of these rows. */
  readonly knowsGone: boolean
  readonly serviceNow?: Instant | undefined
  readonly settleMs: number
  /** True if a stored version with the same modification time is kept, because the staged version was read earlier. */
  readonly keepsStored?: boolean
  readonly history: History | undefined
  readonly previousRead?: PreviousRead | undefined
}

export interface MergeCounts {
  readonly inserted: number
  readonly updated: number
  readonly unchanged: number
  readonly deleted: number
  readonly late?: LateCounts | undefined
}

export interface LoadCounts extends MergeCounts {
  readonly childrenWritten: number
  readonly misfits: number
}

/** Adds the counts of two merges. Only `other` has late rows, because it has merged the newest version of each row. */
export const addCounts = (one: LoadCounts, other: LoadCounts): LoadCounts => ({
  inserted: one.inserted + other.inserted,
  updated: one.updated + other.updated,
  unchanged: one.unchanged + other.unchanged,
  deleted: one.deleted + other.deleted,
  childrenWritten: one.childrenWritten + other.childrenWritten,
  misfits: one.misfits + other.misfits,
  late: other.late,
})

const columnNames = (columns: readonly { readonly name: string }[]): string[] => columns.map((column) => column.name)
const SYSTEM = columnNames(SYSTEM_COLUMNS)

/** Merges the rows of `staged`. The temporary table `win` lists written rows and the stored rows that they replace. */
export async function merge(sql: Sql, parts: RowMerge): Promise<MergeCounts> {
  const target = `main.${name(parts.table.name)}`
  await sql.run(createWinSql(parts, target))
  const [counts] = await sql.rows<{ wins: number; updated: number; deleted: number }>(
    'SELECT count(*) AS wins, count(replaced) AS updated, count(*) FILTER (deleted) AS deleted FROM win',
  )
  const wins = counts?.wins ?? 0
  const updated = counts?.updated ?? 0
  if (wins === 0) return { inserted: 0, updated: 0, unchanged: parts.staged.rows, deleted: 0 }
  const late = await countLate(sql, parts, target)
  const columns = names([...parts.tableColumns, ...SYSTEM])
  const replaced = updated === 0 ? undefined : { target, extra: await extraSql(sql, parts, target) }
  const isAll = replaced === undefined && wins === parts.staged.rows
  const rows = isAll ? 'staged s' : 'win w JOIN staged s ON s.rowid = w.sid'
  await sql.run(
    `INSERT INTO ${target} (${columns}) ${rowsToInsertSql({ ...parts, columns: parts.staged.columns, rows }, replaced)}`,
  )
  if (replaced !== undefined) {
    await recordReplaced(sql, parts.history, {
      table: parts.table.name,
      key: parts.table.key,
      loadId: parts.loadId,
      rows: `SELECT w.replaced AS tid, s."~observed_at" AS until FROM win w JOIN staged s ON s.rowid = w.sid WHERE w.replaced IS NOT NULL`,
    })
    await sql.run(`DELETE FROM ${target} WHERE rowid IN (SELECT replaced FROM win WHERE replaced IS NOT NULL)`)
  }
  const unchanged = parts.staged.rows - wins
  return { inserted: wins - updated, updated, unchanged, deleted: counts?.deleted ?? 0, late }
}

const STAGED_EXTRA = 's."~extra"'

/** Rewrites a condition for the staged file (alias `r`) as a condition for the temporary table `staged` (alias `s`). */
export const onStagedTable = (condition: string): string => condition.replaceAll('r."$"', 's."~shape"')

/** Returns SQL for the new `_extra`: the new row's values, and values of the replaced row that the new row lacks. */
async function extraSql(sql: Sql, { staged, numberMark }: RowMerge, target: string): Promise<string> {
  const members = [...(await replacedExtraFields(sql, target))].flatMap((field) => {
    const carried = staged.carries(field)
    const member = `${text(`${JSON.stringify(field)}:`)} || ${memberOf('t._extra', field, numberMark)}::VARCHAR`
    return carried === 'true' ? [] : [`CASE WHEN NOT (${onStagedTable(carried)}) THEN ${member} END`]
  })
  if (members.length === 0) return STAGED_EXTRA
  const brought = `nullif(left(substr(${STAGED_EXTRA}::VARCHAR, 2), -1), '')`
  return `CASE WHEN t._extra IS NULL THEN ${STAGED_EXTRA} ELSE nullif('{' || concat_ws(',', ${[brought, ...members].join(', ')}) || '}', '{}')::JSON END`
}

/** Maximum bytes of `_extra` that one query parses, because DuckDB keeps 2,048 parsed rows in memory at once. */
const PARSED_BYTES = 16 * 2 ** 20
const LONG_ROW_BYTES = PARSED_BYTES / 2_048

/** Returns the names of all fields in `_extra`. Several queries read long rows, to limit the parsed rows in memory. */
async function replacedExtraFields(sql: Sql, target: string): Promise<Set<string>> {
  const replaced = `win w JOIN ${target} t ON t.rowid = w.replaced WHERE strlen(t._extra)`
  const parts = await sql.rows<{ first: number; last: number }>(`
    SELECT min(replaced) AS first, max(replaced) AS last FROM (
      SELECT w.replaced, sum(strlen(t._extra)) OVER (ORDER BY w.replaced) // ${PARSED_BYTES} AS part
      FROM ${replaced} >= ${LONG_ROW_BYTES})
    GROUP BY part`)
  const long = parts.map(({ first, last }) => `>= ${LONG_ROW_BYTES} AND t.rowid BETWEEN ${first} AND ${last}`)
  const fields = new Set<string>()
  for (const rows of [`< ${LONG_ROW_BYTES}`, ...long]) {
    const found = await sql.rows<{ field: string }>(
      `SELECT DISTINCT unnest(json_keys(t._extra)) AS field FROM ${replaced} ${rows}`,
    )
    for (const { field } of found) fields.add(field)
  }
  return fields
}

function createWinSql(parts: RowMerge, target: string): string {
  const { table, staged } = parts
  const match = table.key.map((column) => `t.${name(column)} = s.${name(column)}`).join(' AND ')
  const deletedNow = deletedSql({ ...parts, columns: staged.columns }, STAYS_DELETED)
  return `
    CREATE OR REPLACE TEMP TABLE win AS
    SELECT s.rowid AS sid, t.rowid AS replaced, ${deletedNow} AND NOT coalesce(t.is_deleted, false) AS deleted,
      t._row_hash IS NOT NULL OR t.rowid IS NULL AS is_changed
    FROM staged s LEFT JOIN ${target} t ON ${match} LEFT JOIN tidemark.loads l ON l.load_id = t._load_id
    WHERE t.rowid IS NULL OR (
      ${stagedWinsSql(parts)}
      AND (t._row_hash IS DISTINCT FROM s."~row_hash" OR t.is_deleted <> ${deletedNow}))`
}

/** Returns the SQL condition that the staged row is newer. Times of requests decide first, then modification times. */
function stagedWinsSql({ report, staged, tableColumns, serviceNow, settleMs, keepsStored = false }: RowMerge): string {
  const columns = columnNames(staged.columns)
  const fresh = { alias: 's', observedAt: 's."~observed_at"', askedAt: 's."~asked_at"', columns }
  // The load's first request (`l.asked_at`) can be minutes before this row's request. Very old loads lack this time.
  const askedAt = `greatest(l.asked_at, t._observed_at - INTERVAL ${HEAD_MS_MAX} MILLISECONDS)`
  const stored = { alias: 't', observedAt: 't._observed_at', askedAt, columns: tableColumns }
  // If the stored row was observed in the future, the service's clock was set back.
  const isAhead = (byMs: number) =>
    serviceNow === undefined ? 'false' : `t._observed_at > ${time(plusMs(serviceNow, CLOCK_GRAIN_MS + byMs))}`
  return `CASE
    WHEN ${isLaterSql(fresh, stored, settleMs)} OR ${isAhead(report.newerBy.length > 0 ? settleMs + HEAD_MS_MAX : 0)} THEN true
    WHEN ${isLaterSql(stored, fresh, settleMs)} AND NOT ${isAhead(0)} THEN false
    ELSE ${isNewerSql(report, fresh, { other: stored, keepsStored })} END`
}

/** SQL condition: a flag or a second read has proven the deletion. A missing flag does not end the deletion. */
const STAYS_DELETED = `(t.is_deleted AND t._delete_evidence IS DISTINCT FROM 'absence')`

/** Returns the SQL condition that a row is deleted. Without a flag, the second read or `staysDeleted` decides. */
function deletedSql(parts: DeletionSource, staysDeleted: string): string {
  const gone = parts.knowsGone ? isProvenGoneSql(parts, staysDeleted) : undefined
  return parts.report.deletedFlag === undefined
    ? (gone ?? 'false')
    : `coalesce(s."~deleted", ${gone ?? staysDeleted}, false)`
}

/** Returns the SQL condition that a second read, without deleted rows, did not return the row. */
function isProvenGoneSql({ report, table, columns }: DeletionSource, staysDeleted: string): string {
  const key = table.key.map((column) => `s.${name(column)}`).join(', ')
  const keys = names(table.key, 'g')
  const stamp = stampSql(report, 's', columnNames(columns)) ?? 'NULL::TIMESTAMPTZ'
  return `coalesce((${key}) IN (SELECT (${keys}) FROM gone_keys g WHERE g."~stamp" IS NULL)
    OR (${key}, ${stamp}) IN (SELECT (${keys}, g."~stamp") FROM gone_keys g)
    OR (${staysDeleted} AND (${key}) IN (SELECT (${keys}) FROM gone_keys g)), false)`
}

type DeletionSource = Pick<InsertSource, 'report' | 'table' | 'knowsGone' | 'columns'>

export interface InsertSource extends Pick<RowMerge, 'report' | 'table' | 'tableColumns' | 'loadId' | 'knowsGone'> {
  readonly columns: readonly StagedColumn[]
  /** The FROM clause. Staged rows have the alias `s`. If rows are replaced, `win` has the alias `w`. */
  readonly rows: string
}

/** Returns the query of the rows to insert. With `replaced`, missing fields are taken from the replaced row. */
export function rowsToInsertSql(parts: InsertSource, replaced?: { target: string; extra: string }): string {
  const { report, table, columns, tableColumns, loadId, rows } = parts
  const carried = new Map(columns.map((column) => [column.name, column.carried]))
  const values = tableColumns.map((column) => {
    const quoted = name(column)
    if (table.asked.some((asked) => asked.name === column)) return `s.${quoted}`
    const before = replaced === undefined ? 'NULL' : `t.${quoted}`
    const condition = carried.get(column)
    if (condition === undefined || condition === 'false') return `${before} AS ${quoted}`
    if (condition === 'true') return `s.${quoted}`
    return `CASE WHEN ${onStagedTable(condition)} THEN s.${quoted} ELSE ${before} END AS ${quoted}`
  })
  const wasDeleted = replaced === undefined ? 'false' : 't.is_deleted'
  const deleted = deletedSql(parts, replaced === undefined ? 'false' : STAYS_DELETED)
  const seenBefore = replaced === undefined ? 'NULL' : 't._deleted_seen_at'
  const byFlag = parts.knowsGone ? `CASE WHEN s."~deleted" THEN 'flag' ELSE 'diff' END` : `'flag'`
  const evidence = report.deletedFlag === undefined ? `'diff'` : byFlag
  return `
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

interface LateCounts {
  readonly late: number
  /** The longest delay of a row was at least this time (ms). Undefined if no row is late. */
  readonly latenessMs: number | undefined
}

async function countLate(sql: Sql, parts: RowMerge, target: string): Promise<LateCounts | undefined> {
  const { report, staged, tableColumns, previousRead } = parts
  const sent = stampSql(report, 's', columnNames(staged.columns))
  if (previousRead === undefined || sent === undefined) return undefined
  const before = stampSql(report, 't', tableColumns) ?? 'NULL::TIMESTAMPTZ'
  const [found] = await sql.rows<{ late: number; earliest: Instant | null }>(`
    SELECT count(*) AS late, epoch_us(min(${sent})) AS earliest
    FROM win w JOIN staged s ON s.rowid = w.sid LEFT JOIN ${target} t ON t.rowid = w.replaced
    WHERE ${sent} <= ${time(previousRead.until)} AND coalesce(${before} < ${sent}, true)`)
  if (found === undefined || found.earliest === null) return { late: 0, latenessMs: undefined }
  return { late: found.late, latenessMs: latenessMs(found.earliest, previousRead) }
}

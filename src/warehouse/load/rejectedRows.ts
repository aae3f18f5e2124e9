/** Stores rejected rows, until the service returns a correct version. */
import type { Declaration } from '../../../schema/report.ts'
import { tableOf, wireKey } from '../../../schema/tables.ts'
import type { Instant } from '../../instant.ts'
import { Kind } from '../../plan/kinds.ts'
import { WITHHELD } from '../../plan/privacy.ts'
import { ROWS_A_PAGE } from '../../plan/stagedNames.ts'
import { countOf, type Sql, names, pointer, text, time } from '../database/sql.ts'
import { ownKeySql } from '../tables/tables.ts'
import { castOf } from './casts.ts'
import type { RejectedBatch } from './loadInput.ts'
import type { RowMerge, LoadTransaction } from './loadSteps.ts'

export interface RejectedRow {
  readonly scope: string
  readonly observedAt: Instant
  readonly row: string
  readonly key: string | null
  /** True if the service has deleted the row. */
  readonly isGone: boolean
}

/** A retry must not restore rejected rows if the reason of the rejection begins with this text. */
const GONE_REASON = 'deleted at the service; '

export interface RejectedRowsRequest {
  readonly report: string
  readonly loadIds: readonly number[]
  readonly offset: number
  readonly limit: number
}

export async function updateRejectedRows(sql: Sql, load: LoadTransaction): Promise<void> {
  const { input, report, staged } = load
  if (input.kind === 'retry') await deleteRejectedBatch(sql, report.name, input.batch)
  if (staged === undefined) return
  if (staged.rejected > 0) await recordRejected(sql, load)
  await deleteCorrectedRows(sql, { ...load, staged })
}

/** If the row is already stored, only updates when it was last seen. */
async function recordRejected(
  sql: Sql,
  { input, report, rules: { excludePayload }, loadId }: LoadTransaction,
): Promise<void> {
  const row = excludePayload ? WITHHELD_ROW : 'row'
  const reason = excludePayload ? REASON_ALONE : 'reason'
  const goneKeys = `SELECT (${ownKeySql(report, 'g')}, ${scopeSql(report)}) FROM gone_keys g WHERE g."~stamp" IS NULL`
  const isGone = input.gone ? `coalesce((f.key, p.scope) IN (${goneKeys}), false)` : 'false'
  await sql.run(`
    CREATE OR REPLACE TEMP TABLE rejections AS
    SELECT DISTINCT ON (coalesce(p.scope, ''), f.row)
      coalesce(p.scope, '') AS scope, f.key, f.reason, f.row, p.observed_at, ${isGone} AS is_gone
    FROM (SELECT ordinal, ${reason} AS reason, ${row} AS row, ${keySql(report)} AS key FROM staged_rejected) f
    JOIN (SELECT page, observed_at, ${scopeSql(report)} AS scope FROM staged_pages) p ON p.page = f.ordinal // ${ROWS_A_PAGE}`)
  if (input.gone) await sql.run(dropOutdatedReasonsSql(report))
  // Rows that were dismissed because of their age are listed again if the service sends them.
  await sql.run(`
    UPDATE tidemark.rejected_rows r SET observed_at = f.observed_at, dismissed_at = nullif(r.dismissed_at, r.observed_at)
    FROM rejections f
    WHERE r.report = ${text(report.name)} AND r.scope = f.scope AND r.row::VARCHAR = f.row AND r.observed_at < f.observed_at;
    INSERT INTO tidemark.rejected_rows
    SELECT ${text(report.name)}, f.scope, f.key, CASE WHEN f.is_gone THEN ${text(GONE_REASON)} ELSE '' END || f.reason,
      f.row::JSON, ${loadId}, f.observed_at, NULL
    FROM rejections f
    WHERE NOT EXISTS (
      SELECT 1 FROM tidemark.rejected_rows r
      WHERE r.report = ${text(report.name)} AND r.scope = f.scope AND r.row::VARCHAR = f.row)`)
}

/** Removes a rejected row whose reason is outdated, because the service has deleted or restored the row since. */
const dropOutdatedReasonsSql = (report: Declaration): string => `
  DELETE FROM tidemark.rejected_rows WHERE rowid IN (
    SELECT r.rowid FROM tidemark.rejected_rows r JOIN rejections f ON f.scope = r.scope AND f.row = r.row::VARCHAR
    WHERE r.report = ${text(report.name)} AND f.observed_at >= r.observed_at AND f.is_gone <> ${isGoneSql('r')})`

const isGoneSql = (alias: string): string => `starts_with(${alias}.reason, ${text(GONE_REASON)})`

/** With `exclude_payload`, a fingerprint is stored instead of the row. */
const WITHHELD_ROW = `'"${WITHHELD}exclude_payload: fingerprint ' || hash(row) || '"'`

/** Removes the quoted value. Example: `id is no number: x` becomes `id is no number`. */
const REASON_ALONE = `regexp_replace(reason, '( is (no|neither) [^:]*): .*$', '\\1', 's')`

/** SQL for rows that were not dismissed and whose content is stored. */
const IS_LOADABLE = `(dismissed_at IS NULL AND NOT starts_with("row"::VARCHAR, '"${WITHHELD}'))`

function scopeSql(report: Declaration): string {
  return report.asked.length === 0 ? `''` : `concat_ws(':', ${names(report.asked.map(({ column }) => column))})`
}

/** Returns SQL for a rejected row's key as `ownKeySql` would return it. In a BIGINT column, the number 7.0 is 7. */
export function keySql(report: Declaration): string {
  const { fields } = tableOf(report)
  const parts = wireKey(report).map((wire) => {
    const sent = `json_extract_string(try_cast(row AS JSON), ${pointer(wire)})`
    const type = fields.find(({ sources }) => sources[0] === wire)?.type ?? 'VARCHAR'
    return `coalesce((${castOf(sent, type, Kind.text)})::VARCHAR, ${sent})`
  })
  return parts.length === 0 ? 'NULL' : parts.join(` || ':' || `)
}

const reportsWithRejected = (sql: Sql): Promise<{ report: string; listed: number }[]> =>
  sql.cachedRows(
    'SELECT report, count(*) FILTER (dismissed_at IS NULL) AS listed FROM tidemark.rejected_rows GROUP BY report',
  )

/** Deletes rejected rows of which a later version was stored. A summary does not replace a full row. */
async function deleteCorrectedRows(sql: Sql, { report, staged }: RowMerge): Promise<void> {
  const rejected = await reportsWithRejected(sql)
  if (report.perRecord !== undefined || rejected.every((each) => each.report !== report.name)) return
  const summary = [...new Set(Object.values(report.fields).flatMap(({ also = [] }) => also))]
  const carriesSummary = summary.map((field) => staged.carries(field))
  const hasSummary = summary.map((field) => `json_exists(r.row, ${text(`/${field}`)})`)
  await sql.run(`
    DELETE FROM tidemark.rejected_rows WHERE rowid IN (
      SELECT r.rowid FROM tidemark.rejected_rows r
      JOIN (SELECT ${ownKeySql(report, 's')} AS key, ${scopeSql(report)} AS scope, "~observed_at" AS observed_at,
              ${carriesSummary.length === 0 ? 'false' : `(${carriesSummary.join(' OR ')})`} AS is_summary
            FROM staged s) s ON s.key = r.key AND s.scope = r.scope
      WHERE r.report = ${text(report.name)} AND r.observed_at < s.observed_at
        AND (NOT s.is_summary OR ${hasSummary.join(' OR ') || 'true'}))`)
}

export const rejectingLoads = (sql: Sql, report: string): Promise<{ loadId: number; rows: number }[]> =>
  sql.rows(`
    SELECT load_id AS "loadId", count(*) AS rows FROM tidemark.rejected_rows
    WHERE report = ${text(report)} AND ${IS_LOADABLE} GROUP BY ALL ORDER BY 1`)

export const withheldRows = (sql: Sql, report: string): Promise<number> =>
  countOf(sql, `tidemark.rejected_rows WHERE report = ${text(report)} AND dismissed_at IS NULL AND NOT ${IS_LOADABLE}`)

export function rejectedRows(sql: Sql, request: RejectedRowsRequest): Promise<RejectedRow[]> {
  const { report, loadIds, offset, limit } = request
  return sql.rows(`
    SELECT r.scope, epoch_us(coalesce(r.observed_at, l.committed_at, TIMESTAMPTZ '1970-01-01 00:00:00+00')) AS "observedAt",
      r.row::VARCHAR AS row, r.key, ${isGoneSql('r')} AS "isGone"
    FROM tidemark.rejected_rows r LEFT JOIN tidemark.loads l USING (load_id)
    WHERE r.report = ${text(report)} AND ${IS_LOADABLE} AND r.load_id IN (${loadIds.join(', ')})
    ORDER BY r.scope, 2, r.load_id, hash(r.row::VARCHAR), r.rowid LIMIT ${limit} OFFSET ${offset}`)
}

async function deleteRejectedBatch(
  sql: Sql,
  report: string,
  { loadIds, rows, errorIfChanged }: RejectedBatch,
): Promise<void> {
  const which = `report = ${text(report)} AND ${IS_LOADABLE} AND load_id IN (${loadIds.join(', ')})`
  if ((await countOf(sql, `tidemark.rejected_rows WHERE ${which}`)) !== rows) throw errorIfChanged
  await sql.run(`DELETE FROM tidemark.rejected_rows WHERE ${which}`)
}

export type Dismissal =
  /** If `keys` is undefined, all rejected rows of the report are dismissed. */
  { readonly report: string; readonly keys: readonly string[] | undefined } | { readonly lastSeenBefore: Instant }

/** Dismisses rejected rows and returns their number. Rows dismissed by age are listed again if they are sent again. */
export async function dismissRejected(sql: Sql, dismissal: Dismissal, now: Instant): Promise<number> {
  if ((await reportsWithRejected(sql)).every(({ listed }) => listed === 0)) return 0
  const isOld = 'lastSeenBefore' in dismissal
  const which = isOld ? `observed_at < ${time(dismissal.lastSeenBefore)}` : isNamedSql(dismissal)
  const where = `dismissed_at IS NULL AND ${which}`
  const rows = await countOf(sql, `tidemark.rejected_rows WHERE ${where}`)
  if (rows > 0)
    await sql.run(
      `UPDATE tidemark.rejected_rows SET dismissed_at = ${isOld ? 'observed_at' : time(now)} WHERE ${where}`,
    )
  return rows
}

function isNamedSql({ report, keys }: Exclude<Dismissal, { lastSeenBefore: Instant }>): string {
  const ofReport = `report = ${text(report)}`
  return keys === undefined ? ofReport : `${ofReport} AND key IN (${keys.map(text).join(', ')})`
}

/**
 * Rows that could not be stored are kept whole, once each, with the reason, until they are loaded again on request
 * (product contract §4): then they are read from here as if the service had just sent them, at the time when it did.
 */
import type { Declaration } from '../../schema/report.ts'
import { tableOf } from '../../schema/tables.ts'
import { assert } from '../errors.ts'
import type { Instant } from '../instant.ts'
import { WITHHELD } from '../plan/privacy.ts'
import { ROWS_A_PAGE } from '../plan/stagedNames.ts'
import type { Sql } from './duckdb.ts'
import { names, text } from './sqlText.ts'

/** A row that was refused, as it was sent. */
export interface RejectedRow {
  readonly scope: string
  /** The service's time when it sent the row. */
  readonly observedAt: Instant
  readonly row: string
}

/** What a load takes up again. */
export interface Retried {
  /** The loads that refused it. */
  readonly loadIds: readonly number[]
  readonly rows: number
}

export interface RejectedAsk {
  readonly report: string
  readonly loadIds: readonly number[]
  readonly offset: number
  readonly limit: number
}

/** Keeps refused rows once each, with the reason. They stay until they are loaded again on request. */
export async function recordRejected(
  sql: Sql,
  { report, excludePayload }: { report: Declaration; excludePayload: boolean },
  loadId: number,
): Promise<void> {
  const row = excludePayload ? WITHHELD_ROW : 'row'
  const reason = excludePayload ? REASON_ALONE : 'reason'
  await sql.run(`
    INSERT INTO tidemark.rejected_rows
    SELECT DISTINCT ON (coalesce(p.scope, ''), f.row)
      ${text(report.name)}, coalesce(p.scope, ''), f.key, f.reason, f.row::JSON, ${loadId}, p.observed_at
    FROM (SELECT ordinal, ${reason} AS reason, ${row} AS row, ${keySql(report)} AS key FROM refused) f
    JOIN (SELECT page, observed_at, ${scopeSql(report)} AS scope FROM staged_pages) p ON p.page = f.ordinal // ${ROWS_A_PAGE}
    WHERE NOT EXISTS (
      SELECT 1 FROM tidemark.rejected_rows r
      WHERE r.report = ${text(report.name)} AND r.scope = coalesce(p.scope, '') AND r.row::VARCHAR = f.row)`)
}

/** Where nothing may stay as it was sent: what tells the row from others, but not what it holds. */
const WITHHELD_ROW = `'"${WITHHELD}exclude_payload: fingerprint ' || hash(row) || '"'`

/** A reason without the value that it quotes. */
const REASON_ALONE = `regexp_replace(reason, '( is (no|neither) [^:]*): .*$', '\\1', 's')`

/** A row that wasn't kept can't be loaded again. */
const IS_WHOLE = `NOT starts_with("row"::VARCHAR, '"${WITHHELD}')`

/** The scope in which a row belongs, from its page's question. */
function scopeSql(report: Declaration): string {
  return report.asked.length === 0 ? `''` : `concat_ws(':', ${names(report.asked.map((column) => column.column))})`
}

/** The key of a refused row as text, as far as it has one. */
export function keySql(report: Declaration): string {
  const fields = Object.keys(report.fields)
  const wire = tableOf(report)
    .fields.filter((column) => report.key.includes(column.name))
    .map((column) => column.sources[0])
  const known = wire.filter((field) => field !== undefined && fields.includes(field))
  return known.length === 0 ? 'NULL' : `json_extract_string(try_cast(row AS JSON), ${text(`/${known[0]}`)})`
}

/** Loads that refused rows of the report, oldest first, and how many of them are still kept. */
export async function rejectingLoads(sql: Sql, report: string): Promise<{ loadId: number; rows: number }[]> {
  return sql.rows(
    `SELECT load_id AS "loadId", count(*) AS rows FROM tidemark.rejected_rows WHERE report = $1 AND ${IS_WHOLE} GROUP BY ALL ORDER BY 1`,
    [report],
  )
}

/** Some of the rows that those loads refused, scope by scope and in order of time. */
export async function rejectedRows(sql: Sql, { report, loadIds, offset, limit }: RejectedAsk): Promise<RejectedRow[]> {
  return sql.rows(
    `SELECT r.scope, epoch_us(coalesce(r.observed_at, l.committed_at, TIMESTAMPTZ '1970-01-01 00:00:00+00')) AS "observedAt",
       r.row::VARCHAR AS row
     FROM tidemark.rejected_rows r LEFT JOIN tidemark.loads l USING (load_id)
     WHERE r.report = $1 AND ${IS_WHOLE} AND r.load_id IN (${loadIds.join(', ')})
     ORDER BY r.scope, 2, r.load_id, hash(r.row::VARCHAR), r.rowid LIMIT ${limit} OFFSET ${offset}`,
    [report],
  )
}

/** Takes out what those loads refused, in the transaction that loads it again: what is refused still is written anew. */
export async function takeRejected(sql: Sql, report: string, { loadIds, rows }: Retried): Promise<void> {
  const which = `report = ${text(report)} AND ${IS_WHOLE} AND load_id IN (${loadIds.join(', ')})`
  const [kept] = await sql.rows<{ rows: number }>(`SELECT count(*) AS rows FROM tidemark.rejected_rows WHERE ${which}`)
  assert(kept?.rows === rows, `${rows} rejected rows were read, ${kept?.rows} are there by now`)
  await sql.run(`DELETE FROM tidemark.rejected_rows WHERE ${which}`)
}

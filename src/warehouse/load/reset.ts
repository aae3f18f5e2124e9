/** Resets a report, so that all its rows are read again (`tidemark reset`). */
import { type ReportName, reportOf } from '../../../schema/index.ts'
import type { Instant } from '../../instant.ts'
import { nextLoadId } from '../books/windows.ts'
import { feedTablesOf } from '../books/changeFeed.ts'
import { countOf, name, type Sql, text } from '../database/sql.ts'
import { closeOpenVersions, recordReplaced, tablesOf } from '../tables/versions.ts'
import { type Deletion, markAbsent, recordDeletions } from './absence.ts'
import { heldRowsSql, storedKeySql } from './reportPart.ts'

export const RESET_RUN_ID = 'tidemark reset'

export interface ResetRequest {
  readonly report: ReportName
  /** If true, deletes all rows at once. If false, rows stay until the next runs have read them again. */
  readonly empty: boolean
  readonly now: Instant
  /** The service's time. In the history, current versions of the deleted rows end at this time. */
  readonly serviceNow: Instant
}

/** Emptying a report also removes its entries in these tables. */
const BOOKS_OF_ROWS =
  'marks windows covered coverage absences creations countings followed skipped_records misfits rejected_rows'

/** Resets the report and returns how many rows it had. */
export async function resetReport(sql: Sql, request: ResetRequest): Promise<number> {
  const { report: named, empty, now, serviceNow } = request
  const report = reportOf(named)
  const rows = await countOf(sql, `main.${name(named)}`)
  const ofReport = `WHERE report = ${text(named)}`
  const tables = tablesOf(named).map((table) => `main.${name(table)}`)
  const loadId = await nextLoadId(sql)
  if (empty) {
    for (const { name: table, key } of feedTablesOf(named)) {
      const all = `SELECT rowid AS tid FROM main.${name(table)}`
      await recordReplaced(sql, undefined, { table, key: key.map((column) => column.name), loadId, rows: all })
    }
    await closeOpenVersions(sql, named, serviceNow)
    for (const table of tables) await sql.run(`DELETE FROM ${table} WHERE true`)
    for (const table of BOOKS_OF_ROWS.split(' ')) await sql.run(`DELETE FROM tidemark.${table} ${ofReport}`)
  } else {
    // A row without a fingerprint counts as unread. Rows of audit trails need no change: each read replaces them.
    if (report.perRecord === undefined)
      for (const table of tables) await sql.run(`UPDATE ${table} SET _row_hash = NULL`)
    await sql.run(`
      UPDATE tidemark.coverage SET because = 'reset', refill_until = coalesce(
        (SELECT max(m.value) FROM tidemark.marks m WHERE m.report = coverage.report AND m.scope = coverage.scope AND m.mark = 'modified_since'),
        (SELECT max(f.asked_at) FROM tidemark.followed f WHERE f.report = coverage.report AND starts_with(f.scope, coverage.scope)))
      ${ofReport}`)
  }
  await sql.run(`
    DELETE FROM tidemark.reconcile_keys WHERE reconcile_id IN (SELECT reconcile_id FROM tidemark.reconciles ${ofReport} AND ended_at IS NULL);
    DELETE FROM tidemark.reconciles ${ofReport} AND ended_at IS NULL`)
  const deletion = { report, runId: RESET_RUN_ID, startedAt: serviceNow, now }
  await recordDeletions(sql, deletion, { loadId, deleted: empty ? rows : 0 })
  return rows
}

export interface ResetEnd extends Deletion {
  readonly scope: string
  /** The configured currencies. Rows of other currencies count as not read, and are marked as deleted. */
  readonly currencies: readonly string[]
}

/** Marks all rows as deleted that were not read since the reset. Returns their number. */
export async function endReset(sql: Sql, end: ResetEnd): Promise<number> {
  const { report, scope, currencies } = end
  const others = `t.target_currency NOT IN (${currencies.map(text).join(', ')})`
  const inScope = scope === '' ? 'true' : `(t.target_currency = ${text(scope)} OR ${others})`
  // The service still returns rejected rows, so their stored versions stay.
  await sql.run(`
    UPDATE tidemark.coverage SET refill_until = NULL, because = NULL WHERE report = ${text(report.name)} AND scope = ${text(scope)};
    CREATE OR REPLACE TEMP TABLE absent AS
    SELECT t.rowid AS tid, true AS again FROM ${heldRowsSql({ report, scope: '' })} AND t._row_hash IS NULL AND ${inScope}
      AND ${storedKeySql(end)} NOT IN (
        SELECT key FROM tidemark.rejected_rows WHERE report = ${text(report.name)} AND key IS NOT NULL)`)
  const deleted = await countOf(sql, 'absent')
  if (deleted > 0) await markAbsent(sql, end, deleted)
  return deleted
}

/** Marks rows as deleted if two consecutive comparisons did not find them (product contract §4). */
import type { Instant } from '../../instant.ts'
import { countOf, onlyRow, type Sql, name, names, text, time, withoutNulls, type WithNulls } from '../database/sql.ts'
import { checkBrake, type Deletion, findAbsent, markAbsent } from './absence.ts'
import type { MergeCounts, ReconcileProgress } from './loadInput.ts'
import type { LoadTransaction } from './loadSteps.ts'
import { keySql } from './rejectedRows.ts'
import { keyColumn, partSql, type ReportPart, storedKeySql } from './reportPart.ts'

/** Stored rows outside these limits are not compared. */
export interface ReconcileLimits {
  readonly start: Instant
  readonly filters: Readonly<Record<string, unknown>>
}

export interface OpenReconcile extends ReconcileProgress {
  /** The service's time, in whole seconds like `_observed_at`. */
  readonly startedAt: Instant
}

export interface ReconcilePlace extends ReportPart {
  readonly asked: ReconcileLimits
}

function askedSql({ start, filters }: ReconcileLimits): string {
  const sorted = Object.entries(filters).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `${text(JSON.stringify({ start, filters: sorted }))}::JSON`
}

export async function openReconcile(sql: Sql, place: ReconcilePlace): Promise<OpenReconcile | undefined> {
  const [row] = await sql.rows<WithNulls<OpenReconcile>>(`
    SELECT reconcile_id AS "reconcileId", epoch_us(started_at) AS "startedAt", epoch_us(reached) AS reached
    FROM tidemark.reconciles WHERE ${partSql(place)} AND ended_at IS NULL AND asked = ${askedSql(place.asked)}`)
  return row && withoutNulls<OpenReconcile>(row)
}

/** Stores a new reconcile in place of an unfinished one. */
export async function beginReconcile(sql: Sql, place: ReconcilePlace, begun: OpenReconcile): Promise<void> {
  const given = `${partSql(place)} AND ended_at IS NULL`
  await sql.run(`
    DELETE FROM tidemark.reconcile_keys WHERE reconcile_id IN (SELECT reconcile_id FROM tidemark.reconciles WHERE ${given});
    DELETE FROM tidemark.reconciles WHERE ${given};
    INSERT INTO tidemark.reconciles VALUES (${[begun.reconcileId, place.report.name, place.scope].map(text).join()},
      ${time(begun.startedAt)}, NULL, NULL, 0, 0, 0, 0, 0, ${askedSql(place.asked)})`)
}

export async function recordReconcileStep(sql: Sql, load: LoadTransaction, step: ReconcileProgress & MergeCounts) {
  const { report, staged } = load
  const { reconcileId, reached, inserted, updated } = step
  const id = text(reconcileId)
  if (staged !== undefined) {
    // The service has returned rejected rows too, so they are not absent.
    const rejected = `UNION ALL SELECT ${id}, key FROM (SELECT row, ${keySql(report)} AS key FROM staged_rejected) WHERE key IS NOT NULL`
    await sql.run(`
      INSERT INTO tidemark.reconcile_keys
      SELECT ${id}, ${name(keyColumn(report))}::VARCHAR FROM staged
      ${staged.rejected === 0 ? '' : rejected}`)
  }
  if (reached === undefined && inserted + updated === 0) return
  await sql.run(`
    UPDATE tidemark.reconciles SET missed = missed + ${inserted}, differed = differed + ${updated},
      reached = ${reached === undefined ? 'reached' : time(reached)}
    WHERE reconcile_id = ${id}`)
}

export interface ReconcileEnd extends ReconcilePlace, Deletion {
  readonly reconcileId: string
  /** Keys of rows that are older than `start`. The service has them, so they are not deleted. */
  readonly keysElsewhere?: readonly string[]
  readonly allowMassDelete: boolean
}

export interface ReconcileResult {
  readonly rows: number
  /** Rows that are missing for the first time. */
  readonly absent: number
  /** Rows that are missing for the second time in a row, and so get a deletion mark. */
  readonly deleted: number
  readonly missed: number
  /** Rows that the reconcile replaced with different values. */
  readonly differed: number
}

export const reconciledRows = (sql: Sql, reconcileId: string): Promise<number> =>
  countOf(sql, `(SELECT DISTINCT key FROM tidemark.reconcile_keys WHERE reconcile_id = ${text(reconcileId)})`)

export async function absentKeys(sql: Sql, report: string, scope: string): Promise<string[]> {
  const where = 'WHERE report = $1 AND scope = $2'
  const rows = await sql.rows<{ key: string }>(`SELECT key FROM tidemark.absences ${where}`, [report, scope])
  return rows.map(({ key }) => key)
}

/** Throws MASS_DELETE_STOPPED if too many rows would be marked as deleted. */
export async function endReconcile(sql: Sql, ending: ReconcileEnd): Promise<ReconcileResult> {
  const { report, scope, reconcileId } = ending
  const key = storedKeySql(ending)
  const place = partSql(ending)
  const isAbsent = `${isRequestedSql(ending)}
    AND ${key} NOT IN (SELECT key FROM tidemark.reconcile_keys WHERE reconcile_id = ${text(reconcileId)})
    AND ${key} NOT IN (SELECT unnest([${(ending.keysElsewhere ?? []).map(text).join(', ')}]::VARCHAR[]))`
  const { absent, deleted, held } = await findAbsent(sql, ending, isAbsent)
  if (!ending.allowMassDelete) checkBrake(report.name, deleted, held)
  const rows = await reconciledRows(sql, reconcileId)
  await sql.run(`
    DELETE FROM tidemark.countings WHERE ${place} AND failures = 0 AND stopped IS NOT NULL;
    DELETE FROM tidemark.absences WHERE ${place};
    INSERT INTO tidemark.absences (report, scope, key, reconcile_id)
    SELECT ${text(report.name)}, ${text(scope)}, key, ${text(reconcileId)} FROM absent WHERE NOT again;
    DELETE FROM tidemark.reconcile_keys WHERE reconcile_id = ${text(reconcileId)};
    UPDATE tidemark.reconciles SET ended_at = ${time(ending.now)}, rows = ${rows}, absent = ${absent}, deleted = ${deleted}
    WHERE reconcile_id = ${text(reconcileId)}`)
  await markAbsent(sql, ending, deleted)
  const found = `SELECT missed, differed FROM tidemark.reconciles WHERE reconcile_id = ${text(reconcileId)}`
  return { rows, absent, deleted, ...(await onlyRow<Pick<ReconcileResult, 'missed' | 'differed'>>(sql, found)) }
}

/** Returns SQL that is true for requested rows. With filters, it is `false`: excluded rows would look deleted. */
function isRequestedSql({ report, asked }: ReconcileEnd): string {
  if (Object.keys(asked.filters).length > 0) return 'false'
  if (!report.window.required) return 'true'
  return `coalesce(greatest(${names(report.newerBy, 't')}) >= ${time(asked.start)}, false)`
}

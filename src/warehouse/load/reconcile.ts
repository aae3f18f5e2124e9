/** Marks rows as deleted that two successive comparisons did not find (product contract §4). */
import type { Declaration } from '../../../schema/report.ts'
import { tableOf } from '../../../schema/tables.ts'
import { SyncError } from '../../errors.ts'
import type { Instant } from '../../instant.ts'
import { nextLoadId } from '../books/books.ts'
import { countOf, onlyRow, type Sql, name, names, text, time, withoutNulls, type WithNulls } from '../database/sql.ts'
import { keySql } from './rejectedRows.ts'
import { recordReplaced, historyOf } from '../tables/versions.ts'
import type { MergeCounts, ReconcileProgress } from './loadInput.ts'
import type { LoadTransaction } from './loadSteps.ts'

/** Share of rows that one reconcile may mark as deleted without permission. */
export const DELETED_SHARE_MAX = 0.1
const DELETED_ROWS_ALLOWED = 10
const KEPT_SHARE_MIN = 0.5

/** Stored rows outside these limits are not compared. */
export interface ReconcileLimits {
  readonly start: Instant
  readonly filters: Readonly<Record<string, unknown>>
}

export interface OpenReconcile extends ReconcileProgress {
  /** The service's time, in whole seconds like `_observed_at`. */
  readonly startedAt: Instant
}

/** A report, or the part of a report with one currency. */
export interface CountPlace {
  readonly report: Declaration
  readonly scope: string
}

export interface ReconcilePlace extends CountPlace {
  readonly asked: ReconcileLimits
}

export const placeSql = ({ report, scope }: CountPlace): string =>
  `report = ${text(report.name)} AND scope = ${text(scope)}`

export const rowsSql = ({ report, scope }: CountPlace): string =>
  `main.${name(report.name)} t WHERE ${scope === '' ? 'true' : `t.target_currency = ${text(scope)}`}`

export const heldSql = (place: CountPlace): string => `${rowsSql(place)} AND NOT t.is_deleted`

export const storedKeySql = ({ report }: Pick<CountPlace, 'report'>): string => `t.${name(keyColumn(report))}::VARCHAR`

function askedSql({ start, filters }: ReconcileLimits): string {
  const sorted = Object.entries(filters).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `${text(JSON.stringify({ start, filters: sorted }))}::JSON`
}

export async function openReconcile(sql: Sql, place: ReconcilePlace): Promise<OpenReconcile | undefined> {
  const [row] = await sql.rows<WithNulls<OpenReconcile>>(`
    SELECT reconcile_id AS "reconcileId", epoch_us(started_at) AS "startedAt", epoch_us(reached) AS reached
    FROM tidemark.reconciles WHERE ${placeSql(place)} AND ended_at IS NULL AND asked = ${askedSql(place.asked)}`)
  return row && withoutNulls<OpenReconcile>(row)
}

/** Stores a new reconcile in place of an unfinished one. */
export async function beginReconcile(sql: Sql, place: ReconcilePlace, begun: OpenReconcile): Promise<void> {
  const given = `${placeSql(place)} AND ended_at IS NULL`
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
    const refused = `UNION ALL SELECT ${id}, key FROM (SELECT row, ${keySql(report)} AS key FROM refused) WHERE key IS NOT NULL`
    await sql.run(`
      INSERT INTO tidemark.reconcile_keys
      SELECT ${id}, ${name(keyColumn(report))}::VARCHAR FROM staged
      ${staged.rejected === 0 ? '' : refused}`)
  }
  if (reached === undefined && inserted + updated === 0) return
  await sql.run(`
    UPDATE tidemark.reconciles SET missed = missed + ${inserted}, differed = differed + ${updated},
      reached = ${reached === undefined ? 'reached' : time(reached)}
    WHERE reconcile_id = ${id}`)
}

export interface ReconcileEnd extends ReconcilePlace, Deleting {
  readonly reconcileId: string
  /** Keys of rows that the service returns with times before `start`. These rows are not deleted. */
  readonly keysElsewhere?: readonly string[]
  readonly allowMassDelete: boolean
}

export interface ReconcileResult {
  readonly rows: number
  /** Rows that are missing for the first time. */
  readonly absent: number
  /** Rows that two comparisons in a row did not find. */
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
  const place = placeSql(ending)
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

/** Fills `absent`. `again` is true if an earlier comparison also missed the row. */
export async function findAbsent(sql: Sql, place: CountPlace & Pick<Deleting, 'startedAt'>, isAbsent: string) {
  const key = storedKeySql(place)
  const startedAt = time(place.startedAt)
  await sql.run(`
    CREATE OR REPLACE TEMP TABLE absent AS
    SELECT t.rowid AS tid, ${key} AS key, ${key} IN (SELECT key FROM tidemark.absences
      WHERE ${placeSql(place)} AND coalesce(again_from <= ${startedAt}, true)) AS again
    FROM ${heldSql(place)} AND t._observed_at < ${startedAt} AND ${isAbsent}`)
  return {
    absent: await countOf(sql, 'absent WHERE NOT again'),
    deleted: await countOf(sql, 'absent WHERE again'),
    held: await countOf(sql, heldSql(place)),
  }
}

/** Never true with filters, because rows that they exclude would look deleted. */
function isRequestedSql({ report, asked }: ReconcileEnd): string {
  if (Object.keys(asked.filters).length > 0) return 'false'
  if (!report.window.required) return 'true'
  return `coalesce(greatest(${names(report.newerBy, 't')}) >= ${time(asked.start)}, false)`
}

export interface Deleting {
  readonly report: Declaration
  readonly runId: string
  /** The service's time, in whole seconds like `_observed_at`. */
  readonly startedAt: Instant
  readonly now: Instant
}

/** Marks rows of the table `absent` as deleted where `again` is true. The caller must fill this table first. */
export async function markAbsent(sql: Sql, deleting: Deleting, deleted: number): Promise<void> {
  const { report, startedAt } = deleting
  const loadId = await nextLoadId(sql)
  await recordDeletions(sql, deleting, { loadId, deleted })
  if (deleted === 0) return
  const target = `main.${name(report.name)}`
  await recordReplaced(sql, await historyOf(sql, report.name), {
    table: report.name,
    key: report.key,
    loadId,
    rows: `SELECT tid, ${time(startedAt)} AS until FROM absent WHERE again`,
  })
  await sql.run(`
    CREATE OR REPLACE TEMP TABLE gone_rows AS
    SELECT t.* REPLACE (true AS is_deleted, 'absence' AS _delete_evidence, ${time(startedAt)} AS _deleted_seen_at,
      ${time(startedAt)} AS _observed_at, ${loadId}::BIGINT AS _load_id)
    FROM ${target} t WHERE t.rowid IN (SELECT tid FROM absent WHERE again);
    DELETE FROM ${target} WHERE rowid IN (SELECT tid FROM absent WHERE again);
    INSERT INTO ${target} BY NAME SELECT * FROM gone_rows;
    DROP TABLE gone_rows`)
}

export async function recordDeletions(sql: Sql, deleting: Deleting, load: { loadId: number; deleted: number }) {
  const { report, runId, startedAt, now } = deleting
  await sql.run(`
    INSERT INTO tidemark.loads VALUES (${load.loadId}, ${text(runId)}, ${text(report.name)}, ${time(now)},
      0, 0, 0, 0, ${load.deleted}, 0, 0, 0, NULL, NULL, ${time(startedAt)}, NULL, 0)`)
}

export function checkBrake(report: string, deleted: number, live: number): void {
  const isFew = deleted <= DELETED_ROWS_ALLOWED && deleted <= Math.max(1, live * (1 - KEPT_SHARE_MIN))
  if (isFew || deleted <= live * DELETED_SHARE_MAX) return
  throw new SyncError('MASS_DELETE_STOPPED', `${deleted} of ${live} rows would be marked as deleted at once`, {
    report,
    cure: `If the rows were really deleted at the service, run "tidemark reconcile ${report} --allow-mass-delete". If not, check the filters and permissions of this client. Nothing was marked.`,
    data: { deleted, live },
  })
}

/** Returns the key column that is in the row. The request determines the others. */
export function keyColumn(report: Declaration): string {
  const asked = new Set(tableOf(report).asked.map((column) => column.name))
  return report.key.find((column) => !asked.has(column)) ?? ''
}

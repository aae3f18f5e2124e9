/**
 * Comparing a whole report with the service: the keys that came are remembered on disk, load by load, so memory stays
 * bounded and a reconcile that was stopped goes on where it was. A row that two complete reconciles in a row did not
 * return is deleted, unless it would be too many at once (product contract §4).
 */
import type { Declaration } from '../../../schema/report.ts'
import { tableOf } from '../../../schema/tables.ts'
import { SyncError } from '../../errors.ts'
import type { Instant } from '../../instant.ts'
import { nextLoadId } from '../books/books.ts'
import type { Sql } from '../database/duckdb.ts'
import { keySql } from './rejectedRows.ts'
import { name, text, time } from '../database/sqlText.ts'
import { closeVersions, historyOf } from '../tables/versions.ts'
import type { StagedRows } from './stage.ts'

/** Share of a table that one reconcile may mark as deleted without being asked to. */
export const DELETED_SHARE_MAX = 0.1
/** So few deletions are no mass delete, as long as so many of the rows stay; a single one never is. */
const DELETED_ROWS_SURE = 10
const KEPT_SHARE_SURE = 0.5

export interface ReconcileProgress {
  readonly reconcileId: string
  /** Everything up to here was read, on the reconcile's axis of time. */
  readonly reached: Instant | undefined
}

/** What a reconcile asks the service for: it says nothing of rows that this leaves out. */
export interface ReconcileQuestion {
  readonly start: Instant
  readonly filters: Readonly<Record<string, unknown>>
}

export interface OpenReconcile extends ReconcileProgress {
  /** The service's clock when it began, in whole seconds like the times of observation that it is compared with. */
  readonly startedAt: Instant
}

export interface ReconcilePlace {
  readonly report: Declaration
  /** The currency, or ''. */
  readonly scope: string
  readonly asked: ReconcileQuestion
}

const askedText = ({ start, filters }: ReconcileQuestion): string =>
  JSON.stringify({ start, filters: Object.entries(filters).toSorted(([a], [b]) => (a < b ? -1 : 1)) })

/** The reconcile that was begun with this question and not ended, if any. */
export async function openReconcile(
  sql: Sql,
  { report, scope, asked }: ReconcilePlace,
): Promise<OpenReconcile | undefined> {
  const [row] = await sql.rows<{ id: string; started: number; reached: number | null }>(
    `SELECT reconcile_id AS id, epoch_us(started_at) AS started, epoch_us(reached) AS reached
     FROM tidemark.reconciles WHERE report = $1 AND scope = $2 AND ended_at IS NULL AND asked = $3::JSON`,
    [report.name, scope, askedText(asked)],
  )
  if (row === undefined) return undefined
  return {
    reconcileId: row.id,
    startedAt: row.started as Instant,
    reached: (row.reached ?? undefined) as Instant | undefined,
  }
}

/** Begins one, in the place of any that asked another question and did not end. */
export async function beginReconcile(sql: Sql, place: ReconcilePlace, begun: OpenReconcile): Promise<void> {
  const given = `report = ${text(place.report.name)} AND scope = ${text(place.scope)} AND ended_at IS NULL`
  await sql.run(`
    DELETE FROM tidemark.reconcile_keys WHERE reconcile_id IN (SELECT reconcile_id FROM tidemark.reconciles WHERE ${given});
    DELETE FROM tidemark.reconciles WHERE ${given}`)
  await sql.run(
    `INSERT INTO tidemark.reconciles VALUES ($1, $2, $3, ${time(begun.startedAt)}, NULL, NULL, 0, 0, 0, 0, 0, $4::JSON)`,
    [begun.reconcileId, place.report.name, place.scope, askedText(place.asked)],
  )
}

export interface ReconcileStep {
  readonly report: Declaration
  readonly staged: StagedRows | undefined
  readonly progress: ReconcileProgress
  readonly merged: { readonly inserted: number; readonly updated: number }
}

/**
 * Remembers, in the load's transaction, which keys came, what was repaired and how far the reconcile is: one that is
 * stopped goes on with it.
 */
export async function recordReconcileStep(
  sql: Sql,
  { report, staged, progress, merged }: ReconcileStep,
): Promise<void> {
  const id = text(progress.reconcileId)
  if (staged !== undefined) {
    // A refused row was returned too: it is there, it just could not be stored.
    const refused = `UNION ALL SELECT ${id}, key FROM (SELECT row, ${keySql(report)} AS key FROM refused) WHERE key IS NOT NULL`
    await sql.run(`
      INSERT INTO tidemark.reconcile_keys
      SELECT ${id}, ${name(keyColumn(report))}::VARCHAR FROM staged
      ${staged.rejected === 0 ? '' : refused}`)
  }
  const { inserted, updated } = merged
  if (progress.reached === undefined && inserted + updated === 0) return
  const reached = progress.reached === undefined ? 'reached' : time(progress.reached)
  await sql.run(`
    UPDATE tidemark.reconciles SET missed = missed + ${inserted}, differed = differed + ${updated}, reached = ${reached}
    WHERE reconcile_id = ${id}`)
}

export interface ReconcileEnd extends ReconcilePlace {
  readonly reconcileId: string
  readonly runId: string
  readonly startedAt: Instant
  readonly now: Instant
  /** An operator has said that a mass delete is right. */
  readonly allowMassDelete: boolean
}

export interface ReconcileResult {
  /** Distinct rows that the service returned. */
  readonly rows: number
  /** Rows held that did not come, and came the time before. */
  readonly absent: number
  readonly deleted: number
  /** What its loads found: rows that were missing, rows that differed; also those of before it was stopped. */
  readonly missed: number
  readonly differed: number
}

/** How many distinct rows came so far. */
export async function reconciledRows(sql: Sql, reconcileId: string): Promise<number> {
  const [row] = await sql.rows<{ rows: number }>(
    'SELECT count(DISTINCT key) AS rows FROM tidemark.reconcile_keys WHERE reconcile_id = $1',
    [reconcileId],
  )
  return row?.rows ?? 0
}

/**
 * Ends a complete reconcile: marks as deleted what was absent twice, remembers what is absent for the first time.
 * Error: MASS_DELETE_STOPPED; then nothing is marked and the next reconcile asks again.
 */
export async function endReconcile(sql: Sql, ending: ReconcileEnd): Promise<ReconcileResult> {
  const { report, scope } = ending
  const target = `main.${name(report.name)}`
  const inScope = scope === '' ? '' : ` AND t.target_currency = ${text(scope)}`
  const key = `t.${name(keyColumn(report))}::VARCHAR`
  const place = `report = ${text(report.name)} AND scope = ${text(scope)}`
  // What was written since the reconcile began is newer than its answers; what was not asked for can't be absent.
  await sql.run(`
    CREATE OR REPLACE TEMP TABLE absent AS
    SELECT t.rowid AS tid, ${key} AS key, ${key} IN (SELECT key FROM tidemark.absences WHERE ${place}) AS again
    FROM ${target} t
    WHERE NOT t.is_deleted${inScope} AND t._observed_at < ${time(ending.startedAt)} AND ${await coveredSql(sql, ending)}
      AND ${key} NOT IN (SELECT key FROM tidemark.reconcile_keys WHERE reconcile_id = ${text(ending.reconcileId)})`)
  const [counts] = await sql.rows<{ absent: number; again: number; live: number }>(`
    SELECT (SELECT count(*) FROM absent) AS absent, (SELECT count(*) FROM absent WHERE again) AS again,
      (SELECT count(*) FROM ${target} t WHERE NOT t.is_deleted${inScope}) AS live`)
  const deleted = counts?.again ?? 0
  if (!ending.allowMassDelete) checkBrake(report.name, deleted, counts?.live ?? 0)
  const loadId = await nextLoadId(sql)
  if (deleted > 0) await markAbsent(sql, { report, loadId, startedAt: ending.startedAt })
  const rows = await reconciledRows(sql, ending.reconcileId)
  const absent = (counts?.absent ?? 0) - deleted
  await sql.run(`
    DELETE FROM tidemark.absences WHERE ${place};
    INSERT INTO tidemark.absences
    SELECT ${text(report.name)}, ${text(scope)}, key, ${text(ending.reconcileId)} FROM absent WHERE NOT again;
    DELETE FROM tidemark.reconcile_keys WHERE reconcile_id = ${text(ending.reconcileId)};
    UPDATE tidemark.reconciles SET ended_at = ${time(ending.now)}, rows = ${rows}, absent = ${absent}, deleted = ${deleted}
    WHERE reconcile_id = ${text(ending.reconcileId)};
    INSERT INTO tidemark.loads VALUES (${loadId}, ${text(ending.runId)}, ${text(report.name)}, ${time(ending.now)},
      0, 0, 0, 0, ${deleted}, 0, 0, 0, NULL, NULL)`)
  const [found = { missed: 0, differed: 0 }] = await sql.rows<Pick<ReconcileResult, 'missed' | 'differed'>>(
    'SELECT missed, differed FROM tidemark.reconciles WHERE reconcile_id = $1',
    [ending.reconcileId],
  )
  return { rows, absent, deleted, ...found }
}

/**
 * Whether the question covers a held row. A row that filters leave out looks like one that is gone, also one that was
 * edited and left them so: nothing that is held tells the two apart. A start counts where the report is read by
 * modification alone; then a row without a stamp is not asked for either.
 */
async function coveredSql(sql: Sql, { report, asked }: ReconcileEnd): Promise<string> {
  if (Object.keys(asked.filters).length > 0) return 'false'
  if (!report.window.required) return 'true'
  const columns = await sql.rows<{ name: string }>(
    `SELECT column_name AS name FROM duckdb_columns() WHERE schema_name = 'main' AND table_name = $1
       AND column_name IN (${report.newerBy.map(text).join(', ')})`,
    [report.name],
  )
  return `coalesce(greatest(${columns.map((column) => `t.${name(column.name)}`).join(', ')}) >= ${time(asked.start)}, false)`
}

interface Marking {
  readonly report: Declaration
  readonly loadId: number
  readonly startedAt: Instant
}

async function markAbsent(sql: Sql, { report, loadId, startedAt }: Marking): Promise<void> {
  const target = `main.${name(report.name)}`
  await closeVersions(sql, await historyOf(sql, report.name), {
    table: report.name,
    key: report.key,
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

function checkBrake(report: string, deleted: number, live: number): void {
  const isFew = deleted <= DELETED_ROWS_SURE && deleted <= Math.max(1, live * (1 - KEPT_SHARE_SURE))
  if (isFew || deleted <= live * DELETED_SHARE_MAX) return
  throw new SyncError('MASS_DELETE_STOPPED', `${deleted} of ${live} rows would be marked as deleted at once`, {
    report,
    cure: `If the service really lost them, run "tidemark reconcile ${report} --allow-mass-delete". If not, look at the filters and permissions of this client: nothing was marked.`,
    data: { deleted, live },
  })
}

/** The one key column that a row itself carries. */
function keyColumn(report: Declaration): string {
  const asked = new Set(tableOf(report).asked.map((column) => column.name))
  return report.key.find((column) => !asked.has(column)) ?? ''
}

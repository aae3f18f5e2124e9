/** Reads and writes the bookkeeping tables in schema `tidemark`. */
import type { RunCounts } from '../../plan/runCounts.ts'
import { type ReportName, reportOf } from '../../../schema/index.ts'
import type { Declaration } from '../../../schema/report.ts'
import type { Instant } from '../../instant.ts'
import type { LastWindow } from '../../plan/lateness.ts'
import type { MarkName } from '../../plan/marks.ts'
import { IS_READ_UP_TO } from './bookFigures.ts'
import { forgetCoverage, cover } from './coverage.ts'
import { countOf, onlyRow, orNull, type Sql, text, time } from '../database/sql.ts'
import { renameReservedColumns } from '../tables/tables.ts'
import { reportsWithHistory, switchHistory } from '../tables/versions.ts'

/** A window that was read completely, and the marks that it sets. */
export interface ClosedWindow {
  readonly scope: string
  readonly since: Instant | undefined
  readonly until: Instant
  readonly proof: string
  readonly pages: number
  readonly rows: number
  readonly totalCount: number | undefined
  readonly marks: readonly { readonly mark: MarkName; readonly value: Instant }[]
}

export type RunKind = 'incremental' | 'backfill' | 'reconcile'
/** A run that was interrupted or whose process died is `stopped`. */
export type RunState = 'running' | 'done' | 'failed' | 'stopped'

export interface RunRecord extends RunCounts {
  readonly runId: string
  readonly report: ReportName
  readonly kind: RunKind
  readonly state: RunState
  readonly startedAt: Instant
  readonly endedAt: Instant | undefined
  readonly error?: { readonly code: string; readonly message: string; readonly cure: string }
}

/** Returns the warehouse's prefix for numbers: files contain 0.1 as the string `~5f0c…9b~0.1`, to keep all digits. */
export async function readNumberMark(sql: Sql): Promise<string> {
  const [known] = await sql.rows<{ value: string }>(`SELECT value FROM tidemark.settings WHERE name = 'number_mark'`)
  if (known !== undefined) return known.value
  await sql.run(`INSERT INTO tidemark.settings SELECT 'number_mark', '~' || replace(uuid()::VARCHAR, '-', '') || '~'`)
  return readNumberMark(sql)
}

/** Returns the high-water mark of a scope, such as a currency, with the end of its window and the start of its run. */
export async function lastWindowOf(sql: Sql, report: string, scope: string): Promise<LastWindow> {
  const isHere = `report = ${text(report)} AND scope = ${text(scope)}`
  const [row] = await sql.cachedRows<{ mark: Instant; loadId: number; updatedAt: Instant }>(`
    SELECT epoch_us(value) AS mark, load_id AS "loadId", epoch_us(updated_at) AS "updatedAt"
    FROM tidemark.marks m WHERE ${isHere} AND ${IS_READ_UP_TO}`)
  const ofLoad = `load_id = ${row?.loadId ?? 0}`
  // One query for all three values would take twice as long.
  const [load] = await sql.cachedRows<{ until: Instant | null; begunAt: Instant | null }>(`
    SELECT (SELECT epoch_us(max(until)) FROM tidemark.windows WHERE ${isHere} AND ${ofLoad}) AS until,
      (SELECT epoch_us(min(started_at)) FROM tidemark.runs WHERE run_id IN (SELECT run_id FROM tidemark.loads WHERE ${ofLoad})) AS "begunAt"`)
  return { mark: row?.mark, until: load?.until ?? undefined, begunAt: load?.begunAt ?? row?.updatedAt }
}

export const nextLoadId = async (sql: Sql): Promise<number> =>
  (await onlyRow<{ id: number }>(sql, 'SELECT coalesce(max(load_id), 0) + 1 AS id FROM tidemark.loads')).id

interface WindowsToClose {
  readonly report: Declaration
  readonly loadId: number
  readonly now: Instant
  readonly windows: readonly ClosedWindow[]
}

/** Records closed windows and advances the marks. A mark never moves back. */
export async function closeWindows(sql: Sql, loads: readonly WindowsToClose[]): Promise<void> {
  const closed = loads.flatMap(({ windows, ...load }) => windows.map((window) => ({ ...load, ...window })))
  if (closed.length === 0) return
  const rows = closed.map(
    ({ report, loadId, scope, since, until, proof, pages, rows, totalCount }) =>
      `(${[report.name, scope].map(text).join()}, ${orNull(since, time)}, ${time(until)}, ${text(proof)}, ${pages}, ${rows}, ${totalCount ?? 'NULL'}, ${loadId})`,
  )
  await sql.run(`INSERT INTO tidemark.windows VALUES ${rows.join(', ')}`)
  await cover(sql, closed)
  const marks = closed.flatMap(({ report: { name }, scope, loadId, now, marks: moved }) =>
    moved.map(
      ({ mark, value }) => `(${[name, scope, mark].map(text).join()}, ${time(value)}, ${loadId}, ${time(now)})`,
    ),
  )
  if (marks.length === 0) return
  await sql.run(`
    MERGE INTO tidemark.marks m
    USING (SELECT report, scope, mark, max(value) AS value, max(load_id) AS load_id, max(now) AS now
      FROM (VALUES ${marks.join(', ')}) v(report, scope, mark, value, load_id, now) GROUP BY ALL) n
    ON m.report = n.report AND m.scope = n.scope AND m.mark = n.mark
    WHEN MATCHED THEN UPDATE SET value = greatest(m.value, n.value), load_id = n.load_id, updated_at = n.now
    WHEN NOT MATCHED THEN INSERT VALUES (n.report, n.scope, n.mark, n.value, n.load_id, n.now)`)
}

export async function recordRun(sql: Sql, ...runs: readonly RunRecord[]): Promise<void> {
  if (runs.length === 0) return
  const rows = runs.map((run) => {
    const identity = [run.runId, run.report, run.kind, run.state].map(text).join()
    const counts = [run.pages, run.rows, run.inserted, run.updated, run.deleted, run.rejected].join()
    const error = [run.error?.code, run.error?.message, run.error?.cure].map((field) => orNull(field, text)).join()
    return `(${identity}, ${time(run.startedAt)}, ${orNull(run.endedAt, time)}, ${counts}, ${error}, ${run.misfits})`
  })
  await sql.run(`DELETE FROM tidemark.runs WHERE run_id IN (${runs.map(({ runId }) => text(runId)).join()})`)
  await sql.run(`INSERT INTO tidemark.runs VALUES ${rows.join()}`)
}

export const isTakenOver = async (sql: Sql, { runId, startedAt }: RunRecord): Promise<boolean> =>
  (await countOf(sql, `tidemark.runs WHERE run_id = ${text(runId)} AND started_at > ${time(startedAt)}`)) > 0

/**
 * Marks all running runs as stopped. Nothing checks that their processes have died. With `newer`, marks only other runs
 * of the same report and kind.
 */
export async function stopDeadRuns(sql: Sql, newer?: { report: string; kind: RunKind; holder: string }): Promise<void> {
  const older =
    newer && `AND report = ${text(newer.report)} AND kind = ${text(newer.kind)} AND run_id <> ${text(newer.holder)}`
  await sql.run(`
    UPDATE tidemark.runs SET state = 'stopped', ended_at = greatest(started_at, now()), error_code = 'CANCELLED',
      error = 'the process of the run ended before the run', cure = 'Start it again; it goes on where it stopped.'
    WHERE state = 'running' ${older ?? ''}`)
}

export interface ReportStateRow {
  readonly report: ReportName
  readonly enabled: boolean
  readonly offReason: string | undefined
  /** The configured currencies. Undefined means every scope. */
  readonly scopes?: readonly string[] | undefined
  /** True if requests have filters. The absence of a row does not prove a deletion then. */
  readonly isFiltered?: boolean
  readonly history?: { readonly on: boolean; readonly now: Instant }
}

export async function recordReportStates(sql: Sql, states: readonly ReportStateRow[]): Promise<void> {
  const rows = states.map(({ report, enabled, offReason, scopes, isFiltered = false }) => {
    const { deletes } = reportOf(report)
    const visible = isFiltered && deletes === 'absence' ? 'none' : deletes
    const asked = orNull(scopes, (each) => `[${each.map(text).join(', ')}]`)
    return `(${text(report)}, ${enabled}, ${text(visible)}, ${orNull(offReason, text)}::VARCHAR, ${asked}::VARCHAR[])`
  })
  const given = `(VALUES ${rows.join(', ')}) n(report, enabled, deletes, off_reason, scopes)`
  await sql.run(`
    MERGE INTO tidemark.report_states s USING ${given} ON n.report = s.report
    WHEN MATCHED AND (s.enabled, s.deletes, s.off_reason, s.scopes) IS DISTINCT FROM (n.enabled, n.deletes, n.off_reason, n.scopes)
      THEN UPDATE SET enabled = n.enabled, deletes = n.deletes, off_reason = n.off_reason, scopes = n.scopes
    WHEN NOT MATCHED THEN INSERT (report, enabled, deletes, off_reason, scopes) VALUES (n.report, n.enabled, n.deletes, n.off_reason, n.scopes)`)
  const kept = await reportsWithHistory(sql)
  for (const { report, history } of states) {
    if (history === undefined || history.on === kept.has(report)) continue
    if (history.on) await renameReservedColumns(sql, reportOf(report))
    await switchHistory(sql, { report, ...history })
  }
  for (const { report, enabled } of states) {
    if (!enabled && reportOf(report).perRecord !== undefined) await forgetCoverage(sql, report, [])
  }
}

export interface Pause {
  readonly report: ReportName
  readonly code: string
  readonly reason: string
  readonly cure: string
  /** Identifies the API client and its permissions when the pause began. */
  readonly client: string
}

export async function recordPause(sql: Sql, pause: Pause, now: Instant): Promise<void> {
  const state = `tidemark.report_states WHERE report = ${text(pause.report)}`
  if ((await countOf(sql, state)) === 0)
    await recordReportStates(sql, [{ report: pause.report, enabled: true, offReason: undefined }])
  await sql.run(`
    UPDATE tidemark.report_states SET paused_code = ${text(pause.code)}, paused_reason = ${text(pause.reason)},
      paused_cure = ${text(pause.cure)}, paused_with = ${text(pause.client)}, paused_at = ${time(now)}
    WHERE report = ${text(pause.report)}`)
}

export async function pauses(sql: Pick<Sql, 'rows'>): Promise<Pause[]> {
  return sql.rows<Pause>(`
    SELECT report, paused_code AS code, paused_reason AS reason, paused_cure AS cure, paused_with AS client
    FROM tidemark.report_states WHERE paused_code IS NOT NULL`)
}

/** Ends pauses. With `onlyRefused`, keeps the pauses that an operator requested. */
export async function clearPauses(sql: Sql, named: readonly ReportName[], { onlyRefused = false } = {}) {
  const refused = (await pauses(sql)).filter(({ code }) => code !== 'REPORT_PAUSED').map(({ report }) => report)
  const resumed = onlyRefused ? named.filter((report) => refused.includes(report)) : named
  if (resumed.length === 0) return []
  // All reports use the same credentials, so the CREDENTIALS_REFUSED pauses of other reports end too.
  await sql.run(`
    UPDATE tidemark.report_states
    SET paused_code = NULL, paused_reason = NULL, paused_cure = NULL, paused_with = NULL, paused_at = NULL
    WHERE report IN (${resumed.map(text).join(', ')}) OR paused_code = 'CREDENTIALS_REFUSED';
    UPDATE tidemark.skipped_records SET ask_again_at = '-infinity' WHERE report IN (${resumed.map(text).join(', ')})`)
  return resumed
}

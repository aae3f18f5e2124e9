/** Records which reports run, which are paused, and which have a history. */
import { type ReportName, reportNames, reportOf } from '../../../schema/index.ts'
import type { Instant } from '../../instant.ts'
import { countOf, orNull, type Sql, text, time } from '../database/sql.ts'
import { reportsWithHistory, switchHistory } from '../tables/versions.ts'
import { forgetCoverage } from './coverage.ts'

export interface ReportStateRow {
  readonly report: ReportName
  readonly enabled: boolean
  readonly offReason: string | undefined
  /** The scopes (currencies) that are configured. Undefined means all. */
  readonly scopes?: readonly string[] | undefined
  /** True if requests have filters. Then the absence of a row does not prove its deletion. */
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
  const off = "enabled = false, off_reason = 'no file in reports_from declares it'"
  const isGone = `enabled AND report NOT IN (${reportNames.map(text).join(', ')})`
  await sql.run(`UPDATE tidemark.report_states SET ${off} WHERE ${isGone}`)
  const kept = await reportsWithHistory(sql)
  for (const { report, history } of states) {
    if (history === undefined || history.on === kept.has(report)) continue
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

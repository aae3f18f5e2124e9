/** Reads the state of each report from the tables of schema `tidemark`: mark, last run, and why it does not run. */
import { z } from 'zod'
import { isKnown, Report, reportNames, type ReportName } from '../../schema/index.ts'
import { advisedOverlap } from '../units.ts'
import { formatInstant, type Instant, parseInstant, toMillis } from '../instant.ts'
import { budgetOf } from '../plan/requestBudget.ts'
import type { Database } from '../warehouse/database/duckdb.ts'
import { requestUse } from '../warehouse/books/requests.ts'
import { joinPerReport } from '../warehouse/books/bookFigures.ts'
import { iso, text } from '../warehouse/database/sql.ts'
import { type StatusConfig, coverageOf, ScopeCoverage, time } from './coverage.ts'

const count = z.int().min(0)

export const Problem = z.object({
  code: z.string(),
  message: z.string(),
  cure: z.string().describe('What to do about the error'),
})
export type Problem = z.infer<typeof Problem>

export const Standing = z.object({
  report: Report,
  state: z.enum(['done', 'failed', 'stopped', 'running', 'paused', 'off', 'never run']),
  mark: time.nullable(),
  lag_seconds: z.int().nullable(),
  last_run: time.nullable(),
  rows: count,
  deleted: count,
  rejected: count,
  misfits: count,
  deletes_visible: z.string().nullable(),
  not_running_because: z.string().nullable().describe('Why the report is disabled or paused'),
  error: Problem.nullable().describe('The error of the last run, if it failed'),
  reconcile_missed: count.nullable().describe('Rows that only the last reconcile found. Null: none has ended'),
  reconcile_differed: count
    .nullable()
    .default(null)
    .describe('Rows whose old version only the last reconcile replaced'),
  late_rows: count.nullable().describe('Null: late rows are not counted (audit reports, reports with filters)'),
  largest_lateness_seconds: z.number().nullable(),
  advised_overlap: z.string().nullable().describe('The overlap to set, such as 15m. Null: the setting is enough'),
  future_rows: count.nullable().describe('Rows with a future modification time. Null: the report has no such times'),
  unstamped_rows: count.nullable().describe('Rows without a modification time'),
  skipped_records: z.string().nullable().describe('Audit records that cannot be read, such as 17 (REPORT_FORBIDDEN)'),
  not_counted_because: z.string().nullable().describe('Why rows are not counted for a day. Null: nothing stopped it'),
  requests: z
    .object({ used: count, needed: z.number(), forecast: z.number() })
    .extend({ planned_ms: z.number().nullable(), due: time.nullable() })
    .nullable()
    .describe('Requests in 24 hours. planned_ms: time between two runs that keeps the budget. Null: as configured'),
  coverage: z.array(ScopeCoverage),
  explained: z.string().nullable().describe('The state of the report in words'),
})
/** The state of one report. Times are strings such as `2026-01-31T06:00:00Z`. */
export interface Standing extends z.infer<typeof Standing> {}

/** SQL that returns the error of a run as a `Problem`. */
export const PROBLEM = `CASE WHEN error_code IS NOT NULL THEN {code: error_code, message: coalesce(error, ''), cure: coalesce(cure, '')} END`

interface Row extends Omit<Standing, 'state' | 'advised_overlap' | 'requests' | 'coverage'> {
  readonly enabled: boolean | null
  readonly last_state: Standing['state'] | null
}

const standingsSql = (registry: string) => `
  SELECT report, ${iso('f.mark')} AS mark, round((epoch_us(now()) - epoch_us(f.mark)) / 1e6)::BIGINT AS lag_seconds,
    ${iso('f.last_run')} AS last_run, f.last_state, coalesce(f.rows, 0) AS rows, coalesce(f.deleted, 0) AS deleted,
    coalesce(f.rejected, 0) AS rejected, coalesce(f.misfits, 0) AS misfits, f.deletes_visible, f.enabled,
    f.not_running_because, CASE f.last_state WHEN 'failed' THEN r.error END AS error, f.reconcile_missed, f.reconcile_differed, f.late_rows, epoch(f.largest_lateness) AS largest_lateness_seconds,
    f.future_rows, f.unstamped_rows, f.skipped_records, f.explained,
    (SELECT max(stopped) FROM tidemark.countings n WHERE n.report = registry.report) AS not_counted_because
  FROM unnest(${registry}) AS registry (report) LEFT JOIN tidemark.freshness f USING (report)
  ${joinPerReport('r', `arg_max(${PROBLEM}, ended_at) AS error`, "runs WHERE state = 'failed'")}
  ORDER BY list_position(${registry}, report)`

export async function standingsOf(database: Pick<Database, 'rows'>, config: StatusConfig): Promise<Standing[]> {
  const rows = await database.rows<Row>(standingsSql(`[${reportNames.map(text).join(', ')}]`))
  const coverage = await coverageOf(database, config)
  // A file with an older layout has no table of requests, so this query fails there.
  const plan = budgetOf(await requestUse(database).catch(() => []), config)
  const requests = new Map(
    plan.map(({ report, plannedMs, dueAt, used, needed, forecast }) => [
      report,
      { used, needed, forecast, planned_ms: plannedMs, due: dueAt && formatInstant(dueAt) },
    ]),
  )
  return rows.map(({ enabled: wasEnabled, last_state: lastState, ...row }) => {
    const { enabled, offReason = null, overlapMs } = config.reports[row.report]
    const because = enabled ? (wasEnabled === true ? row.not_running_because : null) : offReason
    return {
      ...row,
      state: enabled ? (because === null ? (lastState ?? 'never run') : 'paused') : 'off',
      not_running_because: because,
      advised_overlap: advisedOverlap((row.largest_lateness_seconds ?? 0) * 1_000, overlapMs) ?? null,
      requests: requests.get(row.report) ?? null,
      coverage: coverage.get(row.report) ?? [],
    }
  })
}

type ScheduledTick = { readonly report: ReportName; readonly work: string; readonly atMs: number }

/** Returns the scheduled runs, in which incremental runs are later if the request budget delays them. */
export const ticksInBudget = <T extends ScheduledTick>(ticks: readonly T[], standings: readonly Standing[]): T[] =>
  ticks.map((tick) => {
    const due = standings.find(({ report }) => report === tick.report)?.requests?.due
    if (tick.work !== 'incremental' || !due) return tick
    return { ...tick, atMs: Math.max(tick.atMs, toMillis(parseInstant(due) as Instant)) }
  })

export async function marksOf(database: Pick<Database, 'rows'>): Promise<ReadonlyMap<ReportName, Instant>> {
  const rows = await database.rows<{ report: ReportName; mark: Instant }>(
    'SELECT report, epoch_us(mark) AS mark FROM tidemark.freshness WHERE mark IS NOT NULL',
  )
  return new Map(rows.filter(isKnown).map(({ report, mark }) => [report, mark]))
}

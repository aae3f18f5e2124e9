/** Reads how far each report was read, and its counts, for metrics, notices and `tidemark.freshness`. */
import { isKnown, type ReportName } from '../../../schema/index.ts'
import type { Instant } from '../../instant.ts'
import { type BudgetSettings, budgetOf, hasBudget } from '../../plan/requestBudget.ts'
import { WINDOW_MARKS } from '../../plan/marks.ts'
import { requestUse } from './requests.ts'
import { type Sql, type WithNulls, withoutNulls, text } from '../database/sql.ts'

/** The advice to raise `overlap` is based on the rows that were late in this many days. */
export const LATE_DAYS = 30

/** Returns SQL that is true for a configured scope (currency). The query must join `tidemark.report_states` as `s`. */
export const isConfigured = (scope: string): string => `(s.scopes IS NULL OR list_contains(s.scopes, ${scope}))`

/** SQL that is true for a mark `m` up to which all rows were read, unlike other kinds of marks. */
export const IS_WINDOW_MARK = `m.mark IN (${WINDOW_MARKS.map(text).join(', ')})`

export const joinPerReport = (alias: string, columns: string, from: string): string =>
  `LEFT JOIN (SELECT report, ${columns} FROM tidemark.${from} GROUP BY report) ${alias} USING (report)`

/**
 * SQL that joins counts of rejected rows as `j`, counts of misfits as `v`, results of the last reconcile as `q`, and marks
 * as `m`. A report's mark is the oldest mark of its currencies (NULL if one is unread), or its newest audit mark.
 */
export const JOIN_FIGURES = `
  LEFT JOIN (
    SELECT m.report, CASE WHEN bool_or(m.mark = 'since') THEN max(m.value)
      WHEN count(*) >= coalesce(any_value(len(s.scopes)), 0) THEN min(m.value) END AS mark
    FROM tidemark.marks m JOIN tidemark.report_states s USING (report)
    WHERE ${IS_WINDOW_MARK} AND ${isConfigured('m.scope')} GROUP BY m.report) m USING (report)
  ${joinPerReport('j', 'count(*) FILTER (dismissed_at IS NULL) AS rejected, count(dismissed_at) AS dismissed', 'rejected_rows')}
  ${joinPerReport('v', 'count(*) AS misfits', 'misfits')}
  LEFT JOIN (
    SELECT report, max(ended_at) AS last_reconcile, sum(missed)::BIGINT AS reconcile_missed,
      sum(differed)::BIGINT AS reconcile_differed, sum(deleted)::BIGINT AS reconcile_deleted
    FROM (
      SELECT k.report, max(k.ended_at) AS ended_at, arg_max(k.missed, k.ended_at) AS missed,
        arg_max(k.differed, k.ended_at) AS differed, arg_max(k.deleted, k.ended_at) AS deleted
      FROM tidemark.reconciles k JOIN tidemark.report_states s USING (report)
      WHERE k.ended_at IS NOT NULL AND ${isConfigured('k.scope')} GROUP BY k.report, k.scope)
    GROUP BY report
  ) q USING (report)`

/** SQL: how deletions of the report `s` show. Events of the summary shape have no deletion flag. */
export const DELETES_VISIBLE = `CASE WHEN (SELECT arg_max(unflagged, load_id) FROM tidemark.loads d WHERE d.rows > 0 AND d.report = s.report) > 0
    THEN 'diff' ELSE s.deletes END AS deletes_visible`

export const joinLateRows = (alias: string, hours: number): string =>
  joinPerReport(
    alias,
    'sum(late)::BIGINT AS late_rows, max(lateness) AS largest_lateness',
    `loads WHERE late > 0 AND committed_at >= now() - INTERVAL ${hours} HOURS`,
  )

export interface BookFigures {
  readonly report: ReportName
  readonly mark: Instant | undefined
  readonly lastSuccess: Instant | undefined
  readonly rejected: number
  readonly misfits: number
  readonly isPaused: boolean
  readonly pausedCode: string | undefined
  readonly pausedReason: string | undefined
  /** Number of late rows in the last `LATE_NOTICE_HOURS` hours. */
  readonly lateRows: number
  readonly largestLatenessMs: number | undefined
  /** Number of rows that the last reconcile found missing or different, although their windows were read. */
  readonly missedRows: number
  /** The message of MASS_DELETE_STOPPED, if deletions were stopped. */
  readonly brakeMessage: string | undefined
  /** The time between two runs that keeps the budget of requests. Undefined if the report runs as configured. */
  readonly plannedMs: number | undefined
}

const LATE_NOTICE_HOURS = 24

const FIGURES = `
  SELECT s.report, epoch_us(m.mark) AS mark, epoch_us(r.success) AS "lastSuccess", coalesce(j.rejected, 0) AS rejected, coalesce(v.misfits, 0) AS misfits,
    s.paused_reason IS NOT NULL AS "isPaused", s.paused_code AS "pausedCode", s.paused_reason AS "pausedReason",
    coalesce(w.late_rows, 0) AS "lateRows", epoch_ms(w.largest_lateness) AS "largestLatenessMs", k.message AS "brakeMessage", coalesce(q.reconcile_missed + q.reconcile_differed, 0)::INTEGER AS "missedRows"
  FROM tidemark.report_states s
  ${JOIN_FIGURES}
  ${joinPerReport('r', 'max(ended_at) AS success', "runs WHERE state = 'done'")}
  ${joinLateRows('w', LATE_NOTICE_HOURS)}
  ${joinPerReport('k', 'max(stopped) AS message', 'countings WHERE failures = 0')}`

export async function bookFigures(database: Pick<Sql, 'rows'>, settings?: BudgetSettings): Promise<BookFigures[]> {
  const rows = await database.rows<WithNulls<BookFigures>>(FIGURES)
  const plan = settings && hasBudget(settings) ? budgetOf(await requestUse(database), settings) : []
  const plannedMs = new Map(plan.map((each) => [each.report, each.plannedMs ?? undefined]))
  const figures = rows.map(withoutNulls<BookFigures>).filter(isKnown)
  return figures.map((each) => ({ ...each, plannedMs: plannedMs.get(each.report) }))
}

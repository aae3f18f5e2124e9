/**
 * Figures of each report that metrics, notices and the view `tidemark.freshness` read. They follow from the books alone,
 * so reading them costs the same however many rows a warehouse has.
 */
import type { ReportName } from '../../../schema/index.ts'
import type { Instant } from '../../instant.ts'
import { READ_UP_TO } from '../../plan/marks.ts'
import type { Sql } from '../database/duckdb.ts'
import { text } from '../database/sqlText.ts'

/** Late rows older than this are ignored, so that the advice to raise `overlap` disappears after the cause is fixed. */
export const LATE_DAYS = 30

/** Returns the SQL condition that the scope is still configured. It needs `tidemark.report_states` as `s`. */
export const isConfigured = (scope: string): string => `(s.scopes IS NULL OR list_contains(s.scopes, ${scope}))`

/** SQL condition on `m`, a row of `tidemark.marks`: it is the time up to which its scope was read. */
export const IS_READ_UP_TO = `m.mark IN (${READ_UP_TO.map(text).join(', ')})`

/**
 * Query of the mark of each report. It is the lowest mark of its currencies, and NULL until each currency was read. The
 * records of an audit report are read one by one, so its mark is the highest of theirs.
 */
export const REPORT_MARKS = `
  SELECT m.report, CASE WHEN bool_or(m.mark = 'since') THEN max(m.value)
    WHEN count(*) >= coalesce(any_value(len(s.scopes)), 0) THEN min(m.value) END AS mark
  FROM tidemark.marks m JOIN tidemark.report_states s USING (report)
  WHERE ${IS_READ_UP_TO} AND ${isConfigured('m.scope')} GROUP BY m.report`

export interface BookFigures {
  readonly report: ReportName
  readonly mark: Instant | undefined
  /** The end of the last successful run of any kind. */
  readonly lastSuccess: Instant | undefined
  readonly rejected: number
  readonly isPaused: boolean
  readonly pausedCode: string | undefined
  readonly pausedReason: string | undefined
}

interface Row {
  readonly report: ReportName
  readonly mark: Instant | null
  readonly success: Instant | null
  readonly rejected: number
  readonly code: string | null
  readonly reason: string | null
}

const FIGURES = `
  SELECT s.report, epoch_us(m.mark) AS mark, epoch_us(r.success) AS success, coalesce(j.rejected, 0) AS rejected,
    s.paused_code AS code, s.paused_reason AS reason
  FROM tidemark.report_states s
  LEFT JOIN (${REPORT_MARKS}) m USING (report)
  LEFT JOIN (SELECT report, max(ended_at) AS success FROM tidemark.runs WHERE state = 'done' GROUP BY report) r USING (report)
  LEFT JOIN (SELECT report, count(*) AS rejected FROM tidemark.rejected_rows GROUP BY report) j USING (report)`

/** Returns the figures of each report that the books contain. */
export async function bookFigures(database: Pick<Sql, 'rows'>): Promise<BookFigures[]> {
  const rows = await database.rows<Row>(FIGURES)
  return rows.map(({ report, mark, success, rejected, code, reason }) => ({
    report,
    mark: mark ?? undefined,
    lastSuccess: success ?? undefined,
    rejected,
    isPaused: reason !== null,
    pausedCode: code ?? undefined,
    pausedReason: reason ?? undefined,
  }))
}

/**
 * What metrics and notices want to know of the books, again and again: only the books are read, never the rows, so that
 * it costs the same for a warehouse of any size.
 */
import type { ReportName } from '../../../schema/index.ts'
import type { Instant } from '../../instant.ts'
import { REPORT_MARKS } from './askedScopes.ts'
import type { Sql } from '../database/duckdb.ts'

export interface BookFigures {
  readonly report: ReportName
  readonly mark: Instant | undefined
  /** When a run of any kind last ended well. */
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

/** One for each report that the books know. */
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

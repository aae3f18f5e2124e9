/** The console's queries on the schema `tidemark`. */
import type { ReportName } from '../../schema/index.ts'
import { iso, text } from '../warehouse/database/sql.ts'
import { PROBLEM } from '../status/standing.ts'
import type { BookReader } from './backend.ts'
import type { Backfill, RejectedQuery, RejectedRow, Run, RunQuery } from './api/schemas.ts'

const RUN = `
  SELECT run_id, report, kind, state, ${iso('started_at')} AS started_at, ${iso('ended_at')} AS ended_at,
    epoch(ended_at - started_at) AS seconds, pages, rows, inserted, updated, deleted, rejected, coalesce(misfits, 0) AS misfits,
    ${PROBLEM} AS error
  FROM tidemark.runs`

export function runsOf(books: BookReader, { report, state, empty, before, limit }: RunQuery): Promise<Run[]> {
  const conditions = [
    ...(report === undefined ? [] : [`report = ${text(report)}`]),
    ...(state === undefined ? [] : [`state = ${text(state)}`]),
    ...(empty === undefined ? [] : ["(state <> 'done' OR rows > 0)"]),
    ...(before === undefined ? [] : [`started_at < ${text(before)}::TIMESTAMPTZ`]),
  ]
  const where = `WHERE ${['true', ...conditions].join(' AND ')}`
  // Runs that began at the same time are on one page, because the next page lists only runs that began earlier.
  const oldest = `(SELECT min(started_at) FROM (SELECT started_at FROM tidemark.runs ${where} ORDER BY started_at DESC LIMIT ${limit}))`
  return books.rows(`${RUN} ${where} AND runs.started_at >= ${oldest} ORDER BY runs.started_at DESC, run_id`)
}

export async function runOfId(books: BookReader, runId: string): Promise<Run | undefined> {
  return (await books.rows<Run>(`${RUN} WHERE run_id = ${text(runId)} LIMIT 1`))[0]
}

const RECENT_RUNS = 24

export async function recentRows(books: BookReader): Promise<ReadonlyMap<ReportName, readonly number[]>> {
  const rows = await books.rows<{ report: ReportName; rows: number }>(`
    SELECT report, rows FROM tidemark.runs WHERE kind = 'incremental' AND state = 'done'
    QUALIFY row_number() OVER (PARTITION BY report ORDER BY ended_at DESC) <= ${RECENT_RUNS} ORDER BY ended_at`)
  const found = Map.groupBy(rows, ({ report }) => report)
  return new Map([...found].map(([report, each]) => [report, each.map((row) => row.rows)]))
}

const MARKS_LISTED = 300

/** Computes a report's high-water mark after each recent run, because Tidemark stores only the last mark. */
export function marksOver(books: BookReader, report: ReportName, settleMs: number) {
  return books.rows<{ at: string; mark: string }>(`
    WITH ended AS (
      SELECT run_id, ended_at FROM tidemark.runs
      WHERE report = ${text(report)} AND kind = 'incremental' AND state = 'done' ORDER BY ended_at DESC LIMIT ${MARKS_LISTED}
    ), reached AS (
      SELECT e.ended_at, w.scope, max(w.until) AS until
      FROM ended e JOIN tidemark.loads l USING (run_id) JOIN tidemark.windows w USING (load_id)
      WHERE w.report = ${text(report)} GROUP BY ALL
    )
    SELECT ${iso('ended_at')} AS at, ${iso(`min(until) - INTERVAL ${Math.round(settleMs)} MILLISECONDS`)} AS mark
    FROM reached GROUP BY ended_at ORDER BY ended_at`)
}

const ROW_CHARACTERS_MAX = 20_000

export async function rejectedOf(books: BookReader, { report, limit, offset }: RejectedQuery) {
  const where = `WHERE dismissed_at IS NULL${report === undefined ? '' : ` AND report = ${text(report)}`}`
  const rows = await books.rows<RejectedRow>(`
    SELECT report, scope, key, reason, ${iso('observed_at')} AS observed_at,
      left("row"::VARCHAR, ${ROW_CHARACTERS_MAX}) AS "row", length("row"::VARCHAR) > ${ROW_CHARACTERS_MAX} AS cut
    FROM tidemark.rejected_rows ${where} ORDER BY load_id DESC, rowid LIMIT ${limit} OFFSET ${offset}`)
  const [counted] = await books.rows<{ total: number }>(`SELECT count(*) AS total FROM tidemark.rejected_rows ${where}`)
  return { total: counted?.total ?? 0, rows }
}

export const backfillsOf = (books: BookReader, limit: number): Promise<Backfill[]> =>
  books.rows<Backfill>(`
    SELECT b.backfill_id, b.report, ${iso('b.since')} AS since, ${iso('b.until')} AS until, b.state,
      ${iso('b.requested_at')} AS requested_at, ${iso('b.ended_at')} AS ended_at, b.windows,
      coalesce(w.done, 0) AS done, coalesce(w.failed, 0) AS failed, coalesce(w.rows, 0)::BIGINT AS rows, w.error
    FROM (SELECT * FROM tidemark.backfills ORDER BY requested_at DESC, backfill_id LIMIT ${limit}) b
    LEFT JOIN (
      SELECT backfill_id, count(*) FILTER (state = 'done') AS done, count(*) FILTER (state = 'failed') AS failed,
        sum(rows) AS rows, arg_min(error, number) FILTER (state = 'failed') AS error
      FROM tidemark.backfill_windows GROUP BY backfill_id
    ) w USING (backfill_id)
    ORDER BY b.requested_at DESC, b.backfill_id`)

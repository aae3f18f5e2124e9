/** Reads and writes `tidemark.requests`: how many requests were sent to the service. */
import { reportNames } from '../../../schema/index.ts'
import type { Instant } from '../../instant.ts'
import type { RequestEntry, RequestUse } from '../../plan/requestBudget.ts'
import { type Sql, text, time } from '../database/sql.ts'

export async function recordRequests(sql: Sql, entries: readonly RequestEntry[], at: Instant): Promise<void> {
  const rows = entries.map(({ report, kind }) => `(${text(report)}, ${text(kind)})`).join(', ')
  const counted = `SELECT ${time(at)}, report, kind, count(*) FROM (VALUES ${rows}) v(report, kind) GROUP BY ALL`
  if (rows !== '') await sql.run(`INSERT INTO tidemark.requests ${counted}`)
}

const MEASURED_DAYS = 7
const REQUESTS_ASSUMED = 2

/** Returns the requests of each report in the last day, and its changed rows per day without the largest run. */
export function requestUse(sql: Pick<Sql, 'rows'>, at?: Instant): Promise<RequestUse[]> {
  const since = (days: number) => `${at === undefined ? 'now()' : time(at)} - INTERVAL ${days} DAYS`
  return sql.rows<RequestUse>(`
    SELECT report, coalesce(used, 0)::BIGINT AS used, coalesce(others, 0)::BIGINT AS others,
      greatest(1, coalesce(pages, ${REQUESTS_ASSUMED}))::DOUBLE AS cost, coalesce(changes / days, 0)::DOUBLE AS changes, epoch_us(last) AS "lastStart"
    FROM unnest([${reportNames.map(text).join(', ')}]) registry (report) LEFT JOIN (
      SELECT report, sum(requests) AS used, sum(requests) FILTER (kind <> 'incremental') AS others
      FROM tidemark.requests WHERE counted_at > ${since(1)} GROUP BY report) USING (report)
    LEFT JOIN (
      SELECT report, median(pages) FILTER (state = 'done') AS pages, max(started_at) FILTER (state IN ('done', 'failed')) AS last,
        greatest(epoch(max(started_at) - min(started_at)), 3600) / 86400 AS days,
        sum(inserted + updated + deleted) - max(inserted + updated + deleted) AS changes
      FROM tidemark.runs WHERE kind = 'incremental' AND started_at > ${since(MEASURED_DAYS)} GROUP BY report) USING (report)`)
}

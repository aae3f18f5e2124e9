/** Reads what has changed in each report since a cursor, for messages to those who wait for new data. */
import { type ReportName, reportNames } from '../../../schema/index.ts'
import { formatInstant } from '../../instant.ts'
import { type Sql, text } from '../database/sql.ts'
import { bookFigures } from './bookFigures.ts'
import { cursorOf, loadOf } from './cursor.ts'

/** A message has the identifiers of at most this number of loads, the newest ones. Its cursors cover all loads. */
const LOADS_LISTED_MAX = 1_000

export interface NewDataRequest {
  /** A report without a cursor is reported from its beginning. */
  readonly cursors: Readonly<Partial<Record<ReportName, string | undefined>>>
  readonly reports?: readonly ReportName[] | undefined
}

type Counts = Readonly<Record<'inserted' | 'updated' | 'deleted' | 'children_written', number>>
type ChangedRow = Counts & { report: ReportName; ids: string; count: number; to: number }

/** Returns the reports that have changed since their cursors, in the order of their first changes. */
export async function changedReports(sql: Pick<Sql, 'rows'>, { cursors, reports = reportNames }: NewDataRequest) {
  const since = reports.map((report) => `(${text(report)}, ${loadOf(cursors[report]) ?? 0})`)
  const changed = await sql.rows<ChangedRow>(`
    SELECT report, sum(inserted)::BIGINT AS inserted, sum(updated)::BIGINT AS updated, sum(deleted)::BIGINT AS deleted,
      sum(children_written)::BIGINT AS children_written, count(*) AS count, max(load_id) AS "to",
      to_json(list_reverse(list(load_id ORDER BY load_id DESC)[:${LOADS_LISTED_MAX}]))::VARCHAR AS ids
    FROM tidemark.loads JOIN (VALUES ${since.join(', ')}) asked(report, since) USING (report)
    WHERE load_id > since AND inserted + updated + deleted + children_written > 0
    GROUP BY report ORDER BY min(load_id)`)
  const marks = new Map((await bookFigures(sql)).map(({ report, mark }) => [report, mark]))
  return changed.map(({ report, count, ids, to, ...rows }) => {
    const mark = marks.get(report)
    return {
      report,
      cursor: { from: cursors[report] ?? null, to: cursorOf(to) },
      rows,
      /** The published rows are complete up to this time; null if the report was never read to its end. */
      mark: mark === undefined ? null : formatInstant(mark),
      loads: { count, ids: JSON.parse(ids) as number[] },
    }
  })
}

export type ChangedReport = Awaited<ReturnType<typeof changedReports>>[number]

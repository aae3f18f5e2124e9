/** Reads what has changed in each report since a cursor. */
import { type ReportName, reportNames } from '../../../schema/index.ts'
import { formatInstant } from '../../instant.ts'
import { type Sql, text } from '../database/sql.ts'
import { bookFigures } from './bookFigures.ts'
import { type Cursor, currentCursor, CURSOR_SQL, loadOf, START } from './cursor.ts'

const LOADS_LISTED_MAX = 1_000

export interface NewDataRequest {
  /** How far the receiver has read each report. Default: the beginning. */
  readonly cursors: Readonly<Partial<Record<ReportName, Cursor | undefined>>>
  readonly reports?: readonly ReportName[] | undefined
}

type Count = 'inserted' | 'updated' | 'deleted' | 'children_written' | 'count'
type ChangedRow = Readonly<Record<Count, number>> & { report: ReportName; from: Cursor; ids: string }

/** Returns what changed since the cursors. An unknown cursor counts as `start`. */
export async function newDataSince(sql: Pick<Sql, 'rows'>, { cursors, reports = reportNames }: NewDataRequest) {
  const to = await currentCursor(sql)
  const known = reports.map((report) => [report, cursors[report] ?? START] as const)
  const asked = known.map(([report, cursor]) => `(${text(report)}, ${text(cursor)}, ${loadOf(cursor)})`)
  const changed = await sql.rows<ChangedRow>(`
    WITH asked AS (
      SELECT a.report, coalesce(l.load_id, 0) AS since, CASE WHEN l.load_id IS NULL THEN '${START}' ELSE cursor END AS "from"
      FROM (VALUES ${asked.join(', ')}) a(report, cursor, load)
      LEFT JOIN tidemark.loads l ON l.load_id = a.load AND ${CURSOR_SQL} = cursor)
    SELECT report, any_value("from") AS "from", sum(inserted)::BIGINT AS inserted, sum(updated)::BIGINT AS updated,
      sum(deleted)::BIGINT AS deleted, sum(children_written)::BIGINT AS children_written, count(*) AS count,
      to_json(list_reverse(list(load_id ORDER BY load_id DESC)[:${LOADS_LISTED_MAX}]))::VARCHAR AS ids
    FROM tidemark.loads JOIN asked USING (report)
    WHERE load_id > since AND inserted + updated + deleted + children_written > 0
    GROUP BY report ORDER BY min(load_id)`)
  const marks = new Map((await bookFigures(sql)).map(({ report, mark }) => [report, mark]))
  const changedReport = ({ report, from, count, ids, ...rows }: ChangedRow) => {
    const mark = marks.get(report)
    return {
      report,
      cursor: { from, to },
      rows,
      /** Null if the report was never read to the end. */
      mark: mark === undefined ? null : formatInstant(mark),
      loads: { count, ids: JSON.parse(ids) as number[] },
    }
  }
  return { to, changed: changed.map(changedReport) }
}

export type NewData = Awaited<ReturnType<typeof newDataSince>>
export type ChangedReport = NewData['changed'][number]

/** Records proven windows, which loads store, and the marks that follow from them. */
import type { Declaration } from '../../../schema/report.ts'
import type { Instant } from '../../instant.ts'
import type { LastWindow } from '../../plan/lateness.ts'
import type { MarkName } from '../../plan/marks.ts'
import { onlyRow, orNull, type Sql, text, time } from '../database/sql.ts'
import { IS_WINDOW_MARK } from './bookFigures.ts'
import { cover } from './coverage.ts'

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

/** Returns the high-water mark of a scope, such as a currency, and the window and run that set it. */
export async function lastWindowOf(sql: Sql, report: string, scope: string): Promise<LastWindow> {
  const isHere = `report = ${text(report)} AND scope = ${text(scope)}`
  const [row] = await sql.cachedRows<{ mark: Instant; loadId: number; updatedAt: Instant }>(`
    SELECT epoch_us(value) AS mark, load_id AS "loadId", epoch_us(updated_at) AS "updatedAt"
    FROM tidemark.marks m WHERE ${isHere} AND ${IS_WINDOW_MARK}`)
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

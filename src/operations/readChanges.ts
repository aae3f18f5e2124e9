/** Opens the change feed of the published copy, for `tidemark changes` and `GET /api/changes`. */
import { z } from 'zod'
import { Report, type ReportName } from '../../schema/index.ts'
import type { Config } from '../config/config.ts'
import { onAbort } from '../signals.ts'
import { checkCursor, feedTablesOf } from '../warehouse/books/changeFeed.ts'
import { currentCursor, parseCursor, START } from '../warehouse/books/cursor.ts'
import { jsonOf, objectOf } from '../warehouse/database/cells.ts'
import type { TakeRows } from '../warehouse/database/duckdb.ts'
import { openPublished } from '../wiring/published.ts'

export const ChangesQuery = z.strictObject({
  report: z.union([Report, z.array(Report)]).describe('Given once for each report'),
  since: z.string().default(START).describe('The cursor of the last answer, start, or now'),
  children: z.stringbool().default(false).describe('Also the changes of child tables'),
})

export interface ChangesRequest extends Omit<z.infer<typeof ChangesQuery>, 'report'> {
  readonly reports: readonly ReportName[]
}

export const ChangeList = z.object({
  changes: z.array(z.object({ table: z.string(), change: z.string(), row: z.looseObject({}) })),
  cursor: z.string().describe('The cursor to pass next'),
})

/** The changes since a cursor. Dispose of this object after reading. */
export interface Changes extends AsyncDisposable {
  /** The cursor for the next call. Store it after the changes have been processed. */
  readonly cursor: string
  /** Passes changes to `take` as JSON. Example: `{"table":"events","change":"insert","row":{"event_id":1}}`. */
  readonly read: (take: (changes: readonly string[]) => Promise<void>) => Promise<void>
  /** Passes the changes of the first requested report to `take` as rows. The first column is `_change`. */
  readonly readCells: (take: TakeRows) => Promise<readonly string[]>
  /** Writes the same rows as `readCells` to a Parquet file. Returns the number of rows. */
  readonly writeParquet: (file: string) => Promise<number>
}

/** Opens a snapshot of the published copy. Throws USAGE_INVALID, CURSOR_EXPIRED or WAREHOUSE_MISSING. */
export async function openChanges(config: Config, request: ChangesRequest, signal: AbortSignal): Promise<Changes> {
  const reports = [...new Set(request.reports)]
  await using opening = new AsyncDisposableStack()
  const copy = opening.use(await openPublished(config))
  opening.use(onAbort(signal, () => copy.interrupt()))
  // A lake can change between two reads, so a transaction makes all reads see one snapshot.
  await copy.run('BEGIN')
  const cursor = await currentCursor(copy)
  const since = request.since === 'now' ? cursor : parseCursor(request.since)
  await checkCursor(copy, since, reports)
  const tables = reports
    .flatMap((report) => feedTablesOf(report).slice(0, request.children ? undefined : 1))
    .map(({ name: table }) => ({ table, sql: `FROM changes.${table}('${since}')` }))
  const read: Changes['read'] = async (take) => {
    for (const { table, sql } of tables) {
      await copy.query(sql, async (rows, [, ...columns]) => {
        const objects = rows.map(([change = null, ...row]) => {
          const values = objectOf(columns.map((column, n) => [column, row[n] ?? null]))
          return `{"table":"${table}","change":${jsonOf(change)},"row":${jsonOf(values)}}`
        })
        return take(objects).then(() => true)
      })
    }
  }
  const sql = tables[0]?.sql ?? ''
  const readCells = (take: TakeRows) => copy.query(sql, take)
  const writeParquet = (file: string) => copy.writeParquet(sql, file)
  const opened = opening.move()
  return { cursor, read, readCells, writeParquet, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/** Commits one load: after staging, one transaction writes rows, rejected rows, columns, windows, run and marks. */
import { assert, SyncError } from '../../errors.ts'
import { tableOf } from '../../../schema/tables.ts'
import { completeWindow } from '../books/backfills.ts'
import { closeWindows, nextLoadId } from '../books/books.ts'
import { recordRequests } from '../books/requests.ts'
import type { Database } from '../database/duckdb.ts'
import type { Sql } from '../database/sql.ts'
import { compactionsFor } from '../database/settings.ts'
import { historyOf } from '../tables/versions.ts'
import { recordChangedRecords } from './changedRecords.ts'
import { makeColumns, planColumns } from './columnPlan.ts'
import { type LoadInput, type LoadPlace, type LoadResult, NO_RULES } from './loadInput.ts'
import type { Loading, Reading, StagedRows } from './loading.ts'
import { insertNew, mayBeAllNew, NotAllNew } from './newRows.ts'
import { recordReconcileStep } from './reconcile.ts'
import { recordLoad } from './recordLoad.ts'
import { updateRejectedRows } from './rejectedRows.ts'
import { throwAsLoadRefused, stage } from './stage.ts'
import { splitRows } from './rowFiles.ts'
import { writeRows } from './writeRows.ts'
import { discoveredColumns } from '../tables/tables.ts'

/** Commits one load, without staging if all rows are new. Throws LOAD_REFUSED, FENCED and errors of the database. */
export async function load(place: LoadPlace, input: LoadInput): Promise<LoadResult> {
  const { database, numberMark } = place
  const { report, segment, rules = NO_RULES } = input
  const table = tableOf(report)
  const loading: Loading = { input, report, table, rules, numberMark, ...planColumns(place, table, input) }
  if (segment === undefined) return commit(place, loading, {})
  await using rows = await splitRows(segment)
  const reading: Reading = { ...loading, segment, files: rows.files }
  // Long rows are read from several files. If DuckDB cached operators, it would keep the rows of all files in memory.
  if (rows.isSplit) await database.run('SET enable_caching_operators = false')
  try {
    if (await mayBeAllNew(database, reading)) {
      const loaded = await commit(place, loading, { allNew: reading }).catch(ignoreNotAllNew)
      if (loaded !== undefined) return loaded
    }
    const staged = await stage(database, reading).catch(throwAsLoadRefused(reading))
    return await commit(place, loading, { staged })
  } finally {
    await database.run(DROP_TEMPORARY)
    if (rows.isSplit) await database.run('SET enable_caching_operators = true')
  }
}

function ignoreNotAllNew(error: unknown): undefined {
  if (!(error instanceof NotAllNew)) throw error
}

/** These statements free the memory of a load's temporary tables at once. */
const DROP_TEMPORARY = ['staged', 'newest', 'child_items', 'held', 'refusals', 'found_misfits']
  .map((table) => `DROP TABLE IF EXISTS temp.main.${table};`)
  .join(' ')

interface LoadRows {
  /** Set if all rows are probably new. The load then inserts them from their file without staging. */
  readonly allNew?: Reading
  readonly staged?: StagedRows
}

/** Writes and commits the load in one transaction. Throws `NotAllNew` if a row of `allNew` is not new. */
async function commit(place: LoadPlace, load: Loading, { allNew, staged }: LoadRows): Promise<LoadResult> {
  const { database, begun } = place
  const { input, report } = load
  const result = await database.transaction(async (sql) => {
    await place.fences.check(sql, input.fence)
    await place.beforeWriting?.(sql)
    const loadId = await nextLoadId(sql)
    const changes = await makeColumns(sql, load, loadId)
    const writing = { ...load, loadId, history: await historyOf(sql, report.name), staged }
    const merged = allNew ? await insertNew(sql, { ...allNew, loadId }) : await writeRows(sql, writing)
    await updateRejectedRows(sql, writing)
    await recordChangedRecords(sql, writing)
    if (input.closes) await closeWindows(sql, [{ report, loadId, now: input.now, windows: input.closes }])
    if (input.requests) await recordRequests(sql, input.requests, input.serviceNow ?? input.now)
    if (input.completes) await completeWindow(sql, input.completes, loadId)
    if (input.kind === 'reconcile') await recordReconcileStep(sql, writing, { ...input.reconcile, ...merged })
    const late = input.lateMs === undefined ? merged.late : lateRowsOfCount(merged.inserted, input.lateMs)
    const counts = { rows: input.segment?.rows ?? 0, rejected: staged?.rejected ?? 0 }
    const figures = { ...merged, ...counts, late, loadId }
    await recordLoad(sql, writing, { ...figures, begun })
    return { ...figures, changes }
  }, compactionsFor)
  const [kept] = await database.rows('SELECT 1 FROM tidemark.loads WHERE load_id = $1', [result.loadId])
  assert(kept !== undefined, `load ${result.loadId} was committed but is not there`)
  return result
}

const lateRowsOfCount = (inserted: number, lateMs: number): LoadResult['late'] => ({
  late: inserted,
  latenessMs: inserted > 0 ? lateMs : undefined,
})

const TRIES_MAX = 10

/** Commits one load into a lake, and repeats it if other processes change columns. Throws LAKE_BUSY. */
export async function loadIntoLake(
  database: Database,
  known: Omit<LoadPlace, 'database' | 'discovered' | 'beforeWriting'>,
  input: LoadInput,
): Promise<LoadResult> {
  // A load without rows needs no plan of columns.
  if (input.segment === undefined) return load({ ...known, database, discovered: new Map() }, input)
  for (let tries = 1; ; tries += 1) {
    const discovered = await discoveredColumns(database)
    const planned = layoutOf(discovered)
    const changed = new SyncError('LAKE_BUSY', `${database.path}: other loaders changed columns, ${TRIES_MAX} times`, {
      cure: 'This load stored nothing; the next run reads its rows again.',
    })
    const beforeWriting = async (sql: Sql) => {
      if (layoutOf(await discoveredColumns(sql)) !== planned) throw changed
    }
    try {
      return await load({ ...known, database, discovered, beforeWriting }, input)
    } catch (error) {
      if (error !== changed || tries >= TRIES_MAX) throw error
    }
  }
}

const layoutOf = (discovered: Awaited<ReturnType<typeof discoveredColumns>>): string =>
  JSON.stringify([...discovered].toSorted(([a], [b]) => a.localeCompare(b)))

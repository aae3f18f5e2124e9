/** Commits one load: after staging, one transaction writes rows, rejected rows, columns, windows, run and marks. */
import { assert, SyncError } from '../../errors.ts'
import { type ReportTable, tableOf } from '../../../schema/tables.ts'
import { completeWindow } from '../books/backfills.ts'
import { closeWindows, nextLoadId } from '../books/books.ts'
import { recordAudited } from '../books/auditRecords.ts'
import type { Database } from '../database/duckdb.ts'
import type { Sql } from '../database/sql.ts'
import { compactionsFor } from '../database/settings.ts'
import { recordChangedRecords } from './changedRecords.ts'
import { type ColumnPlan, makeColumns, planColumns } from './columnPlan.ts'
import { type LoadInput, type LoadPlace, type LoadResult, goneKeysOf, readsUnmodified } from './loadInput.ts'
import { mayBeAllNew, NotAllNew } from './newRows.ts'
import { recordReconcileStep } from './reconcile.ts'
import { recordLoad } from './recordLoad.ts'
import { deleteCorrectedRows, recordRejected, deleteRejectedBatch } from './rejectedRows.ts'
import { NO_RULES, throwAsLoadRefused, stage, type StagedRows } from './stage.ts'
import { splitRows } from './rowFiles.ts'
import { type LoadRows, writeRows } from './writeRows.ts'
import { discoveredColumns } from '../tables/tables.ts'

/** Commits one load, without staging if all rows are new. Throws LOAD_REFUSED, FENCED and errors of the database. */
export async function load(place: LoadPlace, input: LoadInput): Promise<LoadResult> {
  const { database, numberMark } = place
  const { report, segment, rules = NO_RULES } = input
  const table = tableOf(report)
  const plan = planColumns(place, table, input)
  const discovered = plan.columns(table.name)
  await using rows = segment && (await splitRows(segment))
  const files = rows?.files ?? []
  const parts = segment && { report, table, segment, files, discovered, numberMark, rules, discoveredOf: plan.columns }
  // Long rows are read from several files. If DuckDB cached operators, it would keep the rows of all files in memory.
  const isSplit = rows?.isSplit === true
  if (isSplit) await database.run('SET enable_caching_operators = false')
  try {
    if (parts !== undefined && onlyWrites(input) && isFlagged(input) && (await mayBeAllNew(database, parts))) {
      const loaded = await commit(place, { input, table, plan, rows: { allNew: parts } }).catch(ignoreNotAllNew)
      if (loaded !== undefined) return loaded
    }
    const staged = parts && (await stage(database, parts).catch(throwAsLoadRefused(parts)))
    return await commit(place, { input, table, plan, rows: { staged } })
  } finally {
    if (segment !== undefined) await database.run(DROP_TEMPORARY)
    if (isSplit) await database.run('SET enable_caching_operators = true')
  }
}

/** Returns true for a load that only writes rows. Any other load compares or counts rows, so it stages them first. */
function onlyWrites(input: LoadInput): boolean {
  if (input.kind === 'audit' || input.kind === 'reconcile' || input.kind === 'retry') return false
  if (input.kind === 'changes' && input.previousRead !== undefined) return false
  const { gone = [], followers = [] } = input
  return gone.length === 0 && followers.length === 0
}

/** Returns false if some rows lack the deletion flag. Such a load is staged, so that these rows can be counted. */
const isFlagged = ({ report: { deletedFlag: flag }, segment }: LoadInput): boolean =>
  flag === undefined || segment === undefined || segment.catalog.shapes.every((shape) => shape.includes(flag))

function ignoreNotAllNew(error: unknown): undefined {
  if (!(error instanceof NotAllNew)) throw error
}

/** These statements free the memory of a load's temporary tables at once. */
const DROP_TEMPORARY = ['staged', 'newest', 'fresh', 'child_items', 'numbered', 'held', 'refusals', 'found_misfits']
  .map((table) => `DROP TABLE IF EXISTS temp.main.${table};`)
  .join(' ')

/** Writes and commits the load in one transaction. Throws `NotAllNew` if a row of `rows.allNew` is not new. */
async function commit(
  place: LoadPlace,
  { input, table, plan, rows }: { input: LoadInput; table: ReportTable; plan: ColumnPlan; rows: LoadRows },
): Promise<LoadResult> {
  const { database, numberMark, begun } = place
  const { report, segment } = input
  const { staged } = rows
  const result = await database.transaction(async (sql) => {
    await place.fences.check(sql, input.kind === 'retry' ? undefined : input.fence)
    await place.beforeWriting?.(sql)
    const loadId = await nextLoadId(sql)
    const changes = await makeColumns(sql, plan, { report: report.name, loadId })
    const merged = await writeRows(sql, { input, table, plan, numberMark, loadId }, rows)
    await updateRejectedRows(sql, { input, staged, loadId })
    await updateFollowedRecords(sql, { input, staged })
    if (input.kind !== 'retry') await closeWindows(sql, [{ report, loadId, now: input.now, windows: input.closes }])
    if (input.kind === 'backfill' && input.completes) await completeWindow(sql, input.completes, loadId)
    if (input.kind === 'reconcile')
      await recordReconcileStep(sql, { report, staged, progress: input.reconcile, merged })
    const late = lateRowsOfCount(input, merged.inserted) ?? merged.late
    const figures = { ...merged, late, loadId, rows: segment?.rows ?? 0, rejected: staged?.rejected ?? 0 }
    await recordLoad(sql, { input, begun, staged }, figures)
    return { ...figures, changes }
  }, compactionsFor)
  await assertCommitted(database, result)
  return result
}

const lateRowsOfCount = (input: LoadInput, inserted: number) =>
  input.kind === 'reread' && input.lateMs !== undefined
    ? { late: inserted, latenessMs: inserted > 0 ? input.lateMs : undefined }
    : undefined

interface StagedLoad {
  readonly input: LoadInput
  readonly staged: StagedRows | undefined
}

async function updateRejectedRows(
  sql: Sql,
  { input, staged, loadId }: StagedLoad & { readonly loadId: number },
): Promise<void> {
  const { report, rules } = input
  if (input.kind === 'retry') await deleteRejectedBatch(sql, report.name, input.batch)
  if (staged === undefined) return
  const rejection = {
    report,
    excludePayload: rules?.excludePayload === true,
    knowsGone: goneKeysOf(input) !== undefined,
  }
  if (staged.rejected > 0) await recordRejected(sql, rejection, loadId)
  await deleteCorrectedRows(sql, { report, staged })
}

/** A load of an audit report stores which trails were read. Any other load stores which rows have changed. */
async function updateFollowedRecords(sql: Sql, { input, staged }: StagedLoad): Promise<void> {
  const { report } = input
  if (input.kind === 'audit') return recordAudited(sql, report.name, input.audited)
  const { followers = [] } = input
  if (staged !== undefined)
    await recordChangedRecords(sql, { report, staged, followers, rereads: readsUnmodified(input) })
}

async function assertCommitted(database: Database, { loadId }: Pick<LoadResult, 'loadId'>): Promise<void> {
  const [kept] = await database.rows('SELECT 1 FROM tidemark.loads WHERE load_id = $1', [loadId])
  assert(kept !== undefined, `load ${loadId} was committed but is not there`)
}

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

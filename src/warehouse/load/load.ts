/** Commits one load in one transaction, after its rows are staged. */
import { assert, SyncError } from '../../errors.ts'
import { tableOf } from '../../../schema/tables.ts'
import { recordAudited } from '../books/auditRecords.ts'
import { completeWindow } from '../books/backfills.ts'
import { closeWindows, nextLoadId } from '../books/windows.ts'
import { recordRequests } from '../books/requests.ts'
import { type Sql, name, names, text } from '../database/sql.ts'
import { compactionsFor } from '../database/settings.ts'
import { historyStartOf } from '../tables/versions.ts'
import { mergeEntries } from './auditEntries.ts'
import { mergeChildren } from './children.ts'
import { changeColumns, isPlanOutdated, planColumns } from './columnPlan.ts'
import { recordChangedRecords } from './followers.ts'
import type { LoadCounts, LoadDependencies, LoadInput, LoadResult } from './loadInput.ts'
import { NO_COUNTS, NO_RULES } from './loadInput.ts'
import type { FileLoad, LoadTransaction, PlannedLoad, StagedRows } from './loadSteps.ts'
import { addCounts, insertRowsSql, merge } from './merge.ts'
import { CREATE_FOUND_MISFITS, recordMisfits } from './misfits.ts'
import { recordReconcileStep } from './reconcile.ts'
import { recordLoad } from './recordLoad.ts'
import { updateRejectedRows } from './rejectedRows.ts'
import { mergeInOrder } from './rowVersion.ts'
import { readRows, stage, throwAsLoadRefused } from './stage.ts'
import { splitRows } from './rowFiles.ts'

const COLUMN_CONFLICTS_MAX = 10

/** Commits one load. Throws errors such as LOAD_REFUSED and FENCED. */
export async function load(dependencies: LoadDependencies, input: LoadInput): Promise<LoadResult> {
  for (let conflicts = 1; ; conflicts += 1) {
    try {
      return await loadOnce(dependencies, input)
    } catch (error) {
      if (error !== COLUMNS_CHANGED) throw error
      if (conflicts < COLUMN_CONFLICTS_MAX) continue
      const what = `${dependencies.database.path}: other loaders changed columns, ${conflicts} times`
      throw new SyncError('LAKE_BUSY', what, { cure: 'This load stored nothing; the next run reads its rows again.' })
    }
  }
}

/** Tries to insert all rows as new, without staging. If one is not new, stages and merges all. */
async function loadOnce(dependencies: LoadDependencies, input: LoadInput): Promise<LoadResult> {
  const { database, numberPrefix } = dependencies
  const { report, segment, rules = NO_RULES } = input
  const table = tableOf(report)
  const planned = { input, report, table, rules, numberPrefix, ...(await planColumns(database, table, input)) }
  if (segment === undefined) return commit(dependencies, planned, {})
  await using rows = await splitRows(segment)
  const inFiles = { ...planned, segment, files: rows.files }
  // Cached operators would keep the rows of all files in memory.
  if (rows.isSplit) await database.run('SET enable_caching_operators = false')
  try {
    if (await mayBeAllNew(database, inFiles)) {
      const loaded = await commit(dependencies, planned, { allNew: inFiles }).catch((error: unknown) => {
        if (error !== NOT_ALL_NEW) throw error
      })
      if (loaded !== undefined) return loaded
    }
    const staged = await stage(database, inFiles).catch(throwAsLoadRefused(inFiles))
    return await commit(dependencies, planned, { staged })
  } finally {
    await database.run(DROP_TEMPORARY)
    if (rows.isSplit) await database.run('SET enable_caching_operators = true')
  }
}

const DROPPED = ['staged', 'newest', 'child_items', 'stored_children', 'stored_entries', 'rejections', 'found_misfits']
const DROP_TEMPORARY = DROPPED.map((table) => `DROP TABLE IF EXISTS temp.main.${table};`).join(' ')

type LoadRows = { readonly allNew?: FileLoad; readonly staged?: StagedRows }

async function commit(
  { database, fences, begun }: LoadDependencies,
  load: PlannedLoad,
  { allNew, staged }: LoadRows,
): Promise<LoadResult> {
  const { input, report } = load
  const result = await database.transaction(async (sql) => {
    await fences.check(sql, input.fence)
    if (database.isShared && (await isPlanOutdated(sql, load))) throw COLUMNS_CHANGED
    const loadId = await nextLoadId(sql)
    const changes = await changeColumns(sql, load, loadId)
    const writing = { ...load, loadId, history: await historyStartOf(sql, report.name), staged }
    const merged = allNew ? await insertNew(sql, { ...allNew, loadId }) : await writeRows(sql, writing)
    await updateRejectedRows(sql, writing)
    if (input.kind === 'audit') await recordAudited(sql, report.name, input.audited)
    else if (staged !== undefined) await recordChangedRecords(sql, { ...writing, staged })
    if (input.closes) await closeWindows(sql, [{ report, loadId, now: input.now, windows: input.closes }])
    if (input.requests) await recordRequests(sql, input.requests, input.serviceNow ?? input.now)
    if (input.completes) await completeWindow(sql, input.completes, loadId)
    if (input.kind === 'reconcile') await recordReconcileStep(sql, writing, { ...input.reconcile, ...merged })
    const counts = { rows: input.segment?.rows ?? 0, rejected: staged?.rejected ?? 0 }
    const figures = { ...merged, ...counts, late: lateRows(input, merged), loadId }
    await recordLoad(sql, writing, { ...figures, begun })
    return { ...figures, changes }
  }, compactionsFor)
  const [kept] = await database.rows('SELECT 1 FROM tidemark.loads WHERE load_id = $1', [result.loadId])
  assert(kept !== undefined, `load ${result.loadId} was committed but is not there`)
  return result
}

function lateRows({ lateMs }: LoadInput, { late, inserted }: LoadCounts): LoadCounts['late'] {
  if (lateMs === undefined) return late
  return { late: inserted, latenessMs: inserted > 0 ? lateMs : undefined }
}

/** Rolls the load back, so that `load` plans its columns again. */
const COLUMNS_CHANGED = new Error('another process has changed columns')

/** Thrown to roll the load back, so that `loadOnce` stages its rows and tries again. */
const NOT_ALL_NEW = new Error('a row is not new, or has a value that does not fit')

/** Returns whether all rows are probably new, judging by earlier loads of the report. */
async function mayBeAllNew(sql: Sql, load: FileLoad): Promise<boolean> {
  const { report, segment } = load
  if (segment.rows === 0 || segment.rejected.length + segment.collections.length > 0 || !onlyWrites(load)) return false
  const others = await sql.rows(`
    SELECT 1 FROM tidemark.loads WHERE report = ${text(report.name)} AND (rows <> inserted OR rejected > 0 OR misfits > 0) LIMIT 1`)
  return others.length === 0
}

/** Returns false for loads that must stage their rows, because they compare or count rows. */
function onlyWrites({ input, report: { deletedFlag: flag }, segment }: FileLoad): boolean {
  const { kind, previousRead, gone = [], followers = [] } = input
  if (kind === 'audit' || kind === 'reconcile' || kind === 'retry' || previousRead !== undefined) return false
  if (gone.length > 0 || followers.length > 0) return false
  return flag === undefined || segment.catalog.shapes.every((shape) => shape.includes(flag))
}

/** Inserts rows without staging and merging, in half the time. Used if all rows are new. */
async function insertNew(sql: Sql, load: FileLoad & { readonly loadId: number }): Promise<LoadCounts> {
  const { table, segment, loadId } = load
  const target = `main.${name(table.name)}`
  const key = `(${names(table.key)})`
  const insert = async () => {
    const { columns, sql: rows } = await readRows(sql, load)
    const fitting = `(${rows}) s WHERE s."~reason" IS NULL AND s."~misfits" IS NULL`
    // The SQL must not read `gone_keys`, because this table exists only if `gone` has keys.
    const noneGone = { ...load, input: { ...load.input, gone: undefined } }
    await sql.rowsInOrder(insertRowsSql(noneGone, { columns, rows: fitting }))
    return sql.rows<{ keys: number; held: number; deleted: number }>(`
      SELECT count(DISTINCT ${key}) AS keys, count(*) FILTER (is_deleted) AS deleted, (
        SELECT count(*) FROM ${target} WHERE _load_id IS DISTINCT FROM ${loadId}
          AND ${key} IN (SELECT ${key} FROM ${target} WHERE _load_id = ${loadId})) AS held
      FROM ${target} WHERE _load_id = ${loadId}`)
  }
  const [found] = await insert().catch(throwAsLoadRefused(load))
  // There are fewer keys if rows share a key or were not inserted.
  if (found === undefined || found.keys !== segment.rows || found.held > 0) throw NOT_ALL_NEW
  return { ...NO_COUNTS, inserted: segment.rows, deleted: found.deleted }
}

/** An audit load without rows can still delete stored entries. */
async function writeRows(sql: Sql, load: LoadTransaction): Promise<LoadCounts> {
  const { staged } = load
  const { entryWindows } = load.input
  if (staged === undefined)
    return entryWindows === undefined ? NO_COUNTS : { ...NO_COUNTS, ...(await mergeEntries(sql, load, entryWindows)) }
  const all = await mergeInOrder(sql, staged, async (rows) => {
    const some = { ...load, staged: { ...staged, rows } }
    await sql.run(CREATE_FOUND_MISFITS)
    const merged = entryWindows === undefined ? await merge(sql, some) : await mergeEntries(sql, some, entryWindows)
    const isAnyWritten = merged.inserted + merged.updated > 0
    const childrenWritten = isAnyWritten ? await mergeChildren(sql, some, merged.updated > 0) : 0
    return { ...merged, childrenWritten, misfits: await recordMisfits(sql, some) }
  })
  return all.reduce(addCounts)
}

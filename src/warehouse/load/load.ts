/** Commits one load in one transaction, after its rows are staged. */
import { assert, SyncError } from '../../errors.ts'
import { type ReportTable, tableOf } from '../../../schema/tables.ts'
import { changesFor, type ColumnChange, type ColumnContext, type SeenField } from '../../plan/columns.ts'
import { has, NESTED } from '../../plan/kinds.ts'
import { CLOCK_GRAIN_MS } from '../../plan/window.ts'
import { recordAudited } from '../books/auditRecords.ts'
import { completeWindow } from '../books/backfills.ts'
import { closeWindows, nextLoadId } from '../books/books.ts'
import { recordRequests } from '../books/requests.ts'
import type { Database } from '../database/duckdb.ts'
import { type Sql, name, names, text } from '../database/sql.ts'
import { compactionsFor } from '../database/settings.ts'
import { historyOf } from '../tables/versions.ts'
import { applyChanges, childColumns, discoveredColumns, recordChanges, reportColumns } from '../tables/tables.ts'
import { mergeEntries } from './auditEntries.ts'
import { mergeChildren } from './children.ts'
import { CHILD_DELETED_FIELD } from './items.ts'
import { type LoadCounts, type LoadInput, type LoadPlace, type LoadResult, NO_COUNTS, NO_RULES } from './loadInput.ts'
import type { ColumnPlan, Loading, Reading, StagedRows, Writing } from './loading.ts'
import { addCounts, insertRowsSql, merge } from './merge.ts'
import { CREATE_FOUND_MISFITS, recordMisfits } from './misfits.ts'
import { recordReconcileStep } from './reconcile.ts'
import { recordLoad } from './recordLoad.ts'
import { updateRejectedRows } from './rejectedRows.ts'
import { mergeInOrder, versionOf } from './rowVersion.ts'
import { readRows, stage, throwAsLoadRefused } from './stage.ts'
import { splitRows } from './rowFiles.ts'

/** Commits one load, without staging if all rows are new. Throws errors such as LOAD_REFUSED and FENCED. */
export async function load(place: LoadPlace, input: LoadInput): Promise<LoadResult> {
  const { database, numberMark } = place
  const { report, segment, rules = NO_RULES } = input
  const table = tableOf(report)
  const loading: Loading = { input, report, table, rules, numberMark, ...planColumns(place, table, input) }
  if (segment === undefined) return commit(place, loading, {})
  await using rows = await splitRows(segment)
  const reading: Reading = { ...loading, segment, files: rows.files }
  // Cached operators would keep the rows of all files in memory.
  if (rows.isSplit) await database.run('SET enable_caching_operators = false')
  try {
    if (await mayBeAllNew(database, reading)) {
      const loaded = await commit(place, loading, { allNew: reading }).catch((error: unknown) => {
        if (error !== NOT_ALL_NEW) throw error
      })
      if (loaded !== undefined) return loaded
    }
    const staged = await stage(database, reading).catch(throwAsLoadRefused(reading))
    return await commit(place, loading, { staged })
  } finally {
    await database.run(DROP_TEMPORARY)
    if (rows.isSplit) await database.run('SET enable_caching_operators = true')
  }
}

const DROP_TEMPORARY = ['staged', 'newest', 'child_items', 'held', 'refusals', 'found_misfits']
  .map((table) => `DROP TABLE IF EXISTS temp.main.${table};`)
  .join(' ')

type LoadRows = { readonly allNew?: Reading; readonly staged?: StagedRows }

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
    const { inserted } = merged
    const ofCount = { late: inserted, latenessMs: inserted > 0 ? input.lateMs : undefined }
    const late = input.lateMs === undefined ? merged.late : ofCount
    const counts = { rows: input.segment?.rows ?? 0, rejected: staged?.rejected ?? 0 }
    const figures = { ...merged, ...counts, late, loadId }
    await recordLoad(sql, writing, { ...figures, begun })
    return { ...figures, changes }
  }, compactionsFor)
  const [kept] = await database.rows('SELECT 1 FROM tidemark.loads WHERE load_id = $1', [result.loadId])
  assert(kept !== undefined, `load ${result.loadId} was committed but is not there`)
  return result
}

const TRIES_MAX = 10

/** Commits one load into a lake. Retries if other processes change columns. */
export async function loadIntoLake(
  database: Database,
  known: Omit<LoadPlace, 'database' | 'discovered' | 'beforeWriting'>,
  input: LoadInput,
): Promise<LoadResult> {
  if (input.segment === undefined) return load({ ...known, database, discovered: new Map() }, input)
  for (let tries = 1; ; tries += 1) {
    const discovered = await discoveredColumns(database)
    const planned = columnsAsText(discovered, input.report)
    const changed = new SyncError('LAKE_BUSY', `${database.path}: other loaders changed columns, ${TRIES_MAX} times`, {
      cure: 'This load stored nothing; the next run reads its rows again.',
    })
    const beforeWriting = async (sql: Sql) => {
      if (columnsAsText(await discoveredColumns(sql), input.report) !== planned) throw changed
    }
    try {
      return await load({ ...known, database, discovered, beforeWriting }, input)
    } catch (error) {
      if (error !== changed || tries >= TRIES_MAX) throw error
    }
  }
}

function columnsAsText(discovered: LoadPlace['discovered'], report: LoadInput['report']): string {
  const table = tableOf(report)
  return JSON.stringify([table, ...table.children].map(({ name: each }) => discovered.get(each)))
}

function planColumns(
  { discovered: stored }: Pick<LoadPlace, 'discovered'>,
  table: ReportTable,
  { report, segment, rules: { contract } = NO_RULES }: LoadInput,
): ColumnPlan {
  const after = new Map(stored)
  const columnChanges: { table: string; changes: ColumnChange[] }[] = []
  const plan = (name: string, fields: readonly SeenField[], given: Pick<ColumnContext, 'taken' | 'nested'>): void => {
    const columns = stored.get(name) ?? []
    const changes = changesFor(fields, { ...given, columns, contract })
    if (changes.length === 0) return
    columnChanges.push({ table: name, changes })
    const byField = new Map(columns.map((column) => [column.field, column]))
    for (const change of changes) if ('column' in change) byField.set(change.column.field, change.column)
    after.set(name, [...byField.values()])
  }
  if (segment !== undefined) {
    const documented = new Set(Object.entries(report.fields).flatMap(([field, { also = [] }]) => [field, ...also]))
    const own = segment.catalog.fields.filter((field) => !documented.has(field.name) && field.elements === undefined)
    plan(table.name, own, { taken: reportColumns(table).map((column) => column.name), nested: 'extra' })
    for (const child of table.children) {
      const elements = segment.catalog.field(child.field)?.elements?.fields ?? []
      const fields = elements.filter((field) => field.name !== CHILD_DELETED_FIELD || has(field.kinds, NESTED))
      plan(child.name, fields, { taken: childColumns(table).map((column) => column.name), nested: 'column' })
    }
  }
  const discovered = (name: string) => after.get(name) ?? []
  const tableColumns = [...table.asked, ...table.fields, ...discovered(table.name)].map((column) => column.name)
  return { columnChanges, discovered, tableColumns }
}

async function makeColumns(sql: Sql, load: Loading, loadId: number): Promise<LoadResult['changes']> {
  const made: LoadResult['changes'][number][] = []
  for (const { table, changes } of load.columnChanges) {
    const place = { report: load.report.name, loadId, table }
    await applyChanges(sql, place, changes)
    made.push(...(await recordChanges(sql, place, changes)).map((change) => ({ table, change })))
  }
  return made
}

/** Rolls the load back, so that `load` stages its rows and tries again. */
const NOT_ALL_NEW = new Error('a row is not new, or has a value that does not fit')

/** Returns whether all rows are probably new, because earlier loads of the report have only inserted rows. */
async function mayBeAllNew(sql: Sql, load: Reading): Promise<boolean> {
  const { report, segment } = load
  if (segment.rows === 0 || segment.rejected.length + segment.collections.length > 0 || !onlyWrites(load)) return false
  const others = await sql.rows(`
    SELECT 1 FROM tidemark.loads WHERE report = ${text(report.name)} AND (rows <> inserted OR rejected > 0 OR misfits > 0) LIMIT 1`)
  return others.length === 0
}

/** Returns false for loads that must stage their rows, because they compare or count rows. */
function onlyWrites({ input, report: { deletedFlag: flag }, segment }: Reading): boolean {
  const { kind, previousRead, gone = [], followers = [] } = input
  if (kind === 'audit' || kind === 'reconcile' || kind === 'retry' || previousRead !== undefined) return false
  if (gone.length > 0 || followers.length > 0) return false
  return flag === undefined || segment.catalog.shapes.every((shape) => shape.includes(flag))
}

/** Inserts rows directly, in half the time of staging and merging. */
async function insertNew(sql: Sql, load: Reading & { readonly loadId: number }): Promise<LoadCounts> {
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
async function writeRows(sql: Sql, load: Writing): Promise<LoadCounts> {
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

async function recordChangedRecords(sql: Sql, { input, report, staged }: Writing): Promise<void> {
  if (input.kind === 'audit') return recordAudited(sql, report.name, input.audited)
  if (staged === undefined) return
  const columns = staged.columns.map((column) => column.name)
  const version = versionOf(report, columns, { alias: 's', observedAt: 's."~observed_at"' })
  // In `changes` and `retry` loads, all rows count as changed.
  const requestsChanged = input.kind === 'changes' || input.kind === 'retry'
  const isRead = requestsChanged ? 'true' : 's.rowid IN (SELECT sid FROM win)'
  // If the trail was read after this row was observed, the service's clock was set back, so the trail is due again.
  const isDueAgain = `n.changed OR f.asked_at > n.seen_at + INTERVAL ${CLOCK_GRAIN_MS} MILLISECONDS`
  for (const follower of input.followers ?? []) {
    const settle = report.newerBy.length === 0 ? '' : ` + INTERVAL ${follower.settleMs} MILLISECONDS`
    await sql.run(`
      MERGE INTO tidemark.followed f USING (
        SELECT ${text(follower.scopePrefix)} || s.${name(report.key[0] ?? '')} AS scope, max(${version})${settle} AS ask_after,
          max(s."~observed_at") AS seen_at, bool_or(s.rowid IN (SELECT sid FROM win WHERE is_changed)) AS changed
        FROM staged s WHERE ${isRead} GROUP BY ALL) n ON f.report = ${text(follower.report)} AND f.scope = n.scope
      WHEN MATCHED THEN UPDATE SET ask_after = greatest(n.ask_after, f.ask_after,
        CASE WHEN ${isDueAgain} THEN f.asked_at + INTERVAL 1 MICROSECOND END)
      WHEN NOT MATCHED THEN INSERT VALUES (${text(follower.report)}, n.scope, n.ask_after, NULL)`)
  }
}

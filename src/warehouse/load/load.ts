/**
 * One load: rows, child rows, rejected rows, columns, windows, run and mark in one DuckDB transaction, all or nothing.
 * Staging happens before it; inside it only the winners move.
 */
import { assert, asSyncError, SyncError } from '../../errors.ts'
import type { Declaration } from '../../../schema/report.ts'
import { type ReportTable, tableOf } from '../../../schema/tables.ts'
import type { Instant } from '../../instant.ts'
import { type ColumnChange, changesFor, type DiscoveredColumn } from '../../plan/columns.ts'
import { has, NESTED } from '../../plan/kinds.ts'
import type { AskedBefore } from '../../plan/lateness.ts'
import type { Segment } from '../../staging/spool.ts'
import { type BackfilledWindow, noteBackfilled } from '../books/backfills.ts'
import { type ClosedWindow, closeWindows, nextLoadId, recordRun, type RunRecord } from '../books/books.ts'
import { CHILD_DELETED_FIELD } from './childFields.ts'
import { mergeChildren } from './children.ts'
import type { Database, Sql } from '../database/duckdb.ts'
import { oneAfterTheOther } from './duplicates.ts'
import { dropEntries, mergeEntries } from './entries.ts'
import type { Fence, Fences } from '../books/fences.ts'
import { type AskedRecord, type Follower, noteAsked, noteFollowed } from '../books/followed.ts'
import { merge, type Merged, type MergedWithItems, oneThenOther } from './merge.ts'
import { insertNew, mayBeAllNew, NotAllNew } from './newRows.ts'
import { noteReconciled, type ReconcileProgress } from './reconcile.ts'
import { forgetMended, recordRejected, type Refusing, type Retried, takeRejected } from './rejected.ts'
import { clearedBy } from '../database/settings.ts'
import { time } from '../database/sqlText.ts'
import { type LoadRules, type Staged, stage, type StageParts } from './stage.ts'
import { applyChanges, childColumns, recordChanges, reportColumns } from '../tables/tables.ts'
import { entryWindowsSql, type EntryWindow, goneKeysSql } from '../books/told.ts'
import { type History, historyOf } from '../tables/versions.ts'

export type { LoadRules } from './stage.ts'

export interface LoadInput {
  readonly report: Declaration
  readonly runId: string
  /** Our own clock, for the books. */
  readonly now: Instant
  /** The service's clock now, as a lower bound: what was observed later was observed before the clock was set back. */
  readonly serviceNow?: Instant | undefined
  /** The staged rows; none when the window holds nothing. */
  readonly segment?: Segment | undefined
  readonly closes: readonly ClosedWindow[]
  /** Keys that a second read showed to be deleted (budgets), each with the columns of the report's key. */
  readonly gone?: readonly (readonly (string | number)[])[] | undefined
  /** For audit entries: the records and bounds whose entries this load replaces. */
  readonly replaces?: readonly EntryWindow[] | undefined
  /** Audit reports that follow this one. */
  readonly followers?: readonly Follower[]
  /** The rows were asked for whether or not they were modified (reconcile, backfill, refill). */
  readonly rereads?: boolean
  /** For audit entries: when each record was asked about. */
  readonly asked?: readonly AskedRecord[]
  /** For incremental windows: what the windows before had asked for, so that late rows are known. */
  readonly askedBefore?: AskedBefore | undefined
  /** The reconcile that this load is part of: the keys that came are remembered. */
  readonly reconcile?: ReconcileProgress | undefined
  /** The window of a backfill that this load ends. */
  readonly backfilled?: BackfilledWindow | undefined
  /** The rows were read some time ago: where nothing says which version is newer, the one held stays. */
  readonly yields?: boolean
  /** Refused rows that this load takes up again: they are its rows, and refused no longer but for those it refuses. */
  readonly retries?: Retried | undefined
  /** Without them columns change as the rows ask for, and everything is kept. */
  readonly rules?: LoadRules | undefined
  /** The run's right to commit; without it, nothing is checked. */
  readonly fence?: Fence | undefined
  /** The finished run, with the figures so far; this load's own are added. */
  readonly run?: RunRecord | undefined
}

export interface LoadResult extends MergedWithItems {
  readonly loadId: number
  readonly rows: number
  readonly rejected: number
  /** Those that weren't told before. */
  readonly changes: readonly TableChange[]
}

export interface TableChange {
  readonly table: string
  readonly change: ColumnChange
}

/** What a load needs to know of the warehouse. */
export interface LoadPlace {
  readonly database: Database
  readonly mark: string
  /** Discovered columns by table, as they are before the load. */
  readonly discovered: ReadonlyMap<string, readonly DiscoveredColumn[]>
  /** Called in the transaction, before anything is written. */
  readonly beforeWriting?: (sql: Sql) => Promise<void>
  readonly fences: Fences
  /** The record of the load's run as it began, while the file doesn't know it. */
  readonly begun?: RunRecord | undefined
}

const NOTHING: Merged = { inserted: 0, updated: 0, unchanged: 0, deleted: 0 }

/** As a load that is told nothing else does it. */
const NO_RULES: LoadRules = { contract: 'evolve', excludePayload: false }

/**
 * Commits one load; gives its figures and the changes of columns that it made. Rows that are all new go straight to
 * their table, others are staged and merged. Errors: LOAD_REFUSED, FENCED, those of the database.
 */
export async function load(place: LoadPlace, input: LoadInput): Promise<LoadResult> {
  const { database, mark } = place
  const { report, segment, rules = NO_RULES } = input
  const table = tableOf(report)
  const plan = planColumns(place, table, input)
  const discovered = plan.columns(table.name)
  const parts = segment && { report, table, segment, discovered, mark, rules, discoveredOf: plan.columns }
  try {
    if (parts !== undefined && onlyWrites(input) && (await mayBeAllNew(database, parts))) {
      const loaded = await commit(place, { input, table, plan, allNew: parts }).catch(unlessNotAllNew)
      if (loaded !== undefined) return loaded
    }
    const staged = parts && (await stage(database, parts).catch(refuses(parts)))
    return await commit(place, { input, table, plan, staged })
  } finally {
    await database.run(DROP_TEMPORARY)
  }
}

/** Whether a load has nothing to do with its rows but to write them; for all else they are staged. */
const onlyWrites = ({ report, askedBefore, replaces, reconcile, retries, gone, followers }: LoadInput): boolean =>
  report.perRecord === undefined &&
  [askedBefore, replaces, reconcile, retries, ...(gone ?? []), ...(followers ?? [])].every((each) => each === undefined)

function unlessNotAllNew(error: unknown): undefined {
  if (!(error instanceof NotAllNew)) throw error
}

const refuses =
  ({ report, segment }: StageParts) =>
  (error: unknown): never => {
    throw stagingRefused(error, report, segment)
  }

/**
 * What DuckDB can't read although it was scanned: told with the report and the place, never as a bare driver message.
 */
function stagingRefused(error: unknown, report: Declaration, segment: Segment): SyncError {
  const known = asSyncError(error)
  if (known.code !== 'UNEXPECTED') return known
  return new SyncError(
    'LOAD_REFUSED',
    `the rows of ${report.name} could not be read into the warehouse: ${known.message}`,
    {
      report: report.name,
      cure: 'Nothing of this load was kept. Run it again with a smaller page_size to narrow it down, and report it with this message.',
      data: { rows: segment.rows, bytes: segment.bytes, pages: segment.pages.length },
      cause: error,
    },
  )
}

/** Staged rows can be many; their memory is given back at once. */
const DROP_TEMPORARY = ['staged', 'newest', 'fresh', 'kids', 'numbered', 'held', 'refusals']
  .map((table) => `DROP TABLE IF EXISTS temp.main.${table};`)
  .join(' ')

interface Commit {
  readonly input: LoadInput
  readonly table: ReportTable
  readonly plan: ColumnPlan
  /** Rows that are taken to be new, each of them. */
  readonly allNew?: StageParts
  readonly staged?: Staged | undefined
}

/** Throws `NotAllNew` where it was told that all rows are. */
async function commit(place: LoadPlace, { input, table, plan, allNew, staged }: Commit): Promise<LoadResult> {
  const { database, mark } = place
  const { report, segment } = input
  const discovered = plan.columns(table.name)
  const result = await database.transaction(async (sql) => {
    await place.fences.check(sql, input.fence)
    await place.beforeWriting?.(sql)
    const loadId = await nextLoadId(sql)
    const mayReplace = staged !== undefined || input.replaces !== undefined
    const history = mayReplace ? await historyOf(sql, report.name) : undefined
    const changes: TableChange[] = []
    for (const { table: changed, changes: needed } of plan.changes) {
      const where = { report: report.name, table: changed, loadId }
      await applyChanges(sql, where, needed)
      const told = await recordChanges(sql, where, needed)
      changes.push(...told.map((change) => ({ table: changed, change })))
    }
    const columns = [...table.asked, ...table.fields, ...discovered].map((column) => column.name)
    const merged =
      allNew !== undefined
        ? await insertNew(sql, { ...allNew, tableColumns: columns, loadId }).catch(refuses(allNew))
        : staged === undefined
          ? await mergeNothing(sql, table, { input, history })
          : await mergeAll(sql, { input, table, staged, plan, tableColumns: columns, mark, loadId, history })
    if (merged === undefined) throw new NotAllNew()
    if (input.retries !== undefined) await takeRejected(sql, report.name, input.retries)
    if (staged !== undefined && staged.rejected > 0) await recordRejected(sql, refusingOf(input), loadId)
    if (staged !== undefined) await forgetMended(sql, { report, staged })
    const { followers = [], rereads = false } = input
    if (staged !== undefined) await noteFollowed(sql, { report, staged, followers, rereads })
    await noteAsked(sql, report.name, input.asked ?? [])
    await closeWindows(sql, { report, loadId, now: input.now, windows: input.closes })
    if (input.backfilled !== undefined) await noteBackfilled(sql, input.backfilled, loadId)
    if (input.reconcile !== undefined) await noteReconciled(sql, { report, staged, progress: input.reconcile })
    const counts = { rows: segment?.rows ?? 0, rejected: staged?.rejected ?? 0, childrenWritten: 0 }
    const figures = { ...counts, ...merged, loadId }
    await recordLoad(sql, { input, begun: place.begun }, figures)
    return { ...figures, changes }
  }, clearedBy)
  const [kept] = await database.rows('SELECT 1 FROM tidemark.loads WHERE load_id = $1', [result.loadId])
  assert(kept !== undefined, `load ${result.loadId} was committed but is not there`)
  return result
}

const refusingOf = ({ report, rules, gone }: LoadInput): Refusing => ({
  report,
  excludePayload: rules?.excludePayload === true,
  knowsGone: gone !== undefined,
})

interface ColumnPlan {
  readonly changes: readonly { readonly table: string; readonly changes: readonly ColumnChange[] }[]
  /** The discovered columns of a table as they will be. */
  readonly columns: (table: string) => readonly DiscoveredColumn[]
}

/** Decides which columns the load's fields need, for the report's table and each child table. */
function planColumns(place: LoadPlace, table: ReportTable, { report, segment, rules }: LoadInput): ColumnPlan {
  if (segment === undefined) return { changes: [], columns: (name) => place.discovered.get(name) ?? [] }
  const contract = rules?.contract ?? 'evolve'
  const documented = new Set(Object.values(report.fields).flatMap((field) => field.also ?? []))
  for (const field of Object.keys(report.fields)) documented.add(field)
  const own = segment.catalog.fields.filter((field) => !documented.has(field.name) && field.elements === undefined)
  const ownKnown = {
    columns: place.discovered.get(table.name) ?? [],
    taken: reportColumns(table).map((column) => column.name),
    nested: 'extra' as const,
    contract,
  }
  const plans = [{ table: table.name, known: ownKnown.columns, changes: changesFor(own, ownKnown) }]
  for (const child of table.children) {
    const elements = segment.catalog.field(child.field)?.elements?.fields ?? []
    const columns = place.discovered.get(child.name) ?? []
    const taken = childColumns(table).map((column) => column.name)
    const fields = elements.filter((field) => field.name !== CHILD_DELETED_FIELD || has(field.kinds, NESTED))
    plans.push({
      table: child.name,
      known: columns,
      changes: changesFor(fields, { columns, taken, nested: 'column', contract }),
    })
  }
  const after = new Map(plans.map((plan) => [plan.table, withChanges(plan.known, plan.changes)]))
  return { changes: plans.filter((plan) => plan.changes.length > 0), columns: (name) => after.get(name) ?? [] }
}

function withChanges(known: readonly DiscoveredColumn[], changes: readonly ColumnChange[]): DiscoveredColumn[] {
  const byField = new Map(known.map((column) => [column.field, column]))
  for (const change of changes) if ('column' in change) byField.set(change.column.field, change.column)
  return [...byField.values()]
}

interface MergeStep {
  readonly input: LoadInput
  readonly table: ReportTable
  readonly staged: Staged
  readonly tableColumns: readonly string[]
  readonly mark: string
  readonly loadId: number
  readonly history: History | undefined
}

/** No row came: that says something only about windows of entries. */
async function mergeNothing(
  sql: Sql,
  table: ReportTable,
  { input, history }: Pick<MergeStep, 'input' | 'history'>,
): Promise<Merged> {
  const { replaces } = input
  if (replaces === undefined) return NOTHING
  await sql.run(entryWindowsSql(table, replaces))
  return dropEntries(sql, table, { history, at: input.serviceNow ?? input.now })
}

/** Merges rows and their items: first those that are needed before others of their key. */
async function mergeAll(sql: Sql, step: Omit<CollectionStep, 'merged'> & MergeStep): Promise<MergedWithItems> {
  const all = await oneAfterTheOther(sql, step.staged, async (rows) => {
    const each = { ...step, staged: { ...step.staged, rows } }
    const merged = await mergeStaged(sql, each)
    return { ...merged, childrenWritten: await mergeCollections(sql, { ...each, merged }) }
  })
  return all.reduce(oneThenOther)
}

async function mergeStaged(sql: Sql, step: MergeStep): Promise<Merged> {
  const { input, table, staged, tableColumns, mark, loadId, history } = step
  if (input.replaces !== undefined) {
    await sql.run(entryWindowsSql(table, input.replaces))
    return mergeEntries(sql, {
      table,
      staged,
      tableColumns,
      loadId,
      gone: { history, at: input.serviceNow ?? input.now },
    })
  }
  if (input.gone !== undefined) await sql.run(goneKeysSql(table, input.gone))
  const knowsGone = input.gone !== undefined
  const { report, serviceNow, askedBefore, yields = false } = input
  const given = { report, table, staged, tableColumns, loadId, mark, knowsGone, history }
  return merge(sql, { ...given, serviceNow, askedBefore, yields })
}

interface CollectionStep {
  readonly table: ReportTable
  readonly staged: Staged
  readonly plan: ColumnPlan
  readonly loadId: number
  readonly mark: string
  readonly merged: Merged
  readonly input: LoadInput
  readonly history: History | undefined
}

async function mergeCollections(sql: Sql, step: CollectionStep): Promise<number> {
  const { table, staged, plan, loadId, mark, merged, input, history } = step
  if (merged.inserted + merged.updated === 0) return 0
  let written = 0
  for (const { field, column, items } of staged.collections) {
    const child = table.children.find((each) => each.field === field.name)
    assert(child !== undefined, `${field.name} is no collection of ${table.name}`)
    written += await mergeChildren(sql, {
      table,
      child,
      field,
      column,
      items,
      replaces: merged.updated > 0,
      discovered: plan.columns(child.name),
      excludePayload: input.rules?.excludePayload === true,
      loadId,
      mark,
      history,
    })
  }
  return written
}

/** Bytes of all files of a segment. */
export const stagedBytes = (segment: Segment | undefined): number =>
  segment === undefined ? 0 : segment.collections.reduce((sum, { bytes }) => sum + bytes, segment.bytes)

type Figures = Omit<LoadResult, 'changes'>

/** How many rows came late; null where it isn't measured. A window that brought nothing brought nothing late. */
const lateRows = ({ report, askedBefore }: LoadInput, { late }: Figures): number | null =>
  askedBefore === undefined || report.newerBy.length === 0 ? null : (late?.late ?? 0)

interface Recording {
  readonly input: LoadInput
  readonly begun: RunRecord | undefined
}

async function recordLoad(sql: Sql, { input, begun }: Recording, figures: Figures): Promise<void> {
  await sql.run(
    `INSERT INTO tidemark.loads VALUES ($1, $2, $3, ${time(input.now)}, $4, $5, $6, $7, $8, $9, $10, $11, $12, to_milliseconds($13))`,
    [
      figures.loadId,
      input.runId,
      input.report.name,
      figures.rows,
      figures.inserted,
      figures.updated,
      figures.unchanged,
      figures.deleted,
      figures.childrenWritten,
      figures.rejected,
      stagedBytes(input.segment),
      lateRows(input, figures),
      figures.late?.latenessMs ?? null,
    ],
  )
  const { run } = input
  if (run === undefined) {
    if (begun !== undefined) await recordRun(sql, begun)
    return
  }
  await recordRun(sql, {
    ...run,
    inserted: run.inserted + figures.inserted,
    updated: run.updated + figures.updated,
    deleted: run.deleted + figures.deleted,
    rejected: run.rejected + figures.rejected,
  })
}

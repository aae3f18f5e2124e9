/** The warehouse: a DuckDB file that only one process writes, or a shared lake. */
import { countBooks, type CountBooks } from './load/counting.ts'
import type { ReportName } from '../../schema/index.ts'
import type { Instant } from '../instant.ts'
import { turns } from '../turns.ts'
import type { Coverage } from '../plan/coverage.ts'
import type { RequestEntry } from '../plan/requestBudget.ts'
import type { PagingProfile } from '../plan/pagingProfile.ts'
import type { Pause, ReportStateRow } from './books/reportStates.ts'
import type { RunRecord } from './books/runs.ts'
import { readNumberPrefix } from './books/numberPrefix.ts'
import { clearPauses, pauses, recordPause, recordReportStates } from './books/reportStates.ts'
import { isTakenOver, stopDeadRuns, recordRun } from './books/runs.ts'
import { lastWindowOf } from './books/windows.ts'
import { ordersOf } from './books/orders.ts'
import { BackfillBooks } from './books/backfills.ts'
import { coverageOf, forgetCoverage, storedPrivacyRules, recordCoverage } from './books/coverage.ts'
import { type AroundStatement, Database } from './database/duckdb.ts'
import type { Sql } from './database/sql.ts'
import { type Fence, type FenceRequest, Fences, type WithFence } from './books/fences.ts'
import { backfillBasis, type BackfillBasis } from './books/backfillBasis.ts'
import type { SkippedRecord } from './books/auditRecords.ts'
import { dueRecords, lastReadRecord, lastTrailRead, recordSkipped, recordsToReadAgain } from './books/auditRecords.ts'
import { recordRequests, requestUse } from './books/requests.ts'
import { type TrimResult, trimBooks } from './books/trimBooks.ts'
import { migrate } from './books/layout.ts'
import { beginMove, moveInto, type MovedTable } from './load/move.ts'
import { load } from './load/load.ts'
import type { LoadDependencies, LoadInput, LoadResult } from './load/loadInput.ts'
import { type QuietLoads, quietLoads } from './load/quietLoads.ts'
import { sizeOf, stagedBytes } from './load/recordLoad.ts'
import { makeFile, makeFolderFor, openFile, spillFolderOf, watchFile } from './database/warehouseFile.ts'
import { learnPagingProfile, type PagingPlace, pagingProfileOf } from './books/pagingProfiles.ts'
import { publish, type PublishBy, type PublishResult } from './publish/publish.ts'
import type { ReconcileEnd, OpenReconcile, ReconcilePlace, ReconcileResult } from './load/reconcile.ts'
import { absentKeys, beginReconcile, endReconcile, openReconcile, reconciledRows } from './load/reconcile.ts'
import { rejectedRows, type Dismissal, dismissRejected, rejectingLoads, withheldRows } from './load/rejectedRows.ts'
import { endReset, RESET_RUN_ID, resetReport, type ResetEnd, type ResetRequest } from './load/reset.ts'
import { type RetypedColumn, retypeColumn, type RetypeRequest } from './load/retypeColumn.ts'
import { attachLake, LAKE, type LakePlace, openLake } from './database/lake.ts'
import { claimFolder, removeOrphans } from './database/storage.ts'
import { keepLake, type LakeUpkeep, type UpkeepOptions } from './database/upkeep.ts'
import { countColumns, discoveredColumns } from './tables/tables.ts'
import { checkpoint, reserveForNewRows, withMemory, withThreads } from './database/loadResources.ts'

export interface WarehouseSettings {
  readonly path: string
  readonly memory: string
  readonly threads?: number | undefined
  /** If undefined, the file at `path` is the warehouse. */
  readonly lake?: LakePlace | undefined
  readonly publishBy?: PublishBy | undefined
  readonly around?: AroundStatement | undefined
  /** Set during `tidemark move`: the old `numberPrefix`, which the new warehouse adopts for its row hashes. */
  readonly movedFrom?: string | undefined
}

const bind =
  <Given extends unknown[], Answer>(sql: Sql, read: (sql: Sql, ...given: Given) => Answer) =>
  (...given: Given): Answer =>
    read(sql, ...given)

const readsOf = (sql: Sql, quiet: QuietLoads) => ({
  absentKeys: bind(sql, absentKeys),
  coverage: bind(sql, coverageOf),
  dueRecords: bind(sql, dueRecords),
  storedPrivacyRules: bind(sql, storedPrivacyRules),
  lastTrailRead: bind(sql, lastTrailRead),
  lastReadRecord: bind(sql, lastReadRecord),
  lastWindow: async (...of: [string, string]) => quiet.lastWindow(...of) ?? (await lastWindowOf(sql, ...of)),
  pagingProfile: bind(sql, pagingProfileOf),
  pauses: () => pauses({ rows: (query) => sql.cachedRows(query) }),
  reconciledRows: bind(sql, reconciledRows),
  recordsToReadAgain: bind(sql, recordsToReadAgain),
  requestUse: bind(sql, requestUse),
  rejectedRows: bind(sql, rejectedRows),
  rejectingLoads: bind(sql, rejectingLoads),
  withheldRows: bind(sql, withheldRows),
})

interface OpenFile {
  readonly database: Database
  readonly numberPrefix: string
  readonly publishBy: PublishBy
  readonly spill: ReturnType<typeof spillFolderOf> | undefined
  readonly storage: LakePlace['storage']
  /** Throws WAREHOUSE_MISSING if the file was removed or replaced. */
  readonly checkFileIsInPlace: (() => Promise<void>) | undefined
}

export class Warehouse implements AsyncDisposable {
  readonly numberPrefix: string
  readonly backfills: BackfillBooks
  readonly backfillBasis: BackfillBasis
  readonly counts: CountBooks
  readonly orders: ReturnType<typeof ordersOf>
  readonly books: ReturnType<typeof readsOf>
  readonly #open: OpenFile
  readonly #database: Database
  readonly #fences: Fences
  readonly #quiet: QuietLoads
  readonly #begun = new Map<string, RunRecord>()
  #lastReportStates: string | undefined
  readonly #afterLoads = turns()

  private constructor(open: OpenFile) {
    const { database, numberPrefix } = open
    const fences = new Fences({ isAlone: !database.isShared })
    this.#open = open
    this.#database = database
    this.#fences = fences
    this.backfills = new BackfillBooks(database, fences)
    this.backfillBasis = backfillBasis(database)
    this.counts = countBooks(database, (fence, work) => this.#afterOtherLoads(() => this.#fenced(fence, work)))
    this.orders = ordersOf(database)
    this.#quiet = quietLoads(database, fences, this.#begun)
    this.books = readsOf(database, this.#quiet)
    this.numberPrefix = numberPrefix
  }

  /** Opens or creates the warehouse and migrates it. */
  static async open(settings: WarehouseSettings): Promise<Warehouse> {
    const { path, memory, threads, lake, around, publishBy = 'blocks', movedFrom } = settings
    if (path !== ':memory:') makeFolderFor(path)
    const spill = path === ':memory:' ? undefined : spillFolderOf(path, movedFrom !== undefined)
    const options = { memory, threads, around, ...(spill === undefined ? {} : { spillDirectory: spill.own }) }
    await using opening = new AsyncDisposableStack()
    opening.defer(async () => spill?.remove())
    spill?.prepare()
    // After a crash, a later process removes the new file, because its name begins like that of a spill folder.
    if (lake === undefined && spill !== undefined) await makeFile(path, `${spill.own}.new`, options)
    const database = opening.use(await (lake === undefined ? openFile(path, options) : openLake(lake, options)))
    const isAlone = !database.isShared
    await spill?.create({ isAlone })
    const numberPrefix = await database.transaction(async (sql) => {
      const before = await migrate(sql, database.path, movedFrom)
      if (movedFrom !== undefined && before === 0) await beginMove(sql, movedFrom)
      if (isAlone) await stopDeadRuns(sql)
      return readNumberPrefix(sql)
    })
    // Only one move at a time can fill a lake, so spill folders of other moves are leftovers, and are removed.
    if (movedFrom !== undefined && !isAlone) await spill?.create({ isAlone: true })
    if (lake?.storage !== undefined) await claimFolder(database, lake.data, numberPrefix)
    const checkFileIsInPlace = isAlone && path !== ':memory:' ? await watchFile(path) : undefined
    opening.move()
    return new Warehouse({ database, numberPrefix, publishBy, spill, storage: lake?.storage, checkFileIsInPlace })
  }

  /** Commits one load after all earlier loads have ended. */
  load(input: LoadInput): Promise<LoadResult> {
    return this.#afterOtherLoads(async () => {
      const quiet = this.#quiet.add(input)
      if (quiet !== undefined) return quiet
      const begun = this.#begun.get(input.runId)
      const dependencies = { database: this.#database, numberPrefix: this.numberPrefix, fences: this.#fences, begun }
      const result = this.#database.isShared ? await load(dependencies, input) : await loadIntoFile(dependencies, input)
      this.#begun.delete(input.runId)
      return result
    })
  }

  /** Returns the run's right to commit. Earlier runs of the same kind and report lose their right. */
  takeFence(ask: FenceRequest): Promise<Fence> {
    // The run's first commit stores the fence, which saves a transaction.
    if (!this.#database.isShared && ask.kind === 'incremental') return this.#fences.take(this.#database, ask)
    return this.#database.transaction(async (sql) => {
      const fence = await this.#fences.take(sql, ask)
      // An older run in another process can no longer commit, so it counts as stopped.
      if (this.#database.isShared) await stopDeadRuns(sql, ask)
      return fence
    })
  }

  /** The record is stored with the run's first load, or when the run ends. */
  beginRun(run: Omit<RunRecord, 'state' | 'endedAt'>): void {
    this.#begun.set(run.runId, { ...run, state: 'running', endedAt: undefined })
  }

  async recordRun(run: RunRecord): Promise<void> {
    this.#begun.delete(run.runId)
    await this.#database.transaction(async (sql) => {
      // If another process took over the run while this process was frozen, that process's record is kept.
      if (!this.#database.isShared || !(await isTakenOver(sql, run))) await recordRun(sql, run)
    })
  }

  /** Stores the states of reports. Turning a history on can rename columns, because the history needs their names. */
  async recordReportStates(states: readonly ReportStateRow[]): Promise<void> {
    const recorded = JSON.stringify(states, (field, value: unknown) => (field === 'now' ? undefined : value))
    if (recorded === this.#lastReportStates && !this.#database.isShared) return
    this.#lastReportStates = undefined
    await this.#rewritingRows(undefined, (sql) => recordReportStates(sql, states))
    this.#lastReportStates = recorded
  }

  recordSkipped(place: { report: string; now: Instant } & WithFence, skipped: readonly SkippedRecord[]): Promise<void> {
    return this.#fenced(place.fence, (sql) => recordSkipped(sql, place, skipped))
  }

  dismissRejected(dismissal: Dismissal, now: Instant): Promise<number> {
    return this.#afterOtherLoads(() => dismissRejected(this.#database, dismissal, now))
  }

  retypeColumn(request: RetypeRequest): Promise<RetypedColumn> {
    return this.#rewritingRows(undefined, (sql) => retypeColumn(sql, this.numberPrefix, request))
  }

  recordRequests(counts: readonly RequestEntry[], at: Instant): Promise<void> {
    return this.#database.transaction((sql) => recordRequests(sql, counts, at))
  }

  pause(pause: Pause, now: Instant): Promise<void> {
    return this.#database.transaction((sql) => recordPause(sql, pause, now))
  }

  /** `onlyRefused` keeps the pauses that an operator has set. */
  resume(reports: readonly ReportName[], which: { readonly onlyRefused?: boolean } = {}) {
    return this.#database.transaction((sql) => clearPauses(sql, reports, which))
  }

  forgetCoverage(report: ReportName, kept: readonly string[]): Promise<void> {
    return forgetCoverage(this.#database, report, kept)
  }

  recordCoverage(place: { report: ReportName; scope: string } & WithFence, coverage: Coverage): Promise<void> {
    return this.#rewritingRows(place.fence, (sql) => recordCoverage(sql, place, coverage))
  }

  async continueOrBeginReconcile(place: ReconcilePlace & WithFence, begun: OpenReconcile): Promise<OpenReconcile> {
    const open = await openReconcile(this.#database, place)
    if (open !== undefined) return open
    await this.#fenced(place.fence, (sql) => beginReconcile(sql, place, begun))
    return begun
  }

  endReconcile(ending: ReconcileEnd & WithFence): Promise<ReconcileResult> {
    return this.#afterOtherLoads(() => this.#fenced(ending.fence, (sql) => endReconcile(sql, ending)))
  }

  /** Makes the next runs read all rows again. Active runs can no longer commit. */
  reset(request: ResetRequest): Promise<number> {
    return this.#rewritingRows(undefined, async (sql) => {
      for (const kind of ['incremental', 'backfill', 'reconcile'] as const) {
        const place = { report: request.report, kind, holder: RESET_RUN_ID }
        await this.#fences.check(sql, await this.#fences.take(sql, place))
      }
      return resetReport(sql, request)
    })
  }

  endReset(ending: ResetEnd & WithFence): Promise<number> {
    return this.#afterOtherLoads(() => this.#fenced(ending.fence, (sql) => endReset(sql, ending)))
  }

  learnPagingProfile(place: PagingPlace & WithFence, learnt: PagingProfile): Promise<void> {
    return this.#fenced(place.fence, (sql) => learnPagingProfile(sql, place, learnt))
  }

  publish(to: string): Promise<PublishResult> {
    // Readers open the lake itself, so it needs no copy.
    if (this.#database.isShared) return Promise.resolve({ path: this.#database.path, replaced: false })
    return this.#afterOtherLoads(() => publish(this.#database, to, this.#open.publishBy))
  }

  /** Returns the rows of a query, which runs after the current transaction. */
  rows<T>(sql: string): Promise<T[]> {
    return this.#database.rows<T>(sql)
  }

  attachLake(lake: LakePlace, as: string): Promise<void> {
    return attachLake(this.#database, lake, as)
  }

  /** Copies all tables of the attached database SOURCE to this warehouse. */
  move(onTable: (table: MovedTable) => void): Promise<MovedTable[]> {
    return moveInto(this.#database, onTable)
  }

  /** Returns false if the warehouse does not answer or must be opened again. */
  isUsable(): Promise<boolean> {
    return this.#database.rows('SELECT 1').then(
      () => !this.#database.isOutdated,
      () => false,
    )
  }

  /** Throws if the file is damaged, removed or replaced. */
  async checkFile(): Promise<void> {
    if (this.#database.damage !== undefined) throw this.#database.damage
    await this.#open.checkFileIsInPlace?.()
  }

  checkpoint(): Promise<void> {
    // A lake has no file to checkpoint.
    if (this.#database.isShared) return Promise.resolve()
    return this.#afterOtherLoads(() => this.#database.exclusive((run) => checkpoint(this.#database, run)))
  }

  trimBooks(before: Instant): Promise<TrimResult> {
    return this.#afterOtherLoads(() => this.#database.transaction((sql) => trimBooks(sql, before)))
  }

  /** Deletes files of aborted loads. Skips local directories, because other programs may use them. */
  async removeOrphans(): Promise<number> {
    return this.#open.storage ? this.#afterOtherLoads(() => removeOrphans(this.#database, LAKE)) : 0
  }

  /** Other loads can run between the steps of the upkeep. */
  upkeep(options: UpkeepOptions): Promise<LakeUpkeep | undefined> {
    return keepLake((step) => this.#afterOtherLoads(() => this.#database.transaction(step)), options)
  }

  interrupt(): void {
    this.#database.interrupt()
  }

  async close(): Promise<void> {
    await this.#afterLoads(() => Promise.resolve())
    await this.#database.close()
    await this.#open.spill?.remove()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #fenced<T>(fence: Fence | undefined, work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#fences.transact(this.#database, fence, work)
  }

  #rewritingRows<T>(fence: Fence | undefined, work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#afterOtherLoads(() => withMemory(this.#database, sizeOf(undefined), () => this.#fenced(fence, work)))
  }

  #afterOtherLoads<T>(work: () => Promise<T>): Promise<T> {
    return this.#afterLoads(async () => {
      await this.#open.checkFileIsInPlace?.()
      if (this.#database.isShared) await this.#open.spill?.keep()
      return work()
    })
  }
}

async function loadIntoFile(dependencies: LoadDependencies, input: LoadInput): Promise<LoadResult> {
  const { database } = dependencies
  const bytes = stagedBytes(input.segment)
  const columns = countColumns(input.report, await discoveredColumns(database))
  await reserveForNewRows(database, { bytes, report: input.report.name, columns })
  return withThreads(database, bytes, () =>
    withMemory(database, sizeOf(input.segment), () => load(dependencies, input)),
  )
}

/**
 * The warehouse as the stories see it: one DuckDB file, written by one process, one load at a time.
 */
import { dirname } from 'node:path'
import type { ReportName } from '../../schema/index.ts'
import { folderRefused, makeFolder } from '../folders.ts'
import type { Instant } from '../instant.ts'
import type { DiscoveredColumn } from '../plan/columns.ts'
import type { LastWindow } from '../plan/lateness.ts'
import type { PageSizes } from '../plan/pageSizes.ts'
import {
  clearPauses,
  endOrphans,
  lastWindowOf,
  numberMark,
  type Pause,
  pauses,
  recordPause,
  recordReportStates,
  recordRun,
  type ReportStateRow,
  type RunRecord,
} from './books/books.ts'
import { BackfillBooks } from './books/backfills.ts'
import { type Coverage, coverageOf, forgetCoverage, keptAs, recordCoverage } from './books/coverage.ts'
import { type AroundStatement, Database, type Sql } from './database/duckdb.ts'
import { type Fence, type FenceRequest, Fences } from './books/fences.ts'
import { backfillBasis, type BackfillBasis } from './books/backfillBasis.ts'
import {
  dueRecords,
  type DueRecord,
  lastAsked,
  type RepeatRequest,
  type RecordsRequest,
  recordsToAskAgain,
} from './books/auditRecords.ts'
import { type TrimResult, trimBooks } from './books/trimBooks.ts'
import { migrate } from './books/layout.ts'
import { load, type LoadInput, type LoadPlace, type LoadResult } from './load/load.ts'
import { loadBesideOthers } from './load/loadBesideOthers.ts'
import { stagedBytes } from './load/recordLoad.ts'
import { makeFile, OwnFile } from './database/warehouseFile.ts'
import { learnPageSizes, type PageSizePlace, pageSizesOf } from './books/pageSizes.ts'
import { publish, type PublishResult } from './publish/publish.ts'
import {
  beginReconcile,
  type ReconcileEnd,
  endReconcile,
  type OpenReconcile,
  openReconcile,
  type ReconcilePlace,
  reconciledRows,
  type ReconcileResult,
} from './load/reconcile.ts'
import {
  type RejectedRowsRequest,
  type RejectedRow,
  rejectedRows,
  rejectingLoads,
  withheldRows,
} from './load/rejectedRows.ts'
import { SpillFolder } from './database/spillFolder.ts'
import { attachLake, type LakePlace, openLake } from './database/lake.ts'
import { discoveredColumns } from './tables/tables.ts'
import { withMemory, withThreads } from './database/loadResources.ts'

export interface WarehouseSettings {
  /** Absolute path, or `:memory:`. */
  readonly path: string
  /** DuckDB's memory limit, such as `1GB`. */
  readonly memory: string
  readonly threads?: number | undefined
  /** The lake that is the warehouse; `path` is then only where its local files stand. */
  readonly lake?: LakePlace | undefined
  /** A door for a simulation: runs each statement. */
  readonly around?: AroundStatement | undefined
}

/** Whatever a run writes carries the run's right to write it. */
export interface WithFence {
  readonly fence?: Fence | undefined
}

export interface CoveragePlace extends WithFence {
  readonly report: ReportName
  readonly scope: string
}

interface OpenResources {
  readonly database: Database
  readonly spill: SpillFolder | undefined
  readonly file: OwnFile | undefined
}

function makeFolderFor(file: string): void {
  const folder = dirname(file)
  try {
    makeFolder(folder)
  } catch (error) {
    throw folderRefused(folder, error)
  }
}

export class Warehouse implements AsyncDisposable {
  /** Stands before numbers that travel as text; staged rows carry it. */
  readonly numberMark: string
  readonly backfills: BackfillBooks
  readonly #database: Database
  readonly #spill: SpillFolder | undefined
  /** Undefined where it is in memory or in a lake. */
  readonly #file: OwnFile | undefined
  readonly #fences: Fences
  /** Runs that have begun and written nothing yet. */
  readonly #begun = new Map<string, RunRecord>()
  /** Undefined: to be looked up before the next load. */
  #discovered: ReadonlyMap<string, readonly DiscoveredColumn[]> | undefined
  #loads: Promise<unknown> = Promise.resolve()

  private constructor(
    { database, spill, file }: OpenResources,
    mark: string,
    discovered: ReadonlyMap<string, readonly DiscoveredColumn[]>,
  ) {
    this.#database = database
    this.#spill = spill
    this.#file = file
    this.#fences = new Fences({ isAlone: !database.isShared })
    this.backfills = new BackfillBooks(database, this.#fences)
    this.numberMark = mark
    this.#discovered = discovered
  }

  /** Opens or creates the warehouse and brings it to the newest layout. Error: WAREHOUSE_MISSING for its folder. */
  static async open({ path, memory, threads, lake, around }: WarehouseSettings): Promise<Warehouse> {
    if (path !== ':memory:') makeFolderFor(path)
    const spill = path === ':memory:' ? undefined : new SpillFolder(path)
    const options = { memory, threads, around, ...(spill === undefined ? {} : { spillDirectory: spill.own }) }
    // What a killed process left of it is cleared away with what that had spilled.
    if (lake === undefined && spill !== undefined) await makeFile(path, `${spill.own}.new`, options)
    const database = await (lake === undefined ? Database.open(path, options) : openLake(lake, options))
    const isAlone = !database.isShared
    try {
      if (isAlone) await spill?.removeOthers()
      const mark = await database.transaction(async (sql) => {
        await migrate(sql, database.path)
        if (isAlone) await endOrphans(sql)
        return numberMark(sql)
      })
      const file = isAlone && path !== ':memory:' ? await OwnFile.at(path) : undefined
      return new Warehouse({ database, spill, file }, mark, await discoveredColumns(database))
    } catch (error) {
      await database.close()
      throw error
    }
  }

  /** The report's mark, and where the window that left it ended: the service's clock of that time. */
  lastWindow(report: ReportName, scope: string): Promise<LastWindow> {
    return lastWindowOf(this.#database, report, scope)
  }

  /** Commits one load; loads wait for each other. */
  load(input: LoadInput): Promise<LoadResult> {
    return this.#afterOtherLoads(async () => {
      const known = { mark: this.numberMark, fences: this.#fences, begun: this.#begun.get(input.runId) }
      const result = this.#database.isShared
        ? await loadBesideOthers(this.#database, known, input)
        : await this.#loadAlone(known, input)
      this.#begun.delete(input.runId)
      return result
    })
  }

  async #loadAlone(known: Omit<LoadPlace, 'database' | 'discovered'>, input: LoadInput): Promise<LoadResult> {
    const discovered = this.#discovered ?? (await discoveredColumns(this.#database))
    // A load that fails may have committed all the same, and made columns.
    this.#discovered = undefined
    const place = { ...known, database: this.#database, discovered }
    const result = await withThreads(this.#database, stagedBytes(input.segment), () =>
      withMemory(this.#database, () => load(place, input)),
    )
    if (result.changes.length === 0) this.#discovered = discovered
    return result
  }

  /** Gives the run its right to commit; the runs of that kind and report before it lose theirs. */
  takeFence(ask: FenceRequest): Promise<Fence> {
    return this.#database.transaction(async (sql) => {
      const fence = await this.#fences.take(sql, ask)
      // Beside others nobody knows whether an older run still lives; it can commit nothing any more.
      if (this.#database.isShared) await endOrphans(sql, ask)
      return fence
    })
  }

  /**
   * Says that a run has begun. The file learns it with the run's first load: a run that finds nothing new, which most
   * do, writes its record once, at its end.
   */
  beginRun(run: Omit<RunRecord, 'state' | 'endedAt'>): void {
    this.#begun.set(run.runId, { ...run, state: 'running', endedAt: undefined })
  }

  /** Writes or replaces the record of a run that writes no rows any more. */
  async recordRun(run: RunRecord): Promise<void> {
    this.#begun.delete(run.runId)
    await this.#database.transaction((sql) => recordRun(sql, run))
  }

  /** Where versions begin to be kept, columns may be renamed: no load may know them by the names from before. */
  recordReportStates(states: readonly ReportStateRow[]): Promise<void> {
    return this.#afterOtherLoads(async () => {
      this.#discovered = undefined
      await this.#database.transaction((sql) => recordReportStates(sql, states))
    })
  }

  /** Records that were shown as modified, or never asked about, since they were last asked. */
  dueRecords(ask: RecordsRequest): Promise<DueRecord[]> {
    return dueRecords(this.#database, ask)
  }

  /** Records to ask about again from the start, since they were last asked with another question; newest first. */
  recordsToAskAgain(ask: RepeatRequest): Promise<DueRecord[]> {
    return recordsToAskAgain(this.#database, ask)
  }

  /** When a record of the scopes that begin so was last asked about; undefined: none was. */
  lastAsked(report: ReportName, scopePrefix: string): Promise<Instant | undefined> {
    return lastAsked(this.#database, report, scopePrefix)
  }

  /** Loads that refused rows of the report, oldest first, and how many of them are still kept. */
  rejectingLoads(report: ReportName): Promise<{ loadId: number; rows: number }[]> {
    return rejectingLoads(this.#database, report)
  }

  withheldRows(report: ReportName): Promise<number> {
    return withheldRows(this.#database, report)
  }

  rejectedRows(ask: RejectedRowsRequest): Promise<RejectedRow[]> {
    return rejectedRows(this.#database, ask)
  }

  /** Reports that are skipped until somebody acts. */
  pauses(): Promise<Pause[]> {
    return pauses(this.#database)
  }

  pause(pause: Pause, now: Instant): Promise<void> {
    return this.#database.transaction((sql) => recordPause(sql, pause, now))
  }

  /** Gives those that are resumed. */
  resume(
    reports: readonly ReportName[],
    which: { readonly onlyRefused?: boolean } = {},
  ): Promise<readonly ReportName[]> {
    return this.#database.transaction((sql) => clearPauses(sql, reports, which))
  }

  coverage({ report, scope }: { report: ReportName; scope: string }): Promise<Coverage | undefined> {
    return coverageOf(this.#database, report, scope)
  }

  /** How the report's rows are kept, scope by scope (src/plan/privacy.ts). */
  keptAs(report: ReportName): Promise<(string | undefined)[]> {
    return keptAs(this.#database, report)
  }

  /** Forgets what the report's scopes were asked for that are not among `kept`: they are no longer asked about. */
  forgetCoverage(report: ReportName, kept: readonly string[]): Promise<void> {
    return this.#database.transaction((sql) => forgetCoverage(sql, report, kept))
  }

  recordCoverage(place: CoveragePlace, coverage: Coverage): Promise<void> {
    return this.#fenced(place.fence, (sql) => recordCoverage(sql, place, coverage))
  }

  /** Goes on with the report's reconcile that was stopped, or begins one. `startedAt`: the service's clock. */
  async reconcile(place: ReconcilePlace & WithFence, begun: OpenReconcile): Promise<OpenReconcile> {
    const open = await openReconcile(this.#database, place)
    if (open !== undefined) return open
    await this.#fenced(place.fence, (sql) => beginReconcile(sql, place, begun))
    return begun
  }

  reconciledRows(reconcileId: string): Promise<number> {
    return reconciledRows(this.#database, reconcileId)
  }

  /** Error: MASS_DELETE_STOPPED. */
  endReconcile(ending: ReconcileEnd & WithFence): Promise<ReconcileResult> {
    return this.#afterOtherLoads(() => this.#fenced(ending.fence, (sql) => endReconcile(sql, ending)))
  }

  /** What is known of reports before a backfill is planned. */
  get held(): BackfillBasis {
    return backfillBasis(this.#database)
  }

  /** What the report's pages were seen to hold when `pageSize` rows were asked for. */
  pageSizes(report: ReportName, pageSize: number): Promise<PageSizes> {
    return pageSizesOf(this.#database, { report, pageSize })
  }

  /** Remembers what was seen, beside what others have seen meanwhile. */
  learnPageSizes(place: PageSizePlace & WithFence, sizes: PageSizes): Promise<void> {
    return this.#fenced(place.fence, (sql) => learnPageSizes(sql, place, sizes))
  }

  /** Replaces the published copy, unless it holds this state already. */
  publish(to: string): Promise<PublishResult> {
    // A lake is read where it is: each of its snapshots is a cut.
    if (this.#database.isShared) return Promise.resolve({ path: this.#database.path, replaced: false })
    return this.#afterOtherLoads(() => publish(this.#database, to))
  }

  /** For reading: status, tests. Statements wait for a running load. */
  rows<T>(sql: string): Promise<T[]> {
    return this.#database.rows<T>(sql)
  }

  /** Makes the tables of a lake readable beside one's own. */
  attachLake(lake: LakePlace, as: string): Promise<void> {
    return attachLake(this.#database, lake, as)
  }

  /** False: the database has given up after a fatal error, and only opening its file anew brings it back. */
  answers(): Promise<boolean> {
    return this.#database.rows('SELECT 1').then(
      () => true,
      () => false,
    )
  }

  /** Writes what is committed from the log into the file. */
  checkpoint(): Promise<void> {
    // What merges the files of a lake is its operator's to choose.
    if (this.#database.isShared) return Promise.resolve()
    return this.#afterOtherLoads(() => this.#database.exclusive((run) => run('CHECKPOINT')))
  }

  /** Shortens the books of what ended before. */
  trimBooks(before: Instant): Promise<TrimResult> {
    return this.#afterOtherLoads(() => this.#database.transaction((sql) => trimBooks(sql, before)))
  }

  interrupt(): void {
    this.#database.interrupt()
  }

  async close(): Promise<void> {
    await this.#loads.catch(() => undefined)
    await this.#database.close()
    await this.#spill?.removeOwn()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #fenced<T>(fence: Fence | undefined, work: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#database.transaction(async (sql) => {
      await this.#fences.check(sql, fence)
      return work(sql)
    })
  }

  #afterOtherLoads<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#loads.then(async () => {
      await this.#file?.check()
      return work()
    })
    this.#loads = turn.catch(() => undefined)
    return turn
  }
}

/**
 * The warehouse as the stories see it: one DuckDB file, written by one process, one load at a time.
 */
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { ReportName } from '../../schema/index.ts'
import type { Instant } from '../instant.ts'
import type { DiscoveredColumn } from '../plan/columns.ts'
import { NO_PAGE_SIZES, type PageSizes } from '../plan/pageSizes.ts'
import {
  clearPauses,
  markOf,
  migrate,
  numberMark,
  type Pause,
  pauses,
  recordPause,
  recordReportStates,
  recordRun,
  type ReportStateRow,
  type RunRecord,
} from './books.ts'
import { type Coverage, coverageOf, recordCoverage } from './coverage.ts'
import { type AroundStatement, Database } from './duckdb.ts'
import { load, type LoadInput, type LoadResult } from './load.ts'
import { publish, type Published } from './publish.ts'
import {
  beginReconcile,
  type Ending,
  endReconcile,
  type OpenReconcile,
  openReconcile,
  type ReconcilePlace,
  reconciledRows,
  type ReconcileResult,
} from './reconcile.ts'
import { name, text } from './sqlText.ts'
import { discoveredColumns } from './tables.ts'

export interface WarehouseSettings {
  /** Absolute path, or `:memory:`. */
  readonly path: string
  /** DuckDB's memory limit, such as `1GB`. */
  readonly memory: string
  readonly threads?: number | undefined
  /** A door for a simulation: runs each statement. */
  readonly around?: AroundStatement | undefined
}

/** A record that an audit report has to ask about. */
export interface DueRecord {
  readonly scope: string
  readonly recordId: number
  /** Its own mark, once it was asked before. */
  readonly mark: Instant | undefined
}

export interface DueQuestion {
  readonly report: ReportName
  /** The followed report's table and key column. */
  readonly follows: string
  readonly keyColumn: string
  readonly scopePrefix: string
}

export class Warehouse implements AsyncDisposable {
  /** Stands before numbers that travel as text; staged rows carry it. */
  readonly numberMark: string
  readonly #database: Database
  #discovered: ReadonlyMap<string, readonly DiscoveredColumn[]>
  #loads: Promise<unknown> = Promise.resolve()

  private constructor(database: Database, mark: string, discovered: ReadonlyMap<string, readonly DiscoveredColumn[]>) {
    this.#database = database
    this.numberMark = mark
    this.#discovered = discovered
  }

  /** Opens or creates the warehouse and brings it to the newest layout. */
  static async open({ path, memory, threads, around }: WarehouseSettings): Promise<Warehouse> {
    if (path !== ':memory:') await mkdir(dirname(path), { recursive: true })
    const database = await Database.open(path, {
      memory,
      threads,
      around,
      ...(path === ':memory:' ? {} : { spillDirectory: `${path}.spill` }),
    })
    try {
      const mark = await database.transaction(async (sql) => {
        await migrate(sql, path)
        return numberMark(sql)
      })
      return new Warehouse(database, mark, await discoveredColumns(database))
    } catch (error) {
      await database.close()
      throw error
    }
  }

  /** The report's mark: everything modified at or before it is here. */
  mark(report: ReportName, scope: string): Promise<Instant | undefined> {
    return markOf(this.#database, report, scope)
  }

  /** Commits one load; loads wait for each other. */
  load(input: LoadInput): Promise<LoadResult> {
    return this.#afterOtherLoads(async () => {
      const result = await load(
        { database: this.#database, mark: this.numberMark, discovered: this.#discovered },
        input,
      )
      if (result.changes.length > 0) this.#discovered = await discoveredColumns(this.#database)
      return result
    })
  }

  recordRun(run: RunRecord): Promise<void> {
    return this.#database.transaction((sql) => recordRun(sql, run))
  }

  recordReportStates(states: readonly ReportStateRow[]): Promise<void> {
    return this.#database.transaction((sql) => recordReportStates(sql, states))
  }

  /** Records that were shown as modified, or never asked about, since they were last asked. */
  async dueRecords({ report, follows, keyColumn, scopePrefix }: DueQuestion): Promise<DueRecord[]> {
    const rows = await this.#database.rows<{ scope: string; recordId: number; mark: number | null }>(`
      SELECT k.scope, k.id AS "recordId", epoch_us(m.value) AS mark
      FROM (SELECT DISTINCT ${text(scopePrefix)} || "${keyColumn}" AS scope, "${keyColumn}" AS id FROM main."${follows}") k
      LEFT JOIN tidemark.followed f ON f.report = ${text(report)} AND f.scope = k.scope
      LEFT JOIN tidemark.marks m ON m.report = ${text(report)} AND m.scope = k.scope AND m.mark = 'since'
      WHERE m.value IS NULL OR f.ask_after > f.asked_at OR (f.ask_after IS NOT NULL AND f.asked_at IS NULL)
      ORDER BY k.id`)
    return rows.map(({ scope, recordId, mark }) => ({
      scope,
      recordId,
      mark: (mark ?? undefined) as Instant | undefined,
    }))
  }

  /** How many rows of a scope (a currency, or '') are held that are not deleted. */
  async liveRows(report: ReportName, scope: string): Promise<number> {
    const inScope = scope === '' ? '' : ` AND target_currency = ${text(scope)}`
    const [row] = await this.#database.rows<{ rows: number }>(
      `SELECT count(*) AS rows FROM main.${name(report)} WHERE NOT is_deleted${inScope}`,
    )
    return row?.rows ?? 0
  }

  /** Reports that are skipped until somebody acts. */
  pauses(): Promise<Pause[]> {
    return pauses(this.#database)
  }

  pause(pause: Pause, now: Instant): Promise<void> {
    return this.#database.transaction((sql) => recordPause(sql, pause, now))
  }

  resume(reports: readonly ReportName[]): Promise<void> {
    return this.#database.transaction((sql) => clearPauses(sql, reports))
  }

  coverage({ report, scope }: { report: ReportName; scope: string }): Promise<Coverage | undefined> {
    return coverageOf(this.#database, report, scope)
  }

  recordCoverage(place: { report: ReportName; scope: string }, coverage: Coverage): Promise<void> {
    return this.#database.transaction((sql) => recordCoverage(sql, place, coverage))
  }

  /** Goes on with the report's reconcile that was stopped, or begins one. `startedAt`: the service's clock. */
  async reconcile(place: ReconcilePlace, begun: OpenReconcile): Promise<OpenReconcile> {
    const open = await openReconcile(this.#database, place)
    if (open !== undefined) return open
    await this.#database.transaction((sql) => beginReconcile(sql, place, begun))
    return begun
  }

  reconciledRows(reconcileId: string): Promise<number> {
    return reconciledRows(this.#database, reconcileId)
  }

  /** Error: MASS_DELETE_STOPPED. */
  endReconcile(ending: Ending): Promise<ReconcileResult> {
    return this.#afterOtherLoads(() => this.#database.transaction((sql) => endReconcile(sql, ending)))
  }

  /** What the report's pages were seen to hold when `pageSize` rows were asked for. */
  async pageSizes(report: ReportName, pageSize: number): Promise<PageSizes> {
    const [known] = await this.#database.rows<{ fullMin: number | null; seenMax: number }>(
      'SELECT full_min AS "fullMin", seen_max AS "seenMax" FROM tidemark.page_sizes WHERE report = $1 AND asked = $2',
      [report, pageSize],
    )
    return known === undefined ? NO_PAGE_SIZES : { fullMin: known.fullMin ?? undefined, seenMax: known.seenMax }
  }

  learnPageSizes(report: ReportName, pageSize: number, sizes: PageSizes): Promise<void> {
    return this.#database.transaction(async (sql) => {
      await sql.run('DELETE FROM tidemark.page_sizes WHERE report = $1', [report])
      await sql.run('INSERT INTO tidemark.page_sizes VALUES ($1, $2, $3, $4)', [
        report,
        pageSize,
        sizes.fullMin ?? null,
        sizes.seenMax,
      ])
    })
  }

  /** Replaces the published copy, unless it holds this state already. */
  publish(to: string): Promise<Published> {
    return this.#afterOtherLoads(() => publish(this.#database, to))
  }

  /** For reading: status, tests. Statements wait for a running load. */
  rows<T>(sql: string): Promise<T[]> {
    return this.#database.rows<T>(sql)
  }

  interrupt(): void {
    this.#database.interrupt()
  }

  async close(): Promise<void> {
    await this.#loads.catch(() => undefined)
    await this.#database.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #afterOtherLoads<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#loads.then(work, work)
    this.#loads = turn.catch(() => undefined)
    return turn
  }
}

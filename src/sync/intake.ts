/**
 * From scanned pages to committed loads. Pages are spooled as they come; a full segment is loaded while the next one
 * fills; a window is closed by the load that holds its last row, or a later one, never by an earlier one.
 */
import { rm } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { ReportName } from '../../schema/index.ts'
import type { Declaration } from '../../schema/report.ts'
import { asSyncError, type ErrorCode } from '../errors.ts'
import type { Instant } from '../instant.ts'
import { unobserved } from '../observe.ts'
import type { ObjectCatalog } from '../staging/catalog.ts'
import { catalogOf } from '../staging/rowCatalog.ts'
import type { ScannedPage } from '../staging/scanPage.ts'
import { filesOf, type Segment, Spool, type SpoolPoint, type StagedPage } from '../staging/spool.ts'
import { checkSegment } from '../staging/stagedFiles.ts'
import type { ClosedWindow, RunRecord } from '../warehouse/books/books.ts'
import type { LoadInput, LoadResult } from '../warehouse/load/load.ts'
import { noFigures } from './figures.ts'
import { loadRules } from './loadRules.ts'
import type { WalkContext } from './context.ts'

export interface IntakeParts {
  readonly report: Declaration
  readonly runId: string
  readonly followers?: LoadInput['followers']
  /**
   * Where a load may end: `anywhere`; or `between windows`, since what rows mean is only known when their window is
   * closed (differences), or since a load replaces a window whole (audit entries).
   */
  readonly cuts: 'anywhere' | 'between windows'
  /** The reconcile that the loads are part of. */
  readonly reconcileId?: string | undefined
}

/** What the next load takes along. */
export interface Settled {
  readonly window: ClosedWindow
  /** How far a reconcile is with it, on its own axis of time. */
  readonly reached?: Instant
  /** Keys that a second read showed to be deleted in the window (budgets). */
  readonly gone?: LoadInput['gone']
  readonly replaces?: NonNullable<LoadInput['replaces']>[number]
  readonly asked?: NonNullable<LoadInput['asked']>[number]
}

/** What a load ends in where a file is missing: it is read in several statements. */
const UNREADABLE: readonly ErrorCode[] = ['LOAD_REFUSED', 'UNEXPECTED']

export class Intake implements AsyncDisposable {
  readonly catalog: ObjectCatalog
  readonly figures = noFigures()
  /** What the windows before had asked for, while a later one is read: its loads count late rows. */
  askedBefore: LoadInput['askedBefore']
  /** What is read from here on is asked for whether or not it was modified. */
  rereads: boolean
  readonly #context: WalkContext
  readonly #parts: IntakeParts
  readonly #spool: Spool
  #settled: Settled[] = []
  #loading: Promise<void> = Promise.resolve()

  constructor(context: WalkContext, parts: IntakeParts) {
    const { settings } = context
    this.#context = context
    this.#parts = parts
    this.rereads = parts.reconcileId !== undefined
    this.catalog = catalogOf(parts.report)
    const directory = join(settings.staging, `${parts.runId}-${parts.report.name}-${nextSpool()}`)
    const cutsBetweenPages = parts.cuts === 'anywhere'
    this.#spool = new Spool(directory, this.catalog, { ...settings.limits, cutsBetweenPages })
  }

  async add(page: ScannedPage, servedAt: Instant, asked: StagedPage['asked']): Promise<void> {
    await this.#spool.add(page, servedAt, asked)
    if (this.#parts.cuts === 'anywhere') await this.#loadWhatIsFull()
  }

  /** From here on, pages may be taken back: the walk that brought them did not come to a proof. */
  point(): Promise<SpoolPoint> {
    return this.#spool.point()
  }

  takeBack(point: SpoolPoint): Promise<void> {
    return this.#spool.takeBack(point)
  }

  /** The window is proven and all of its rows were added: the next load closes it. */
  async settle(settled: Settled): Promise<void> {
    this.#settled.push(settled)
    await this.#loadWhatIsFull()
  }

  /** Loads everything added so far; `run` goes into the books with the last load. */
  async commit(run?: RunRecord): Promise<void> {
    const segments = await this.#spool.takeRest()
    await this.#loading
    const full = segments.filter((segment) => segment.rows > 0 || segment.rejected.length > 0 || this.#replacesEntries)
    for (const segment of full.slice(0, -1)) await this.#load({ segment, settled: [] })
    const segment = full.at(-1)
    const settled = this.#takeSettled()
    if (segment === undefined && settled.length === 0 && run === undefined) return
    await this.#load({ segment, settled, run })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loading.catch(() => undefined)
    await this.#spool[Symbol.asyncDispose]()
  }

  get #replacesEntries(): boolean {
    return this.#parts.report.perRecord !== undefined
  }

  #takeSettled(): Settled[] {
    const settled = this.#settled
    this.#settled = []
    return settled
  }

  /** One load at a time runs beside the walk; the walk waits only when the next segment is full before it ends. */
  async #loadWhatIsFull(): Promise<void> {
    await this.#spool.cutWhenFull()
    for (const segment of this.#spool.takeFull()) {
      const settled = this.#takeSettled()
      await this.#loading
      this.#loading = this.#load({ segment, settled })
      this.#loading.catch(() => undefined)
    }
  }

  async #load({ segment, settled, run }: OneLoad): Promise<void> {
    const { client, clock, signal, fence, settings, observe = unobserved } = this.#context
    const { report, runId, followers, reconcileId } = this.#parts
    const reached = settled.findLast((each) => each.reached !== undefined)?.reached
    signal.throwIfAborted()
    const input = {
      report,
      runId,
      now: clock.now(),
      serviceNow: client.serviceNow(),
      segment,
      followers: followers ?? [],
      rereads: this.rereads,
      closes: settled.map((each) => each.window),
      gone: report.deletes === 'diff' ? settled.flatMap((each) => each.gone ?? []) : undefined,
      replaces: this.#replacesEntries ? settled.flatMap((each) => each.replaces ?? []) : undefined,
      asked: settled.flatMap((each) => each.asked ?? []),
      askedBefore: this.askedBefore,
      reconcile: reconcileId === undefined ? undefined : { reconcileId, reached },
      fence,
      rules: loadRules(settings.reports[report.name as ReportName]),
      run: run === undefined ? undefined : this.#withFigures(run),
    } satisfies LoadInput
    const result = await observe({ what: 'load', report: report.name }, async (note) => {
      const loaded = await this.#loaded(input)
      note({ rows: loaded.rows, inserted: loaded.inserted, updated: loaded.updated, rejected: loaded.rejected })
      return loaded
    })
    this.#count(result)
    for (const file of segment === undefined ? [] : filesOf(segment)) await rm(file, { force: true })
  }

  async #loaded(input: LoadInput): Promise<LoadResult> {
    try {
      return await this.#context.warehouse.load(input)
    } catch (error) {
      // What the warehouse says of a file that went away under it is worth less than that it went away.
      if (input.segment !== undefined && UNREADABLE.includes(asSyncError(error).code)) await checkSegment(input.segment)
      throw error
    }
  }

  #withFigures(run: RunRecord): RunRecord {
    const { inserted, updated, deleted, rejected } = this.figures
    return {
      ...run,
      inserted: run.inserted + inserted,
      updated: run.updated + updated,
      deleted: run.deleted + deleted,
      rejected: run.rejected + rejected,
    }
  }

  #count(result: LoadResult): void {
    const { figures } = this
    figures.rows += result.rows
    figures.inserted += result.inserted
    figures.updated += result.updated
    figures.deleted += result.deleted
    figures.rejected += result.rejected
    figures.childrenWritten += result.childrenWritten
    const frozen = result.changes.flatMap(({ table, change }) =>
      'column' in change ? [] : [`${table}.${change.field}`],
    )
    figures.schemaChanges += result.changes.length - frozen.length
    figures.frozen = [...figures.frozen, ...frozen]
    figures.late += result.late?.late ?? 0
    figures.latenessMs = Math.max(figures.latenessMs, result.late?.latenessMs ?? 0)
  }
}

interface OneLoad {
  readonly segment: Segment | undefined
  readonly settled: readonly Settled[]
  readonly run?: RunRecord | undefined
}

/** Several processes share the staging directory, also for one run. */
const PROCESS = randomUUID().slice(0, 8)
let spools = 0
const nextSpool = (): string => {
  spools += 1
  return `${PROCESS}-${spools}`
}

/**
 * One incremental run of one windowed report: cut the window on the service's clock, prove it piece by piece, load what
 * came, and move the mark in the transaction that holds the last row before it.
 */
import { type ReportName, reportOf } from '../../schema/index.ts'
import type { Declaration } from '../../schema/report.ts'
import { earliest, type Instant, millisBetween, plusMs } from '../instant.ts'
import { merged, provenUpTo } from '../plan/intervals.ts'
import { askedBefore } from '../plan/lateness.ts'
import { KeySet } from '../plan/keySet.ts'
import { marksOf } from '../plan/marks.ts'
import { type Span, splitAt, youngFrom } from '../plan/spans.ts'
import { type Before, CLOCK_GRAIN_MS, markAfter, nextWindow, reachesBack } from '../plan/window.ts'
import type { RunRecord } from '../warehouse/books/books.ts'
import type { GoneKey } from './walk/difference.ts'
import { fenced } from './fenced.ts'
import { addFigures, type Figures, noFigures } from './figures.ts'
import { type Rooms, scopesOf } from './rooms.ts'
import { openCoverage } from './refill.ts'
import { Scope, totalNow } from './walk/scope.ts'
import { serviceClock } from './walk/serviceClock.ts'
import { type ProvenAs, WindowReader } from './walk/windowReader.ts'

export interface ReportRun {
  readonly runId: string
  readonly report: ReportName
  readonly startedAt: Instant
  readonly pages: number
  readonly figures: Figures
}

/** Runs the report once in each of its scopes (currencies, or one). Errors: those of walks and loads. */
export async function syncReport(given: Rooms, report: ReportName, runId: string): Promise<ReportRun> {
  const declaration = reportOf(report)
  const startedAt = given.clock.now()
  const rooms = await fenced(given, { report, kind: 'incremental', holder: runId })
  const scopes = scopesOf(rooms.settings, declaration)
  const run = { runId, report, startedAt, pages: 0, figures: noFigures() }
  for (const [index, scope] of scopes.entries()) {
    const pulled = await pullScope(rooms, { declaration, scope, run, isLast: index === scopes.length - 1 })
    run.pages += pulled.pages
    addFigures(run.figures, pulled.figures)
  }
  return run
}

interface ScopePull {
  readonly declaration: Declaration
  readonly scope: string
  /** The run so far: figures of the scopes before. */
  readonly run: ReportRun
  readonly isLast: boolean
}

async function pullScope(rooms: Rooms, pull: ScopePull): Promise<{ pages: number; figures: Figures }> {
  const { declaration, run } = pull
  const config = rooms.settings.reports[run.report]
  const last = await rooms.warehouse.lastWindow(run.report, pull.scope)
  const { mark } = last
  const clock = await serviceClock(rooms, declaration, { currency: pull.scope })
  const agoMs = last.begunAt && millisBetween(last.begunAt, rooms.clock.now())
  const window = nextWindow({ ...last, agoMs }, clock, { ...config, sinceRequired: declaration.window.required })
  const sizes = await rooms.warehouse.pageSizes(run.report, config.pageSize)
  const before = { pages: run.pages, rows: run.figures.rows }
  await using scope = new Scope(rooms, {
    declaration,
    config,
    scope: pull.scope,
    runId: run.runId,
    window,
    sizes,
    before,
  })
  const progress = new Marks(scope, { ...last, agoMs })
  const refilled = await openCoverage(rooms, scope, mark)
  if (window.since === undefined) await pullEverything(scope, progress)
  else {
    scope.intake.askedBefore = askedBefore(last, clock, config.settleMs)
    await progress.read({ since: window.since, until: window.until })
  }
  await refilled({
    everything: () => pullEverything(scope, progress.forOldRows()),
    part: (span) => progress.forOldRows().read(span),
  })
  if (scope.sizes !== sizes) {
    const { pageSize } = config
    await rooms.warehouse.learnPageSizes({ report: run.report, pageSize, knew: sizes, fence: rooms.fence }, scope.sizes)
  }
  const pages = progress.pages
  await scope.intake.commit(pull.isLast ? doneRun(rooms, run, { pages, rows: scope.rows }) : undefined)
  return { pages, figures: scope.intake.figures }
}

/**
 * The first run of a report that needs no bounds reads without them: rows that were never edited may match no
 * modification filter. One response may hold it all; else it is read by time of creation, which never changes, and the
 * totals with and without bounds say whether every row has such a time. If not, everything is walked.
 */
async function pullEverything(scope: Scope, marks: Marks): Promise<void> {
  const { declaration, config, window } = scope.parts
  const everything: Span = { since: undefined, until: window.until }
  const first = await scope.proveSingle()
  if (first.kind === 'proven') return marks.close(everything, first)
  const hasCreated = config.askCreated && declaration.created !== undefined
  const byCreation = hasCreated ? await pullByCreation(scope, everything, first.overfull.total) : undefined
  const proven = byCreation ?? (await scope.proveEverything())
  if (proven !== undefined) await marks.close(everything, proven)
}

/**
 * Reads everything by time of creation; `total` is what the first answer told. Gives how it was proven; undefined where
 * rows may have no such time.
 */
async function pullByCreation(
  scope: Scope,
  everything: Span,
  total: number | undefined,
): Promise<ProvenAs | undefined> {
  const { config, window } = scope.parts
  const sum = { rows: 0, proofs: new Set<string>(), keys: new KeySet() }
  // In a longer walk a few requests more are nothing, and keys by the million are much.
  const isSmall = (total ?? Infinity) <= scope.rooms.settings.limits.loadRowsMax
  // The old part can be read page by page, so it is asked for by itself.
  const spans = splitAt(everything, youngFrom(window.clock, config.overlapMs)) ?? [everything]
  await scope.proveAll('created', spans, (_, proven) => {
    sum.rows += proven.rows
    sum.proofs.add(proven.proof)
    // A row on the instant where two spans meet came twice; counted so, it could stand in for one without a creation time.
    if (isSmall) for (const key of proven.keys) sum.keys.add(key)
    return Promise.resolve()
  })
  await scope.intake.commit()
  const isQuiet = isSmall && total === sum.keys.size && !sum.proofs.has('agreed')
  const totalCount = await totalOfCreated(scope, isQuiet ? sum.keys.size : undefined)
  return totalCount === undefined
    ? undefined
    : { proof: [...sum.proofs].toSorted().join('+'), rows: sum.rows, totalCount }
}

/**
 * The total without bounds, if the total by time of creation is the same: then every row has such a time. Both are
 * asked for now and not compared with what came, since a busy service adds and loses rows while it is read.
 */
async function totalOfCreated(scope: Scope, rows: number | undefined): Promise<number | undefined> {
  // As many rows with a creation time as there were in all before they were read: if there still are, nothing more is asked.
  if (rows !== undefined && (await totalNow(scope)) === rows) return rows
  for (let attempt = 1; attempt <= scope.rooms.settings.limits.walkAttemptsMax; attempt += 1) {
    const clock = await serviceClock(scope.rooms, scope.parts.declaration, { currency: scope.parts.scope })
    const created = { since: undefined, until: plusMs(clock, CLOCK_GRAIN_MS) }
    // Asked before and after: a row that goes between two answers would stand in for one without a time of creation.
    const before = await totalNow(scope)
    const bounded = await totalNow(scope, { created })
    if (before === bounded && bounded === (await totalNow(scope))) return bounded
  }
  return undefined
}

/** Reads windows, closes them and says which marks they move. */
class Marks {
  readonly #scope: Scope
  readonly #reader: WindowReader
  readonly #before: Before
  #proven: readonly Span[] = []
  #mark: Instant | undefined
  #movesMarks = true

  constructor(scope: Scope, before: Before) {
    this.#scope = scope
    this.#reader = new WindowReader(scope)
    this.#before = before
    this.#mark = before.mark
  }

  get pages(): number {
    return this.#reader.pages
  }

  /** From here on rows are read again that lie behind the mark: that moves no mark, nothing of it is late or modified. */
  forOldRows(): this {
    this.#movesMarks = false
    this.#scope.intake.askedBefore = undefined
    this.#scope.intake.rereads = true
    return this
  }

  /** A proven slice moves the mark. */
  read(span: Span): Promise<void> {
    return this.#reader.read(span, (slice, proven, gone) => this.close(slice, proven, gone))
  }

  async close(span: Span, proven: ProvenAs, gone?: readonly GoneKey[]): Promise<void> {
    const { declaration, config, window } = this.#scope.parts
    const clock = this.#reader.knownUntil
    const until = earliest(span.until, clock)
    this.#proven = merged([...this.#proven, { since: span.since, until }])
    // Windows may be proven in any order; only what is proven without a gap counts.
    const reached = provenUpTo(this.#mark ?? window.since, this.#proven) ?? until
    const value = markAfter(this.#mark, { since: window.since, until: reached, clock }, config.settleMs)
    this.#mark = value
    const isMoved = this.#movesMarks && this.#reachesBack(clock)
    const marks = isMoved ? marksOf(declaration).map((mark) => ({ mark, value })) : []
    await this.#reader.close(span, proven, { gone, marks })
  }

  /**
   * Where the first answer says that the clock on which the window was cut had been set back, the window may begin too
   * late. Then it leaves the mark as it was, and with it where the next one begins.
   */
  #reachesBack(clock: Instant): boolean {
    const { declaration, config, window } = this.#scope.parts
    const rules = { ...config, sinceRequired: declaration.window.required }
    return clock === window.clock || reachesBack(window, this.#before, { clock, rules })
  }
}

function doneRun(rooms: Rooms, run: ReportRun, last: { pages: number; rows: number }): RunRecord {
  const { inserted, updated, deleted, rejected, rows } = run.figures
  return {
    runId: run.runId,
    report: run.report,
    kind: 'incremental',
    state: 'done',
    startedAt: run.startedAt,
    endedAt: rooms.clock.now(),
    pages: run.pages + last.pages,
    rows: rows + last.rows,
    inserted,
    updated,
    deleted,
    rejected,
  }
}

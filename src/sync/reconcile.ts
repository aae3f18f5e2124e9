/**
 * A reconcile compares a whole report with the service: first an incremental run, so that what is merely new isn't
 * taken for an error, then every row there is, in proven slices. What differs is repaired by the same merge as ever and
 * counted: that count is Tidemark's own error rate. Rows that don't come twice in a row are deleted.
 */
import { type ReportName, reportOf } from '../../schema/index.ts'
import type { Declaration } from '../../schema/report.ts'
import { SyncError } from '../errors.ts'
import { DAY_MS, earliest, type Instant, plusMs } from '../instant.ts'
import { type Span, youngFrom } from '../plan/spans.ts'
import { FIRST, floorToSecond, nextWindow } from '../plan/window.ts'
import type { OpenReconcile } from '../warehouse/load/reconcile.ts'
import type { GoneKey } from './walk/difference.ts'
import { withFence } from './context.ts'
import type { Proven } from './walk/pageWalk.ts'
import { type SyncContext, scopesOf } from './context.ts'
import { type Axis, Scope, totalNow, totalOfCreated } from './walk/scope.ts'
import { serviceClock } from './walk/serviceClock.ts'
import { WindowReader } from './walk/windowReader.ts'
import { type ReportRun, syncReport } from './syncReport.ts'

/** A row may be stamped by a clock that is far ahead: as long as it is shown, it isn't deleted. */
const FUTURE_MS = 100 * 366 * DAY_MS

export interface ReconcileOptions {
  readonly runId: string
  readonly allowMassDelete: boolean
  /** Does the incremental run before it; whoever schedules runs keeps it from meeting another one. */
  readonly before?: () => Promise<ReportRun>
}

export interface ReconcileFound {
  /** Distinct rows that the service has. */
  readonly rows: number
  /** Rows that the warehouse had missed. */
  readonly missed: number
  /** Rows that had changed without a sign. */
  readonly differed: number
  /** Rows that the service didn't return, for the first time. */
  readonly absent: number
  readonly deleted: number
}

/** Reconciles one windowed report in all of its scopes. Errors: those of a run; MASS_DELETE_STOPPED. */
export async function reconcileReport(
  given: SyncContext,
  report: ReportName,
  options: ReconcileOptions,
): Promise<ReportRun & { found: ReconcileFound }> {
  const declaration = reportOf(report)
  if (declaration.perRecord !== undefined) throw notReconcilable(report)
  const before = await (options.before?.() ?? syncReport(given, report, options.runId))
  const context = await withFence(given, { report, kind: 'reconcile', holder: options.runId })
  const scopes = scopesOf(context.settings, declaration)
  const found = { rows: 0, missed: 0, differed: 0, absent: 0, deleted: 0 }
  let { pages } = before
  // What the run itself has written; a reconcile that was stopped has found more.
  let { inserted, updated } = before.figures
  for (const scope of scopes) {
    const one = await reconcileScope(context, { declaration, scope, options })
    pages += one.pages
    for (const figure of Object.keys(found) as (keyof ReconcileFound)[]) found[figure] += one.found[figure]
    inserted += one.inserted
    updated += one.updated
  }
  const deleted = before.figures.deleted + found.deleted
  const figures = { ...before.figures, rows: found.rows, inserted, updated, deleted }
  const run = { ...before, pages, figures }
  const endedAt = context.clock.now()
  await context.warehouse.recordRun({ ...run, ...figures, kind: 'reconcile', state: 'done', endedAt })
  return { ...run, found }
}

interface ScopeReconcile {
  readonly declaration: Declaration
  readonly scope: string
  readonly options: ReconcileOptions
}

async function reconcileScope(
  context: SyncContext,
  { declaration, scope: name, options }: ScopeReconcile,
): Promise<{ pages: number; inserted: number; updated: number; found: ReconcileFound }> {
  const config = context.settings.reports[declaration.name as ReportName]
  const clock = await serviceClock(context, declaration, { currency: name })
  const begun = {
    reconcileId: options.runId + (name === '' ? '' : `-${name}`),
    startedAt: floorToSecond(clock),
    reached: undefined,
  }
  const { start, filters } = config
  const place = { report: declaration, scope: name, asked: { start, filters }, fence: context.fence }
  const open = await context.warehouse.reconcile(place, begun)
  const window = nextWindow(FIRST, clock, { ...config, sinceRequired: declaration.window.required })
  const sizes = await context.warehouse.pageSizes(config.name, config.pageSize)
  const { runId } = options
  const before = { pages: 0, rows: 0 }
  const { reconcileId } = open
  await using scope = new Scope(context, {
    declaration,
    config,
    scope: name,
    runId,
    window,
    sizes,
    before,
    source: { kind: 'reconcile', reconcileId },
  })
  const reading = new Reading(scope, open, context.warehouse)
  await reading.everything()
  const { startedAt } = open
  const ending = { ...place, reconcileId, runId, startedAt, now: context.clock.now() }
  const found = await context.warehouse.endReconcile({ ...ending, allowMassDelete: options.allowMassDelete })
  const { inserted, updated } = scope.intake.figures
  return { pages: reading.pages, inserted, updated, found }
}

/** Reads a scope whole: in slices of time that are proven one by one, then what changed while they were read. */
class Reading {
  readonly #scope: Scope
  readonly #warehouse: SyncContext['warehouse']
  readonly #reader: WindowReader
  readonly #open: OpenReconcile
  readonly #axis: Axis | undefined
  #clock: Instant

  constructor(scope: Scope, open: OpenReconcile, warehouse: SyncContext['warehouse']) {
    const { declaration, config } = scope.parts
    this.#scope = scope
    this.#warehouse = warehouse
    this.#open = open
    this.#clock = scope.parts.window.clock
    this.#reader = new WindowReader(scope)
    // A row's time of creation never changes, so no row moves from slice to slice while they are read.
    this.#axis = declaration.window.required
      ? 'window'
      : config.askCreated && declaration.created
        ? 'created'
        : undefined
  }

  get pages(): number {
    return this.#reader.pages
  }

  async everything(): Promise<void> {
    const { declaration, window, config } = this.#scope.parts
    if (this.#axis === undefined) return this.#unbounded()
    const { reached } = this.#open
    const from = reached ?? config.start
    const first: Span[] =
      declaration.window.required || reached !== undefined ? [] : [{ since: undefined, until: config.start }]
    await this.#slices([...first, { since: from, until: window.until }])
    await this.#catchUp()
    if (declaration.window.required) return
    // The total without bounds says whether the slices hold every row there is.
    const total = await totalNow(this.#scope)
    if (total === (await this.#warehouse.reconciledRows(this.#open.reconcileId))) return
    // Rows may have come or gone since: then it is enough that none is without a time of creation.
    if ((await totalOfCreated(this.#scope)) === undefined) await this.#unbounded()
  }

  /** What came or moved while the slices were read, and what is stamped in the future: it is there all the same. */
  async #catchUp(): Promise<void> {
    const { context, parts } = this.#scope
    const clock = await serviceClock(context, parts.declaration, { currency: parts.scope })
    this.#clock = clock
    const since = youngFrom(this.#open.startedAt, parts.config.overlapMs)
    await this.#slices([{ since, until: plusMs(clock, FUTURE_MS) }])
    await this.#scope.intake.commit()
  }

  async #slices(spans: readonly Span[]): Promise<void> {
    const axis = this.#axis ?? 'window'
    await this.#reader.slices(axis, spans, (span, proven, gone) => this.#settle(span, proven, gone))
  }

  async #unbounded(): Promise<void> {
    const proven = await this.#scope.proveEverything()
    if (proven !== undefined) await this.#settle({ since: undefined, until: this.#scope.parts.window.until }, proven)
    await this.#scope.intake.commit()
  }

  async #settle(span: Span, proven: Proven, gone?: readonly GoneKey[]): Promise<void> {
    const { rows, totalCount, proof } = proven
    // A window is known to be complete up to the service's clock, whatever time it asked for.
    const reached: Instant = earliest(span.until, this.#clock)
    const window = {
      since: span.since,
      until: reached,
      scope: this.#scope.parts.scope,
      proof,
      pages: this.#reader.takePages(),
      rows,
      totalCount,
      marks: [],
    }
    await this.#scope.intake.close({ window, reached, gone })
  }
}

function notReconcilable(report: ReportName): SyncError {
  return new SyncError('USAGE_INVALID', `${report} is not reconciled: its entries never change`, {
    cure: 'Name a report with rows of its own, such as events or enquiries.',
    report,
  })
}

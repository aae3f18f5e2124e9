/**
 * Plans the windows of a backfill by the number of rows over time. The numbers come from totals or, without totals,
 * from the stored rows.
 */
import { type ReportName, reportOf } from '../../../schema/index.ts'
import type { Declaration } from '../../../schema/report.ts'
import {
  type CountedRange,
  type WindowRange,
  type Range,
  requestsFor,
  rowsAWindow,
  rowsIn,
  windowsByRows,
  windowsByTime,
} from '../../plan/backfillWindows.ts'
import type { PagingProfile } from '../../plan/pagingProfile.ts'
import type { Question } from '../../plan/question.ts'
import { canSplit } from '../../plan/spans.ts'
import { ObjectCatalog } from '../../staging/catalog.ts'
import type { PlannedWindow, BackfillBooks } from '../../warehouse/books/backfills.ts'
import type { BackfillBasis } from '../../warehouse/books/backfillBasis.ts'
import { refuseAgain } from '../pauses.ts'
import { PageSource } from '../walk/pageSource.ts'
import { type WalkContext, scopesOf } from '../context.ts'
import { type BackfillRequest, nameBackfill, type NamedBackfill } from './backfillRequest.ts'

export interface PlanAsk {
  readonly report: ReportName
  readonly since: Range['since']
  readonly until: Range['until']
  readonly basis: BackfillBasis
}

export interface BackfillPlan {
  readonly windows: readonly PlannedWindow[]
  readonly requestsSent: number
}

/** Maximum number of requests for totals. A small range needs only one request per `PAGES_PER_TOTAL` pages of rows. */
const TOTALS_MAX = 16
const PAGES_PER_TOTAL = 4

/** Plans the windows of a backfill. Writes nothing to the warehouse. Throws the client's errors. */
export async function planBackfill(context: WalkContext, ask: PlanAsk): Promise<BackfillPlan> {
  const declaration = reportOf(ask.report)
  const { pageSize } = context.settings.reports[ask.report]
  const profile = await ask.basis.pagingProfile(ask.report, pageSize)
  const pageRows = Math.min(pageSize, profile.fullPageRows ?? pageSize)
  const planning = new Planning(context, { ask, declaration, profile, pageRows })
  const scopes = scopesOf(context.settings, declaration)
  if (declaration.answer === 'envelope') refuseAgain(await ask.basis.pauses(), ask.report, context.settings)
  const windows: Omit<PlannedWindow, 'number'>[] = []
  for (const scope of scopes) windows.push(...(await planning.windowsOf(scope)))
  const newestFirst = windows.toSorted((a, b) => b.until - a.until)
  return {
    windows: newestFirst.map((window, index) => ({ ...window, number: index + 1 })),
    requestsSent: planning.asked,
  }
}

interface PlanningContext {
  readonly ask: PlanAsk
  readonly declaration: Declaration
  readonly profile: PagingProfile
  readonly pageRows: number
}

class Planning {
  readonly #context: WalkContext
  readonly #parts: PlanningContext
  readonly #reader: PageSource

  constructor(context: WalkContext, parts: PlanningContext) {
    this.#context = context
    this.#parts = parts
    this.#reader = new PageSource(
      { ...context, priority: 'behind' },
      { report: parts.declaration, pageSize: 1, catalog: new ObjectCatalog(), profile: parts.profile },
    )
  }

  get asked(): number {
    return this.#reader.pages
  }

  async windowsOf(scope: string): Promise<Omit<PlannedWindow, 'number'>[]> {
    const { ask, declaration, pageRows } = this.#parts
    const costs = { pageRows, answer: declaration.answer, readsTwice: await ask.basis.readsTwice(declaration) }
    return (await this.#cuts(scope)).map(({ since, until, rows }) => ({
      scope,
      since,
      until,
      plannedRows: rows === undefined ? undefined : rowsIn({ rows }),
      plannedRequests: requestsFor(rows, costs),
    }))
  }

  async #cuts(scope: string): Promise<WindowRange[]> {
    const { ask, declaration } = this.#parts
    const range = { since: ask.since, until: ask.until }
    const known =
      declaration.answer === 'envelope'
        ? await this.#totals(scope, range)
        : await ask.basis.rowDensity({ report: declaration, scope, span: range })
    if (known === undefined) return windowsByTime(range)
    return windowsByRows(known, this.#rowsAWindow(known.reduce((sum, part) => sum + rowsIn(part), 0)))
  }

  #rowsAWindow(total: number): number {
    const { loadRowsMax } = this.#context.settings.limits
    return rowsAWindow(total, { pageRows: this.#parts.pageRows, loadRowsMax })
  }

  /**
   * Halves the part with the most rows again and again. Totals show how many rows each half has. Returns undefined if
   * the service sends no totals.
   */
  async #totals(scope: string, range: Range): Promise<CountedRange[] | undefined> {
    const whole = await this.#count(scope, range)
    if (whole === undefined) return undefined
    const parts = [whole]
    const rowsEach = this.#rowsAWindow(rowsIn(whole))
    const worth = Math.ceil(rowsIn(whole) / (PAGES_PER_TOTAL * this.#parts.pageRows))
    for (let asked = 1; asked < Math.min(TOTALS_MAX, worth); asked += 1) {
      const at = parts.reduce(
        (best, part, index) => (rowsIn(part) > rowsIn(parts[best] as CountedRange) ? index : best),
        0,
      )
      const fullest = parts[at] as CountedRange
      if (!canSplit(fullest) || rowsIn(fullest) <= rowsEach) break
      const middle = Math.floor((fullest.since + fullest.until) / 2) as Range['since']
      const first = await this.#count(scope, { since: fullest.since, until: middle })
      if (first === undefined) break
      const rows = fullest.rows.map((each, axis) => Math.max(0, each - (first.rows[axis] ?? 0)))
      parts.splice(at, 1, first, { since: middle, until: fullest.until, rows })
    }
    return parts
  }

  async #count(scope: string, range: Range): Promise<CountedRange | undefined> {
    const { ask, declaration } = this.#parts
    const config = this.#context.settings.reports[ask.report]
    const currency = declaration.currency === undefined ? undefined : scope
    const question: Question = { expand: [], filters: config.filters, currency }
    const axes: Question[] = [
      { ...question, window: range },
      ...(config.askCreated && declaration.created !== undefined ? [{ ...question, created: range }] : []),
    ]
    const rows: number[] = []
    for (const axis of axes) {
      const { page } = await this.#reader.read(axis, 1)
      if (page.envelope.totalCount === undefined) return undefined
      rows.push(page.envelope.totalCount)
    }
    return { ...range, rows }
  }
}

export interface BackfillPreview {
  readonly named: NamedBackfill
  readonly windows: readonly PlannedWindow[]
  /** The estimated number of requests of the backfill. It includes the requests in `planning`. */
  readonly requests: number
  readonly planning: number
}

interface PreviewBooks {
  readonly books: Pick<BackfillBooks, 'open' | 'windows'> | undefined
  readonly basis: BackfillBasis
}

/** Returns the preview without windows that an open backfill has read. Throws USAGE_INVALID and client errors. */
export async function previewBackfill(
  context: WalkContext,
  { books, basis }: PreviewBooks,
  request: BackfillRequest,
): Promise<BackfillPreview> {
  const { start } = context.settings.reports[request.report]
  const named = await nameBackfill(request, { books, start, now: context.clock.now() })
  const begun = named.goesOn ? await books?.windows(named.backfillId) : undefined
  const { report, from: since, to: until } = named
  const plan =
    begun === undefined
      ? await planBackfill(context, { report, since, until, basis })
      : { windows: begun.filter(({ state }) => state !== 'done'), requestsSent: 0 }
  const requests = plan.windows.reduce((sum, { plannedRequests }) => sum + plannedRequests, plan.requestsSent)
  return { named, windows: plan.windows, requests, planning: plan.requestsSent }
}

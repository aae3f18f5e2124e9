/** Plans windows with similar numbers of rows, by the service's totals or by the rows in the warehouse. */
import { type ReportName, reportOf } from '../../../schema/index.ts'
import type { Declaration } from '../../../schema/report.ts'
import type { CountedRange, WindowRange, WindowSizes } from '../../plan/backfillWindows.ts'
import { requestsFor, rowsAWindow, rowsIn, windowsByRows, windowsByTime } from '../../plan/backfillWindows.ts'
import type { Question } from '../../plan/question.ts'
import { type BoundedSpan, canSplit } from '../../plan/spans.ts'
import { ObjectCatalog } from '../../staging/catalog.ts'
import type { PlannedWindow, BackfillBooks } from '../../warehouse/books/backfills.ts'
import type { BackfillBasis } from '../../warehouse/books/backfillBasis.ts'
import { throwIfRefused } from '../pauses.ts'
import { PageSource } from '../walk/pageSource.ts'
import { type SyncSettings, type WalkContext, scopesOf } from '../context.ts'
import { type BackfillRequest, nameBackfill, type NamedBackfill } from './backfillRequest.ts'

interface PlanRequest extends BoundedSpan {
  readonly report: ReportName
  readonly basis: BackfillBasis
}

/** A plan counts the rows of at most this many ranges, because each range costs one or two requests per currency. */
const RANGES_MAX = 16
/** Rows are counted in at most one range per this many pages, so that a plan sends fewer requests than its backfill. */
const PAGES_A_RANGE = 4

/** Plans the windows of a backfill. Writes nothing to the warehouse. Throws the client's errors. */
export async function planBackfill(context: WalkContext, request: PlanRequest) {
  const { report, basis } = request
  const { settings } = context
  const declaration = reportOf(report)
  const { answer } = declaration
  const { pageSize } = settings.reports[report]
  const profile = await basis.pagingProfile(report, pageSize)
  const pageRows = Math.min(pageSize, profile.fullPageRows ?? pageSize)
  const oneRow = { report: declaration, pageSize: 1, catalog: new ObjectCatalog(), profile }
  const pages = new PageSource({ ...context, priority: 'behind' }, oneRow)
  const planning = { request, declaration, settings, pageRows, pages }
  if (answer === 'envelope') throwIfRefused(await basis.pauses(), report, settings)
  const windows: Omit<PlannedWindow, 'number'>[] = []
  for (const scope of scopesOf(settings, declaration)) {
    const costs = { pageRows, answer, readsTwice: await basis.readsTwice(declaration) }
    for (const { since, until, rows } of await rangesOf(planning, scope)) {
      const plannedRows = rows === undefined ? undefined : rowsIn({ rows })
      windows.push({ scope, since, until, plannedRows, plannedRequests: requestsFor(rows, costs) })
    }
  }
  const newestFirst = windows.toSorted((a, b) => b.until - a.until)
  return {
    windows: newestFirst.map((window, index) => ({ ...window, number: index + 1 })),
    requestsSent: pages.pagesRead,
  }
}

interface Planning {
  readonly request: PlanRequest
  readonly declaration: Declaration
  readonly settings: SyncSettings
  readonly pageRows: number
  readonly pages: PageSource
}

async function rangesOf(planning: Planning, scope: string): Promise<WindowRange[]> {
  const { request, declaration, settings, pageRows } = planning
  const range = { since: request.since, until: request.until }
  const sizes = { pageRows, loadRowsMax: settings.limits.loadRowsMax }
  const known =
    declaration.answer === 'envelope'
      ? await countParts(planning, scope, sizes)
      : await request.basis.rowDensity({ report: declaration, scope, span: range })
  if (known === undefined) return windowsByTime(range)
  const total = known.reduce((sum, part) => sum + rowsIn(part), 0)
  return windowsByRows(known, rowsAWindow(total, sizes))
}

/** Counts rows, and halves the part with the most rows again and again. Undefined if there are no totals. */
async function countParts(planning: Planning, scope: string, sizes: WindowSizes): Promise<CountedRange[] | undefined> {
  const whole = await countRows(planning, scope, planning.request)
  if (whole === undefined) return undefined
  const parts = [whole]
  const rowsEach = rowsAWindow(rowsIn(whole), sizes)
  const worth = Math.ceil(rowsIn(whole) / (PAGES_A_RANGE * sizes.pageRows))
  for (let asked = 1; asked < Math.min(RANGES_MAX, worth); asked += 1) {
    const fullest = parts.reduce((best, part) => (rowsIn(part) > rowsIn(best) ? part : best))
    if (!canSplit(fullest) || rowsIn(fullest) <= rowsEach) break
    const middle = Math.floor((fullest.since + fullest.until) / 2) as BoundedSpan['since']
    const first = await countRows(planning, scope, { since: fullest.since, until: middle })
    if (first === undefined) break
    const rows = fullest.rows.map((each, n) => Math.max(0, each - (first.rows[n] ?? 0)))
    parts.splice(parts.indexOf(fullest), 1, first, { since: middle, until: fullest.until, rows })
  }
  return parts
}

async function countRows(
  { request, declaration, settings, pages }: Planning,
  scope: string,
  { since, until }: BoundedSpan,
) {
  const { filters, askCreated } = settings.reports[request.report]
  const question = { expand: [], filters, currency: scope }
  const range = { since, until }
  const questions: Question[] = [{ ...question, window: range }]
  if (askCreated && declaration.created !== undefined) questions.push({ ...question, created: range })
  const rows: number[] = []
  for (const each of questions) {
    const { page } = await pages.read(each, 1)
    if (page.envelope.totalCount === undefined) return undefined
    rows.push(page.envelope.totalCount)
  }
  return { ...range, rows }
}

/** What a backfill would read. */
export interface BackfillPreview {
  readonly named: NamedBackfill
  readonly windows: readonly PlannedWindow[]
  /** Estimated requests for the backfill. Includes `planning`, the requests that the plan itself needed. */
  readonly requests: number
  readonly planning: number
}

interface PreviewBooks {
  readonly books: Pick<BackfillBooks, 'open' | 'windows'> | undefined
  readonly basis: BackfillBasis
}

/** Returns the preview, without windows already read. Throws USAGE_INVALID and the client's errors. */
export async function previewBackfill(context: WalkContext, { books, basis }: PreviewBooks, request: BackfillRequest) {
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

/** Reads one report, or one currency of it, for a run. */
import { assert } from '../../errors.ts'
import { earliest, type Instant, plusMs } from '../../instant.ts'
import { isSameProfile, type PagingProfile } from '../../plan/pagingProfile.ts'
import type { Question } from '../../plan/question.ts'
import { KeySet } from '../../plan/keySet.ts'
import type { Span } from '../../plan/spans.ts'
import { WALK_POLICIES } from '../../plan/slice.ts'
import { CLOCK_GRAIN_MS, type Window } from '../../plan/window.ts'
import type { SpoolPosition } from '../../staging/spool.ts'
import type { ClosedWindow } from '../../warehouse/books/windows.ts'
import type { RowKey } from '../../staging/scanPage.ts'
import type { SyncContext, WalkContext } from '../context.ts'
import { followersOf } from '../followers.ts'
import type { Figures } from '../reportOutcome.ts'
import { Intake, type ReadReason } from '../intake.ts'
import { Difference, type DifferencePlan } from './difference.ts'
import { type FetchedPage, PageSource } from './pageSource.ts'
import { type CutSlice, proveSlice } from './proveSlice.ts'
import { type ProvenSlice, provenSlices } from './provenSlices.ts'
import { readServiceTime } from './serviceTime.ts'
import type { RowSink, SliceSource } from './walkPages.ts'

export interface ReadingPlan extends DifferencePlan {
  readonly runId: string
  readonly window: Window
  readonly profile: PagingProfile
  readonly reason: ReadReason
  /** What the run has already read in other currencies. */
  readonly runSoFar?: { readonly pages: number; readonly figures: Figures }
}

export interface ClosingFacts {
  readonly marks?: ClosedWindow['marks']
  /** The window is complete up to this time. */
  readonly knownUntil?: Instant
  readonly reached?: Instant
}

const RECENT_MAX = 50_000

export class Reading implements AsyncDisposable {
  readonly context: WalkContext
  readonly plan: ReadingPlan
  readonly intake: Intake
  readonly source: SliceSource
  /** Keys of the rows that `window()` found by creation time. Undefined if there are too many. */
  recent: KeySet | undefined = new KeySet()
  rows = 0
  /** The page number of each row that has no deletion flag. */
  readonly #unflagged = new Map<RowKey, number>()
  readonly #difference: Difference | undefined
  #pagesClosed = 0

  constructor(context: WalkContext, plan: ReadingPlan) {
    const { declaration, config, scope, profile, runId, reason } = plan
    const { concurrency, reports } = context.settings
    this.context = context
    this.plan = plan
    const followers = followersOf(config.name, reports)
    this.intake = new Intake(context, { report: declaration, runId, followers, reason })
    const { pageSize } = config
    const pages = new PageSource(context, { report: declaration, pageSize, catalog: this.intake.catalog, profile })
    this.source = {
      pages,
      question: { expand: config.expand, filters: config.filters, currency: scope, includeDeleted: true },
      timeFilter: 'window',
      policy: WALK_POLICIES[reason.kind],
      settings: pages.walkSettings(plan.window.serviceTime),
      rows: this.#sink(),
      concurrency,
      observe: context.observe,
    }
    this.#difference = declaration.includeDeleted === undefined ? undefined : new Difference(context, plan, this.source)
  }

  get pagesRead(): number {
    return this.source.pages.pagesRead + (this.#difference?.pages.pagesRead ?? 0)
  }

  /** Whether rows are also requested by creation time, because a time filter may miss rows that were never edited. */
  get asksCreated(): boolean {
    return this.plan.config.askCreated && this.plan.declaration.created !== undefined
  }

  /** The service's clock in the first response. Rows that were modified later may be missing. */
  get knownUntil(): Instant {
    const { serviceTime } = this.plan.window
    return earliest(serviceTime, this.source.pages.firstServedAt ?? serviceTime)
  }

  slices(timeFilter: SliceSource['timeFilter'], spans: readonly Span[]): AsyncGenerator<ProvenSlice, void> {
    return provenSlices({ ...this.source, timeFilter }, spans)
  }

  /** Yields slices by modification time. First reads rows by creation time, which unedited rows may match only. */
  async *window(span: Span): AsyncGenerator<ProvenSlice, void> {
    if (this.asksCreated) for await (const slice of this.slices('created', [span])) this.#noteRecent(slice)
    yield* this.slices('window', [span])
  }

  #noteRecent({ keys }: ProvenSlice): void {
    for (const key of keys) this.recent?.add(key)
    if (this.recent !== undefined && this.recent.size > RECENT_MAX) this.recent = undefined
  }

  /** Requests all rows without bounds. Returns a `CutSlice` if one response does not contain all rows. */
  async readOneResponse(): Promise<ProvenSlice | CutSlice> {
    const outcome = await proveSlice({ ...this.source, policy: WALK_POLICIES['first look'] }, { span: undefined })
    return outcome.kind === 'proven' ? { ...outcome, span: this.unbounded } : outcome
  }

  async readUnbounded(): Promise<ProvenSlice> {
    const outcome = await proveSlice(this.source, { span: undefined })
    assert(outcome.kind === 'proven', 'a walk without bounds is never cut')
    return { ...outcome, span: this.unbounded }
  }

  get unbounded(): Span {
    return { since: undefined, until: this.plan.window.until }
  }

  async close(slice: ProvenSlice, { marks = [], knownUntil = this.knownUntil, reached }: ClosingFacts = {}) {
    const gone = await this.#difference?.goneKeys(slice, this.#unflagged)
    this.#unflagged.clear()
    const { proof, rows, totalCount, span } = slice
    const pages = this.pagesRead - this.#pagesClosed
    this.#pagesClosed = this.pagesRead
    const until = earliest(span.until, knownUntil)
    const window = { scope: this.plan.scope, since: span.since, until, proof, pages, rows, totalCount, marks }
    await this.intake.close({ window, gone, ...(reached && { reached }) })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.intake[Symbol.asyncDispose]()
  }

  #sink(): RowSink {
    let position: SpoolPosition | undefined
    return {
      begin: async () => void (position = await this.intake.position()),
      add: (fetched) => this.#add(fetched),
      drop: async () => position && this.intake.rewindTo(position),
    }
  }

  async #add(fetched: FetchedPage): Promise<void> {
    const { page, number } = fetched
    const { declaration, config, scope, runSoFar } = this.plan
    await this.intake.add(fetched, declaration.currency === undefined ? {} : { target_currency: scope })
    this.rows += page.rowCount
    if (declaration.includeDeleted !== undefined) for (const key of page.unflagged) this.#unflagged.set(key, number)
    const pages = (runSoFar?.pages ?? 0) + this.source.pages.pagesRead
    const rows = (runSoFar?.figures.rows ?? 0) + this.rows
    this.context.onProgress({ report: config.name, pages, rows, rowsExpected: page.envelope.totalCount })
  }
}

export async function totalNow({ source }: Reading, bounds: Pick<Question, 'created'> = {}) {
  const { page } = await source.pages.read({ ...source.question, ...bounds, expand: [] }, 1, 1)
  return page.envelope.totalCount
}

/** `dated`: all rows have a creation time. `undated`: some rows lack it. `unknown`: totals changed or are missing. */
type CreationTotal =
  | { readonly kind: 'dated'; readonly total: number }
  | { readonly kind: 'undated' | 'unknown'; readonly total?: undefined }

/** Compares the total by creation time with the total of all rows. `latest`: the total of all rows, just requested. */
export async function totalOfCreated(reading: Reading, latest?: number): Promise<CreationTotal> {
  const { context, plan } = reading
  let kind: 'undated' | 'unknown' = 'unknown'
  let after = latest
  for (let attempt = 1; attempt <= context.settings.limits.walkAttemptsMax; attempt += 1) {
    const serviceTime = await readServiceTime(context, plan.declaration, { currency: plan.scope })
    const created = { since: undefined, until: plusMs(serviceTime, CLOCK_GRAIN_MS) }
    // A row added between two requests could make the total of all rows equal to the other, so it is requested twice.
    const before = after ?? (await totalNow(reading))
    const total = await totalNow(reading, { created })
    after = await totalNow(reading)
    const isSame = total !== undefined && before === after
    if (isSame && before === total) return { kind: 'dated', total }
    kind = isSame ? 'undated' : 'unknown'
  }
  return { kind }
}

export async function learnPaging({ warehouse, fence }: SyncContext, { plan, source }: Reading): Promise<void> {
  const { name: report, pageSize } = plan.config
  const { profile } = source.pages
  if (isSameProfile(profile, plan.profile)) return
  await warehouse.learnPagingProfile({ report, pageSize, profileBefore: plan.profile, fence }, profile)
}

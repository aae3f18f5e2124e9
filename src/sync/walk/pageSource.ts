/** Requests pages by number, scans their rows, and updates the paging profile. */
import type { ReportName } from '../../../schema/index.ts'
import type { Declaration } from '../../../schema/report.ts'
import { wireKey } from '../../../schema/tables.ts'
import { SyncError } from '../../errors.ts'
import { earliest, type Instant, parseInstant } from '../../instant.ts'
import { type PagingProfile, withLastPage, withPage } from '../../plan/pagingProfile.ts'
import { bodyOf, pathOf, type Question } from '../../plan/question.ts'
import type { WalkSettings } from '../../plan/slice.ts'
import { youngFrom } from '../../plan/spans.ts'
import type { ObjectCatalog } from '../../staging/catalog.ts'
import { MalformedJson } from '../../staging/jsonBytes.ts'
import type { PrivatePages } from '../../staging/privatePage.ts'
import { EMPTY_PAGE, scanInSlices, type ScannedPage, type ScanPlan } from '../../staging/scanPage.ts'
import { privatePagesOf } from '../privacy.ts'
import { unobserved } from '../../observe.ts'
import type { WalkContext } from '../context.ts'

export interface PagePlan {
  readonly report: Declaration
  readonly pageSize: number
  readonly catalog: ObjectCatalog
  readonly profile: PagingProfile
}

export interface FetchedPage {
  readonly number: number
  /** The page number in the request: `number - 1` if the service counts pages from 0. */
  readonly requestedNumber: number
  readonly page: ScannedPage
  readonly servedAt: Instant
  readonly askedAt: Instant
  readonly refusal?: SyncError
}

/** After this many pages, a run tests once whether the service ignores the beginning of the window. */
const PAGES_BEFORE_TEST = 200
const NO_ROWS_AT = parseInstant('2199-07-19T03:14:15.926535Z')

export class PageSource {
  readonly pageSize: number
  profile: PagingProfile
  pagesRead = 0
  firstServedAt: Instant | undefined
  readonly keyed: boolean
  readonly report: Declaration
  readonly #context: WalkContext
  readonly #scan: ScanPlan
  readonly #privatePages: PrivatePages | undefined
  #hasTestedBounds = false

  constructor(context: WalkContext, plan: PagePlan) {
    const { report, catalog } = plan
    const key = wireKey(report)
    const { answer, pages, deletedFlag } = report
    this.#context = context
    this.#scan = { answer, pages, key, deletedFlag, catalog, numberPrefix: context.warehouse.numberPrefix }
    this.#privatePages = privatePagesOf(context.settings, report)
    this.keyed = key.length > 0
    this.report = report
    this.pageSize = plan.pageSize
    this.profile = plan.profile
  }

  get pagesLeft(): number {
    return this.#context.settings.limits.walkPagesMax - this.pagesRead
  }

  walkSettings(serviceTime: Instant): WalkSettings {
    const { report, keyed, pageSize } = this
    const { limits, reports } = this.#context.settings
    const { start, overlapMs } = reports[report.name as ReportName]
    return { answer: report.answer, keyed, pageSize, youngFrom: youngFrom(serviceTime, overlapMs), start, ...limits }
  }

  /** Reads a page. `number` counts from 1. Throws WALK_TOO_LONG, BOUNDS_IGNORED and the client's errors. */
  async read(question: Question, number: number, size = this.pageSize): Promise<FetchedPage> {
    return { ...(await this.readExactNumber(question, this.#requestedNumber(number), size)), number }
  }

  /** Reads the first page. If the service refuses page 1, tries page 0, and the other way around. */
  async readFirst(question: Question, size = this.pageSize): Promise<FetchedPage> {
    const { firstNumber } = this.profile
    try {
      return await this.read(question, 1, size)
    } catch (refusal) {
      if (!isRefusal(refusal)) throw refusal
      this.profile = { ...this.profile, firstNumber: firstNumber === 0 ? undefined : 0 }
      return await this.read(question, 1, size).catch((error: unknown) => {
        this.profile = { ...this.profile, firstNumber }
        throw isRefusal(error) ? refusal : error
      })
    }
  }

  /** Requests the page with exactly this number, even if the service counts from 0. Throws as `read` does. */
  async readExactNumber(question: Question, number: number, size = this.pageSize): Promise<FetchedPage> {
    const { report } = this
    this.#checkLength()
    if (this.pagesRead >= PAGES_BEFORE_TEST && !this.#hasTestedBounds) await this.#testBounds(question)
    const { client, observe = unobserved, priority, signal } = this.#context
    const request = {
      report: report.name,
      path: pathOf(report, question),
      body: bodyOf(report, question, { number, size }),
      scope: report.scope,
      // A 403 for an audit report concerns only the requested record (spec §7).
      forbids: report.perRecord === undefined ? ('report' as const) : ('request' as const),
      priority,
      parse: (bytes: Buffer) => this.#parse(bytes),
    }
    const answer = await observe({ what: 'page', report: report.name, facts: { page: number } }, async (note) => {
      const read = await client.read(request, signal)
      note({ rows: read.value.rowCount, bytes: read.bytes })
      return read
    })
    this.pagesRead += 1
    this.#learn(answer.value, size)
    this.firstServedAt = earliest(this.firstServedAt ?? answer.servedAt, answer.servedAt)
    const { servedAt, askedAt } = answer
    return { number, requestedNumber: number, page: answer.value, servedAt, askedAt }
  }

  /** If the service refuses the page, returns an empty page that carries the error. */
  async readLaterPage(question: Question, number: number, size = this.pageSize): Promise<FetchedPage> {
    try {
      return await this.read(question, number, size)
    } catch (error) {
      if (!isRefusal(error)) throw error
      this.pagesRead += 1
      const servedAt = this.firstServedAt ?? this.#context.clock.now()
      const requestedNumber = this.#requestedNumber(number)
      return { number, requestedNumber, page: EMPTY_PAGE, servedAt, askedAt: servedAt, refusal: error }
    }
  }

  #requestedNumber(number: number): number {
    return number - 1 + (this.profile.firstNumber ?? 1)
  }

  #learn({ rowCount, envelope }: ScannedPage, size: number): void {
    if (size === this.pageSize) this.profile = withPage(this.profile, rowCount)
    if (envelope.totalCount !== undefined) this.profile = withLastPage(this.profile, Math.min(rowCount, this.pageSize))
  }

  async #testBounds(question: Question): Promise<void> {
    const { name: report, window, created = window } = this.report
    const [timeFilter, { since }] =
      question.created === undefined ? (['window', window] as const) : (['created', created] as const)
    if (question[timeFilter] === undefined) return
    this.#hasTestedBounds = true
    const instant = { ...question, [timeFilter]: { since: NO_ROWS_AT, until: NO_ROWS_AT } }
    const answer = await this.read(instant, 1).catch(undefinedIfRefused)
    if (answer === undefined || answer.page.rowCount === 0) return
    throw new SyncError('BOUNDS_IGNORED', `the service ignores ${since}: it returned rows of other times`, {
      report,
      cure: `Ask the owner of the service, or of a proxy before it, why ${since} has no effect.`,
      data: { pages: this.pagesRead, rows: answer.page.rowCount },
    })
  }

  async #parse(bytes: Buffer): Promise<ScannedPage> {
    const { clock } = this.#context
    try {
      return await scanInSlices(this.#privatePages?.withoutPrivateValues(bytes) ?? bytes, this.#scan, () =>
        clock.nextTurn(),
      )
    } catch (error) {
      if (!(error instanceof MalformedJson)) throw error
      const what = error.isCut ? 'was cut' : 'is malformed'
      throw new SyncError('ANSWER_MALFORMED', `the answer ${what}: ${error.message}`, {
        report: this.report.name,
        cure: 'Repeated requests had the same result: check what the service, or a proxy before it, sends.',
        data: { position: error.position, bytes: error.size },
      })
    }
  }

  #checkLength(): void {
    const { walkPagesMax } = this.#context.settings.limits
    if (this.pagesLeft > 0) return
    throw new SyncError('WALK_TOO_LONG', `a run needs more than ${walkPagesMax} pages`, {
      report: this.report.name,
      cure: 'Raise page_size, or limits.walk_pages_max if the report really is that large. What is proven so far stays.',
      data: { pages: this.pagesRead },
    })
  }
}

/** Some services refuse page numbers after the last page. */
const isRefusal = (error: unknown): error is SyncError =>
  error instanceof SyncError && (error.code === 'REQUEST_INVALID' || error.code === 'STATUS_UNEXPECTED')

/** Returns undefined if the service refused the page. Throws any other error. */
export function undefinedIfRefused(error: unknown): undefined {
  if (!isRefusal(error)) throw error
}

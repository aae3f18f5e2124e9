/** Fetches one page of one question and scans it as it arrives. */
import type { Declaration } from '../../../schema/report.ts'
import { wireKey } from '../../../schema/tables.ts'
import { SyncError } from '../../errors.ts'
import { earliest, type Instant } from '../../instant.ts'
import { bodyOf, pathOf, type Question } from '../../plan/question.ts'
import type { ObjectCatalog } from '../../staging/catalog.ts'
import { MalformedJson } from '../../staging/malformedJson.ts'
import type { PrivatePages } from '../../staging/privatePage.ts'
import { scanInSlices } from '../../staging/slicedScan.ts'
import { EMPTY_PAGE, type ScannedPage, type ScanPlan } from '../../staging/scanPage.ts'
import { privatePagesOf } from '../privacy.ts'
import type { WalkContext } from '../context.ts'

export interface PagePlan {
  readonly report: Declaration
  readonly pageSize: number
  readonly catalog: ObjectCatalog
  /** A 403 speaks of this one question, not of the whole report (audits of single records, spec §7). */
  readonly forbidsOnlyThis?: boolean
}

export interface FetchedPage {
  readonly number: number
  /** The number that was sent for it. */
  readonly sent: number
  readonly page: ScannedPage
  readonly servedAt: Instant
  /** Why the service doesn't give this page, which is empty then. */
  readonly refusal?: SyncError
}

/** Number of the first page, where a service has shown it, by the client that reads it. */
const firstNumbers = new WeakMap<object, 0 | 1>()

export class PageReader {
  readonly pageSize: number
  /** Pages fetched so far, those of walks that proved nothing included. */
  pages = 0
  /** Rows of the longest page so far: the service doesn't cut pages shorter than that now. */
  longest = 0
  /** The service's clock in its first answer: no walk can have seen what came later. */
  firstServedAt: Instant | undefined
  readonly keyed: boolean
  readonly report: Declaration
  readonly #context: WalkContext
  readonly #plan: PagePlan
  readonly #scan: ScanPlan
  readonly #privatePages: PrivatePages | undefined

  constructor(context: WalkContext, plan: PagePlan) {
    const key = wireKey(plan.report)
    this.#context = context
    this.#plan = plan
    this.#scan = { answer: plan.report.answer, key, catalog: plan.catalog, mark: context.warehouse.numberMark }
    this.#privatePages = privatePagesOf(context.settings, plan.report)
    this.keyed = key.length > 0
    this.report = plan.report
    this.pageSize = plan.pageSize
  }

  /** Pages that may still be read. */
  get pagesLeft(): number {
    return this.#context.settings.limits.walkPagesMax - this.pages
  }

  /** The service's number of the first page; undefined: nothing has shown it yet, and 1 is asked for. */
  get firstNumber(): 0 | 1 | undefined {
    return firstNumbers.get(this.#context.client)
  }

  /** What was learnt first stands: reports look for it side by side. */
  learnFirstNumber(number: 0 | 1): void {
    if (this.firstNumber === undefined) firstNumbers.set(this.#context.client, number)
  }

  /** Page 1 is the first one, whatever the service calls it. Errors: those of the client; WALK_TOO_LONG beyond the limit of pages. */
  async read(question: Question, number: number, size = this.pageSize): Promise<FetchedPage> {
    return { ...(await this.readSent(question, this.#sent(number), size)), number }
  }

  /** The page with this number on the wire, whatever is learnt meanwhile of what numbers count from. */
  async readSent(question: Question, sent: number, size = this.pageSize): Promise<FetchedPage> {
    const { report } = this.#plan
    this.#checkLength()
    const answer = await this.#context.client.read(
      {
        report: report.name,
        path: pathOf(report, question),
        body: bodyOf(report, question, { number: sent, size }),
        scope: report.scope,
        forbids: this.#plan.forbidsOnlyThis === true ? 'request' : 'report',
        priority: this.#context.priority,
        parse: (bytes) => this.#parse(bytes),
      },
      this.#context.signal,
    )
    this.pages += 1
    if (size === this.pageSize) this.longest = Math.max(this.longest, answer.value.rowCount)
    this.firstServedAt = earliest(this.firstServedAt ?? answer.servedAt, answer.servedAt)
    return { number: sent, sent, page: answer.value, servedAt: answer.servedAt }
  }

  /**
   * A page behind others of the question: one that the service refuses comes empty, with its refusal. It may not be
   * there, or its number may be larger than the service likes.
   */
  async readBehind(question: Question, number: number, size = this.pageSize): Promise<FetchedPage> {
    try {
      return await this.read(question, number, size)
    } catch (error) {
      if (!isRefusal(error)) throw error
      this.pages += 1
      const servedAt = this.firstServedAt ?? this.#context.clock.now()
      return { number, sent: this.#sent(number), page: EMPTY_PAGE, servedAt, refusal: error }
    }
  }

  #sent(number: number): number {
    return number - 1 + (this.firstNumber ?? 1)
  }

  async #parse(bytes: Buffer): Promise<ScannedPage> {
    const { clock } = this.#context
    try {
      return await scanInSlices(this.#privatePages?.of(bytes) ?? bytes, this.#scan, () => clock.nextTurn())
    } catch (error) {
      if (!(error instanceof MalformedJson)) throw error
      const { report } = this.#plan
      const what = error.isCut ? 'was cut' : 'is malformed'
      throw new SyncError('ANSWER_MALFORMED', `the answer ${what}: ${error.message}`, {
        report: report.name,
        cure: 'It was asked again and stayed so: look at what the service, or a proxy before it, sends.',
        data: { position: error.position, bytes: error.size },
      })
    }
  }

  #checkLength(): void {
    const { walkPagesMax } = this.#context.settings.limits
    if (this.pagesLeft > 0) return
    throw new SyncError('WALK_TOO_LONG', `a run needs more than ${walkPagesMax} pages`, {
      report: this.#plan.report.name,
      cure: 'Raise page_size, or limits.walk_pages_max if the report really is that large. What is proven so far stays.',
      data: { pages: this.pages },
    })
  }
}

/** Whether a service that answers other pages says so of one that it doesn't have, or doesn't give. */
const isRefusal = (error: unknown): error is SyncError =>
  error instanceof SyncError && (error.code === 'REQUEST_INVALID' || error.code === 'STATUS_UNEXPECTED')

/** For `catch`: a page that is refused is undefined, what else went wrong is thrown. */
export function refusedPage(error: unknown): undefined {
  if (!isRefusal(error)) throw error
}

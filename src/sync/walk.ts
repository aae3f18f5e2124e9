/**
 * One walk: all pages of one question, scanned as they come, until the walk is known to be complete or something moved
 * under it. Later pages are fetched side by side where the first one told the total (spec §4, rule 2).
 */
import type { Declaration } from '../../schema/report.ts'
import { wireKey } from '../../schema/tables.ts'
import { SyncError } from '../errors.ts'
import { earliest, formatInstant, type Instant } from '../instant.ts'
import { bodyOf, pathOf, type Question } from '../plan/question.ts'
import { type Proof, WalkState, type WalkVerdict } from '../plan/walk.ts'
import type { ObjectCatalog } from '../staging/catalog.ts'
import { Malformed } from '../staging/malformed.ts'
import { type ScannedPage, scanPage, type ScanPlan } from '../staging/scanPage.ts'
import { eachBounded } from './bounded.ts'
import type { Rooms } from './rooms.ts'

export interface WalkPlan {
  readonly report: Declaration
  readonly question: Question
  readonly pageSize: number
  readonly catalog: ObjectCatalog
  /** A 403 speaks of this one question, not of the whole report (audits of single records, spec §7). */
  readonly forbidsOnlyThis?: boolean
  /** Takes each page, in no particular order; the walk waits for it. */
  readonly onPage: (page: ScannedPage, servedAt: Instant) => Promise<void>
}

export interface Walked {
  readonly proof: Proof
  readonly state: WalkState
  readonly pages: number
  readonly rows: number
  readonly totalCount: number | undefined
  /** The service's clock in its first answer: the walk can't have seen what came later. */
  readonly firstServedAt: Instant
}

/** Walks until a walk proves itself. Errors: WALK_UNSTABLE, WALK_TOO_LONG, and whatever the client answers. */
export async function walk(rooms: Rooms, plan: WalkPlan): Promise<Walked> {
  const { walkAttemptsMax } = rooms.settings.limits
  let pages = 0
  let rows = 0
  let why = ''
  for (let attempt = 1; attempt <= walkAttemptsMax; attempt += 1) {
    const pass = new WalkPass(rooms, plan)
    const verdict = await pass.run()
    pages += pass.state.pages
    rows += pass.state.rows
    if (verdict.kind === 'proven') {
      const { state, firstServedAt } = pass
      return { proof: verdict.proof, state, pages, rows, totalCount: state.totalCount, firstServedAt }
    }
    why = verdict.why
  }
  throw new SyncError(
    'WALK_UNSTABLE',
    `${plan.report.name}: ${walkAttemptsMax} walks in a row did not add up: ${why}`,
    {
      report: plan.report.name,
      cure: 'The rows move faster than they can be read. It is tried again at the next run; a larger page_size makes a walk shorter.',
      data: { attempts: walkAttemptsMax, why },
    },
  )
}

class WalkPass {
  readonly state: WalkState
  firstServedAt!: Instant
  readonly #rooms: Rooms
  readonly #plan: WalkPlan
  readonly #scan: ScanPlan
  #withoutKey = 0

  constructor(rooms: Rooms, plan: WalkPlan) {
    const key = wireKey(plan.report)
    this.#rooms = rooms
    this.#plan = plan
    this.#scan = { answer: plan.report.answer, key, catalog: plan.catalog, mark: rooms.warehouse.numberMark }
    this.state = new WalkState(plan.report.answer, key.length > 0)
  }

  async run(): Promise<WalkVerdict> {
    await this.#page(1)
    const last = this.state.pagesCalledFor
    if (last === undefined) await this.#pagesUntilExhausted()
    else await this.#pagesUpTo(last)
    return this.state.verdict(this.#withoutKey)
  }

  /** The total is known: the rest side by side, then on while rows are missing and pages bring new ones. */
  async #pagesUpTo(last: number): Promise<void> {
    this.#checkLength(last)
    const { concurrency } = this.#rooms.settings
    const numbers = Array.from({ length: Math.max(0, last - 1) }, (_, n) => n + 2)
    await eachBounded(numbers, concurrency, (pageNumber) => this.#page(pageNumber))
    const total = this.state.totalCount
    if (total === undefined || this.state.rows === 0) return
    for (let pageNumber = last + 1; this.state.repeats === 0 && this.state.rows < total; pageNumber += 1) {
      this.#checkLength(pageNumber)
      await this.#page(pageNumber)
      if (this.state.isExhausted) return
    }
  }

  async #pagesUntilExhausted(): Promise<void> {
    for (let pageNumber = 2; !this.state.isExhausted; pageNumber += 1) {
      this.#checkLength(pageNumber)
      await this.#page(pageNumber)
    }
  }

  async #page(pageNumber: number): Promise<void> {
    const { report, question, pageSize, onPage } = this.#plan
    const answer = await this.#rooms.client.read(
      {
        report: report.name,
        path: pathOf(report, question),
        body: bodyOf(report, question, { number: pageNumber, size: pageSize }),
        scope: report.scope,
        forbids: this.#plan.forbidsOnlyThis === true ? 'request' : 'report',
        parse: (bytes) => this.#parse(bytes),
      },
      this.#rooms.signal,
    )
    const page = answer.value
    this.firstServedAt =
      this.firstServedAt === undefined ? answer.servedAt : earliest(this.firstServedAt, answer.servedAt)
    this.#withoutKey += page.rowCount - page.keys.length
    this.state.saw({ pageNumber, rowCount: page.rowCount, keys: page.keys, ...page.envelope })
    await onPage(page, answer.servedAt)
  }

  #parse(bytes: Buffer): ScannedPage {
    try {
      return scanPage(bytes, this.#scan)
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
      const { report } = this.#plan
      const what = error.isCut ? 'was cut' : 'is malformed'
      throw new SyncError('ANSWER_MALFORMED', `${report.name}: the answer ${what}: ${error.message}`, {
        report: report.name,
        cure: 'It was asked again and stayed so: look at what the service, or a proxy before it, sends.',
        data: { position: error.position, bytes: error.size },
      })
    }
  }

  #checkLength(pageNumber: number): void {
    const { walkPagesMax } = this.#rooms.settings.limits
    if (pageNumber <= walkPagesMax) return
    const { report, question } = this.#plan
    const since = question.window?.since
    throw new SyncError('WALK_TOO_LONG', `${report.name}: a walk needs more than ${walkPagesMax} pages`, {
      report: report.name,
      cure: 'Raise page_size, or limits.walk_pages_max if the report really is that large.',
      data: { since: since === undefined ? undefined : formatInstant(since), pages: pageNumber },
    })
  }
}

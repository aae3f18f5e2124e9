/**
 * One scope of one report (a currency, or all of it) during one run: what is asked, who reads the pages, where the rows
 * go. The stories of first and later runs share it.
 */
import type { ReportName } from '../../../schema/index.ts'
import type { Declaration } from '../../../schema/report.ts'
import type { ReportConfig } from '../../config/config.ts'
import { type PageSizes, rowsAPage, sawLastPage } from '../../plan/pageSizes.ts'
import type { Question } from '../../plan/question.ts'
import { SpanQueue } from '../../plan/spanQueue.ts'
import { type Span, splitAt, youngFrom } from '../../plan/spans.ts'
import { CLOCK_GRAIN_MS, type Window } from '../../plan/window.ts'
import { type Instant, plusMs } from '../../instant.ts'
import { followersOf } from '../audit/followers.ts'
import { Intake, type RowSource } from '../intake.ts'
import { stampsOf } from './stampsOf.ts'
import { type FetchedPage, PageReader } from './pages.ts'
import type { WalkOutcome, Proven } from './pageWalk.ts'
import { prove } from './prove.ts'
import { serviceClock } from './serviceClock.ts'
import type { WalkContext } from '../context.ts'

export interface ScopeParts {
  readonly declaration: Declaration
  readonly config: ReportConfig
  /** The currency, or ''. */
  readonly scope: string
  readonly runId: string
  readonly window: Window
  readonly sizes: PageSizes
  /** Pages and rows of the run before this scope, for the progress that is told. */
  readonly before: { readonly pages: number; readonly rows: number }
  readonly source: RowSource
  /** False: the page sizes that are known are not doubted (windows of a backfill). */
  readonly doubtsSizes?: boolean
}

/** From so many times the length of its young part on, a span is a history, not what came since a while ago. */
const HISTORY_RATIO = 100

export type Axis = 'window' | 'created'

export class Scope implements AsyncDisposable {
  readonly context: WalkContext
  readonly parts: ScopeParts
  readonly intake: Intake
  readonly reader: PageReader
  sizes: PageSizes
  #rows = 0

  constructor(context: WalkContext, parts: ScopeParts) {
    const { declaration, config } = parts
    this.context = context
    this.parts = parts
    this.sizes = parts.sizes
    this.intake = new Intake(context, {
      report: declaration,
      runId: parts.runId,
      followers: followersOf(config.name, context.settings.reports),
      source: parts.source,
    })
    this.reader = new PageReader(context, {
      report: declaration,
      pageSize: config.pageSize,
      catalog: this.intake.catalog,
    })
    if (parts.sizes.firstNumber === 0) this.reader.learnFirstNumber(0)
  }

  /** Rows of the pages kept so far. */
  get rows(): number {
    return this.#rows
  }

  /** Proves all of `spans`, earliest first, on one axis; tells each proven slice. */
  async proveAll(
    axis: Axis,
    spans: readonly Span[],
    onProven: (span: Span, proven: Proven) => Promise<void>,
  ): Promise<void> {
    await this.#proveSpans(spans, { reader: this.reader, axis }, onProven)
  }

  /** Everything there is, without bounds, if one response holds it. */
  proveSingle(): Promise<WalkOutcome> {
    return this.#prove(this.reader, { axis: 'window', span: undefined, singleOnly: true })
  }

  /** Everything there is, without bounds, in walks that agree. */
  async proveEverything(): Promise<Proven | undefined> {
    const outcome = await this.#prove(this.reader, { axis: 'window', span: undefined })
    return outcome.kind === 'proven' ? outcome : undefined
  }

  /** Keys of the rows in `spans` that a question with `also` brings; their rows are not kept. */
  async keysOf(
    reader: PageReader,
    span: Span,
    ask: { readonly question: Question; readonly rowsExpected?: number },
  ): Promise<Proven[]> {
    const found: Proven[] = []
    await this.#proveSpans([span], { ...ask, reader, axis: 'window' }, (_, proven) => {
      found.push(proven)
      return Promise.resolve()
    })
    return found
  }

  /** The question that every request of this scope has in common. */
  get question(): Question {
    const { declaration, config, scope } = this.parts
    return {
      expand: config.expand,
      filters: config.filters,
      currency: declaration.currency === undefined ? undefined : scope,
      ...(declaration.deletes === 'diff' ? { also: { includeDeleted: true } } : {}),
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.intake[Symbol.asyncDispose]()
  }

  async #proveSpans(
    spans: readonly Span[],
    { reader, ...ask }: Pick<ProveAsk, 'axis' | 'question' | 'rowsExpected'> & { readonly reader: PageReader },
    onProven: (span: Span, proven: Proven) => Promise<void>,
  ): Promise<void> {
    const { declaration } = this.parts
    const parts = declaration.answer === 'array' ? spans.flatMap((span) => apart(span, this.#youngFrom)) : spans
    const queue = new SpanQueue(parts, {
      pageRows: rowsAPage(this.sizes, reader.pageSize),
      wholeUntil: this.#youngFrom,
    })
    for (let span = queue.next(); span !== undefined; span = queue.next()) {
      const { endsInHeap, leavesWhole, rowsExpected = ask.rowsExpected } = queue
      const walks = { walksHeap: queue.holdsHeap(span), endsInHeap, walksOld: leavesWhole, rowsExpected }
      const outcome = await this.#prove(reader, { ...ask, ...walks, span })
      if (outcome.kind === 'split') {
        const { overfull, pages } = outcome
        const isSample = overfull.total === undefined && overfull.parts === undefined && ask.axis === 'window'
        queue.cut(
          span,
          isSample ? { ...overfull, stamps: pages.flatMap((page) => stampsOf(declaration, page)) } : overfull,
        )
      } else {
        queue.proven(span, outcome.rows, outcome.proof === 'single')
        await onProven(span, outcome)
      }
    }
  }

  get #youngFrom(): Instant {
    return youngFrom(this.parts.window.clock, this.parts.config.overlapMs)
  }

  async #prove(reader: PageReader, ask: ProveAsk): Promise<WalkOutcome> {
    const { config } = this.parts
    const { limits, concurrency } = this.context.settings
    const question = ask.question ?? this.question
    const keeps = ask.question === undefined
    const takeBack = keeps ? await this.#takingBack() : undefined
    const outcome = await prove(
      {
        reader,
        ask: (span) => (span === undefined ? question : { ...question, [ask.axis]: span }),
        youngFrom: this.#youngFrom,
        floor: config.start,
        loadRowsMax: limits.loadRowsMax,
        walkAttemptsMax: limits.walkAttemptsMax,
        concurrency,
        singleOnly: ask.singleOnly === true,
        walksHeap: ask.walksHeap === true,
        endsInHeap: ask.endsInHeap === true,
        walksOld: ask.walksOld === true,
        rowsExpected: ask.rowsExpected,
        sizes: () => this.sizes,
        doubtsSizes: this.parts.doubtsSizes ?? true,
        learn: (sizes) => {
          this.sizes = sizes
        },
        keep: keeps ? (page) => this.#keep(page) : () => Promise.resolve(),
        ...(takeBack && { restart: takeBack }),
        observe: this.context.observe,
      },
      ask.span,
    )
    if (outcome.kind === 'split') await takeBack?.()
    return outcome
  }

  /**
   * What takes back the pages that come from now on. Where only a second read tells which rows are deleted, a row must
   * not be loaded before its own span was read twice: until then it would look alive.
   */
  async #takingBack(): Promise<(() => Promise<void>) | undefined> {
    if (this.parts.declaration.deletes !== 'diff') return undefined
    const point = await this.intake.point()
    return () => this.intake.takeBack(point)
  }

  async #keep({ page, servedAt }: FetchedPage): Promise<void> {
    const { declaration, config, scope, before } = this.parts
    const asked: Record<string, string> = declaration.currency === undefined ? {} : { target_currency: scope }
    await this.intake.add(page, servedAt, asked)
    this.#rows += page.rowCount
    if (page.envelope.totalCount !== undefined)
      this.sizes = sawLastPage(this.sizes, Math.min(page.rowCount, this.reader.pageSize))
    const report: ReportName = config.name
    const rowsExpected = page.envelope.totalCount
    this.context.onProgress({
      report,
      pages: before.pages + this.reader.pages,
      rows: before.rows + this.#rows,
      rowsExpected,
    })
  }
}

/**
 * A span that is nearly all old, such as that of a first run, in its old and its young part: one page would hold
 * neither.
 */
function apart(span: Span, youngFrom: Instant): readonly Span[] {
  const isHistory = span.since === undefined || youngFrom - span.since > (span.until - youngFrom) * HISTORY_RATIO
  return (isHistory ? splitAt(span, youngFrom) : undefined) ?? [span]
}

/** The total of everything there is now, or of what `bounds` leave of it, as the smallest answer tells it. */
export async function totalNow(scope: Scope, bounds: Pick<Question, 'created'> = {}): Promise<number | undefined> {
  const { page } = await scope.reader.read({ ...scope.question, ...bounds, expand: [] }, 1)
  return page.envelope.totalCount
}

/**
 * The total without bounds, if the total by time of creation is the same: then every row has such a time. Both are
 * asked for now and not compared with what came, since a busy service adds and loses rows while it is read.
 */
export async function totalOfCreated(scope: Scope): Promise<number | undefined> {
  const { context, parts } = scope
  for (let attempt = 1; attempt <= context.settings.limits.walkAttemptsMax; attempt += 1) {
    const clock = await serviceClock(context, parts.declaration, { currency: parts.scope })
    const created = { since: undefined, until: plusMs(clock, CLOCK_GRAIN_MS) }
    // Asked before and after: a row that goes between two answers would stand in for one without a time of creation.
    const before = await totalNow(scope)
    const bounded = await totalNow(scope, { created })
    if (before === bounded && bounded === (await totalNow(scope))) return bounded
  }
  return undefined
}

interface ProveAsk {
  readonly axis: Axis
  readonly span: Span | undefined
  readonly singleOnly?: boolean
  readonly walksHeap?: boolean
  readonly endsInHeap?: boolean
  readonly walksOld?: boolean
  readonly rowsExpected?: number | undefined
  /** Another question than the scope's own: its rows are not kept. */
  readonly question?: Question
}

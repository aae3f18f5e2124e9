/** Queues the spans still to be proven complete, and plans the next slice. A bad plan only causes more requests. */
import type { Instant } from '../instant.ts'
import { Density } from './density.ts'
import { type BoundedSpan, canSplit, shorterLength, type Span, splitAt } from './spans.ts'
import { cutHintOf, type RowStamps, type CutHint } from './stampSample.ts'

/** A slice with less than this share of a full page has too few rows to plan the next slice from. */
const SPARSE_SHARE = 0.1
/** After each sparse slice, the next one is this many times longer, if totals show that later rows exist. */
const SPARSE_GROWTH = 3
/** After this many consecutive slices with too many rows, a slice as short as `#goodLength` counts as crowded. */
const CROWDED_AFTER = 3
/** After more than this many overfull slices in a row, the next slice is at most `shorterLength` long. */
const HINTED_OVERFULL_MAX = 3
/** If a slice that was made shorter has more than this share of its former rows, most are probably at one instant. */
const STUCK_SHARE = 0.8
const STUCK_SHRINK = 8
const CROWDED_SIGNS = 2
/** A slice with up to this many pages is joined with the rest of its span before it is cut, to avoid short slices. */
const FAR_OVER_PAGES = 6

export interface CutPlan {
  readonly pageRows: number
  readonly parts?: readonly Span[] | undefined
  readonly partRows?: readonly number[] | undefined
  readonly total?: number | undefined
  readonly pagesEach?: number | undefined
  readonly stamps?: readonly RowStamps[] | undefined
}

/** Where in a span very many rows seem to have the same time. No cut separates them, so two walks must agree. */
export type CrowdedInstant = 'somewhere' | 'at its end'

interface QueuedSpan {
  readonly span: Span
  rows?: number | undefined
  readonly expected?: number | undefined
  readonly isCrowded?: boolean
  /** True for the beginning of a cut span. Next in the queue is the rest, whose `rows` are those of both parts. */
  isFirstPart?: boolean
}

export class SpanQueue {
  readonly #pending: QueuedSpan[]
  readonly #density = new Density()
  readonly #oldUntil: number
  #wholeUntil: number
  #pageRows: number
  #pagesEach = 1
  #nextEnds: Instant[] = []
  #earliestStamp: Instant | undefined
  #current: QueuedSpan | undefined
  #overfullInARow = 0
  #lastOverfullTotal: number | undefined
  #crowdedSigns = 0
  #sparseInARow = 0
  /** Length (µs) of the last slice that had neither too few nor too many rows. */
  #goodLength = 0
  #overfullEnd: Instant | undefined
  #triedEnd: Instant | undefined

  /** Old spans (up to `wholeUntil`) stay whole, because their pages can be counted. The first cut ends this. */
  constructor(spans: readonly Span[], { pageRows, wholeUntil }: { pageRows: number; wholeUntil?: Instant }) {
    this.#pending = spans.toReversed().map((span) => ({ span }))
    this.#pageRows = pageRows
    this.#oldUntil = wholeUntil ?? Number.NEGATIVE_INFINITY
    this.#wholeUntil = this.#oldUntil
  }

  next(): Span | undefined {
    const queued = this.#pending.pop()
    this.#current = queued
    if (queued !== undefined && queued.span.until > this.#oldUntil) {
      this.#pageRows /= this.#pagesEach
      this.#pagesEach = 1
    }
    if (queued === undefined || queued.isCrowded === true || !canSplit(queued.span)) return queued?.span
    const { span, rows } = queued
    if (span.until <= this.#wholeUntil) return span
    const cutAt = this.#nextEnds.shift()
    const planned = cutAt === undefined ? this.#plannedLength(queued, span) : cutAt - span.since
    const length = Math.max(1, Math.floor(planned))
    const [head, rest] = splitAt(span, (span.since + length) as Instant) ?? [span]
    if (rest === undefined) return span
    this.#pending.push({ span: rest, rows })
    this.#current = { span: head, isFirstPart: true }
    return head
  }

  get #isFirstPart(): boolean {
    return this.#current?.isFirstPart === true
  }

  get mayCount(): boolean {
    return this.#wholeUntil > Number.NEGATIVE_INFINITY
  }

  get rowsExpected(): number | undefined {
    return this.#current?.expected ?? this.#current?.rows
  }

  /** Returns where the span has a crowded instant. For such a span, two walks are cheaper than a cut. */
  crowdedInstant(span: Span): CrowdedInstant | undefined {
    if (this.#current?.isCrowded === true) return 'at its end'
    if (this.#crowdedSigns >= CROWDED_SIGNS) return 'somewhere'
    if (span.since === undefined || this.#overfullInARow < CROWDED_AFTER) return undefined
    return span.until - span.since <= this.#goodLength ? 'somewhere' : undefined
  }

  /** Updates the plan after a span was proven complete. `isSingle`: a single response proved it. */
  proven(span: Span, rows: number, isSingle: boolean): void {
    if (isSingle && rows > this.#pageRows) this.#pageRows = rows
    if (this.#isFirstPart) this.#subtractFromNext(rows)
    if (span.since === undefined) return
    const isSparse = rows < this.#pageRows * SPARSE_SHARE
    if (!isSparse) {
      this.#overfullInARow = 0
      this.#lastOverfullTotal = undefined
      this.#crowdedSigns = 0
    }
    this.#sparseInARow = isSparse ? this.#sparseInARow + 1 : 0
    if (rows <= this.#pageRows || this.#pagesEach > 1) {
      const from = Math.max(span.since, Math.min(this.#earliestStamp ?? span.since, span.until - 1))
      this.#density.saw(span.until - from, rows)
      if (!isSparse) this.#goodLength = span.until - from
    }
    this.#earliestStamp = undefined
    if (this.#overfullEnd !== undefined && this.#overfullEnd <= span.until) this.#overfullEnd = undefined
    if (isSparse && this.#overfullEnd !== undefined && this.#pending.at(-1)?.rows === undefined)
      this.#approach(span.until, this.#overfullEnd)
  }

  cut(span: Span, plan: CutPlan): void {
    const { parts, total, pageRows, pagesEach } = plan
    this.#pagesEach = pagesEach ?? this.#pagesEach
    this.#pageRows = pageRows * this.#pagesEach
    this.#nextEnds = []
    if (pagesEach !== undefined) this.#wholeUntil = Number.NEGATIVE_INFINITY
    if (parts !== undefined) {
      this.#divide(plan, parts)
      return
    }
    if (span.since === undefined) {
      this.#pending.push({ span })
      return
    }
    if (span.until <= this.#wholeUntil) this.#wholeUntil = Number.NEGATIVE_INFINITY
    this.#overfullInARow += 1
    this.#overfullEnd = span.until
    const whole = { since: span.since, until: span.until }
    const hint = total === undefined ? this.#hint(whole, plan) : undefined
    const length = span.until - span.since
    const rest = this.#isFirstPart && !this.#isFarOver(total) ? this.#pending.pop() : undefined
    if (this.#isFirstPart && rest === undefined) this.#subtractFromNext(total ?? 0)
    const joined = { span: { since: span.since, until: rest?.span.until ?? span.until }, rows: rest?.rows ?? total }
    if (hint?.crowdedAt !== undefined) {
      this.#setCrowdedApart(joined, hint.crowdedAt)
      return
    }
    this.#pending.push(joined)
    const end = (span.since + this.#nextLength(whole, hint, total)) as Instant
    this.#nextEnds = [end, ...(hint?.cuts.slice(1).filter((at) => at > end && at < span.until) ?? [])]
    this.#earliestStamp = hint?.earliestStamp
    const { rate } = this.#density
    if (total !== undefined) this.#density.saw(length, total)
    else if (rate !== undefined) this.#density.saw(length, Math.max(pageRows, rate * length))
  }

  #divide({ total, partRows }: CutPlan, parts: readonly Span[]): void {
    if (this.#isFirstPart && total !== undefined) this.#subtractFromNext(total)
    const [first, ...others] = parts.map((span, n): QueuedSpan => ({ span, expected: partRows?.[n] }))
    const [second] = others
    if (first === undefined) return
    if (second !== undefined && others.length === 1 && total !== undefined) {
      first.isFirstPart = true
      second.rows = total
    }
    this.#pending.push(...others.toReversed(), first)
  }

  #isFarOver(total: number | undefined): boolean {
    return total !== undefined && total > this.#pageRows * FAR_OVER_PAGES && this.#pending.at(-1)?.rows !== undefined
  }

  #subtractFromNext(rows: number): void {
    const rest = this.#pending.at(-1)
    if (rest?.rows !== undefined) rest.rows = Math.max(0, rest.rows - rows)
  }

  #plannedLength({ rows }: QueuedSpan, span: BoundedSpan): number {
    const length = span.until - span.since
    const { rate } = this.#density
    if (rows !== undefined && rows < this.#pageRows) return length
    const planned = this.#density.planned(this.#pageRows)
    if (rows === undefined) return rate === undefined ? length : planned / rate
    const even = rows / Math.ceil(rows / planned)
    if (rate !== undefined && this.#sparseInARow === 0) return even / rate
    const grown = (even / rows) * length * SPARSE_GROWTH ** this.#sparseInARow
    return this.#overfullEnd === undefined ? grown : Math.min(grown, (this.#overfullEnd - span.since) / 2)
  }

  #hint({ since, until }: BoundedSpan, { stamps, pageRows }: CutPlan): CutHint | undefined {
    if (stamps === undefined) return undefined
    const { rate } = this.#density
    const isDensityKnown = rate !== undefined && rate * (until - since) > pageRows / 3
    const planned = this.#density.planned(pageRows)
    return cutHintOf(stamps, {
      since,
      until,
      pageRows,
      rowsPlanned: planned,
      isDensityKnown,
      overfullInARow: this.#overfullInARow,
    })
  }

  #nextLength(span: BoundedSpan, hint: CutHint | undefined, total: number | undefined): number {
    const length = span.until - span.since
    const shrunk = shorterLength(length, this.#overfullInARow)
    const hinted = this.#hintedLength(span, hint, total) ?? shrunk
    const isStuck = total !== undefined && total > (this.#lastOverfullTotal ?? Infinity) * STUCK_SHARE
    this.#lastOverfullTotal = total
    this.#crowdedSigns = isStuck ? this.#crowdedSigns + 1 : 0
    if (isStuck) return Math.max(1, Math.floor(Math.min(hinted, length / STUCK_SHRINK)))
    const bounded =
      total === undefined && this.#overfullInARow > HINTED_OVERFULL_MAX ? Math.min(hinted, shrunk) : hinted
    return Math.max(1, Math.min(length - 1, Math.floor(bounded)))
  }

  #hintedLength({ since, until }: BoundedSpan, hint: CutHint | undefined, total: number | undefined) {
    const planned = this.#density.planned(this.#pageRows)
    if (total !== undefined) return ((until - since) * planned) / total
    const end = hint?.cuts[0]
    if (end !== undefined) return end - since
    return hint?.rate === undefined ? undefined : planned / hint.rate
  }

  #setCrowdedApart({ span, rows }: QueuedSpan, at: Instant): void {
    const [crowded, rest] = splitAt(span, (at + 1) as Instant) ?? [span]
    if (rest !== undefined) this.#pending.push({ span: rest, rows })
    this.#pending.push({ span: crowded, isCrowded: true })
  }

  /**
   * After a sparse slice, the next slice ends halfway to `to`, because most rows must be near `to`. After two sparse
   * slices, it ends at `to`.
   */
  #approach(from: Instant, to: Instant): void {
    const leaps = this.#sparseInARow >= 2 && this.#triedEnd !== to
    if (leaps) this.#triedEnd = to
    this.#nextEnds = [(leaps ? to : from + Math.floor((to - from) / 2)) as Instant]
  }
}

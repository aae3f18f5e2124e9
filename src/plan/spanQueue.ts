/** Queues the spans still to be proven complete, and plans the next slice. A bad plan only causes more requests. */
import type { Instant } from '../instant.ts'
import { Density } from './density.ts'
import { canSplit, shorterLength, type Span, splitAt } from './spans.ts'
import { hintOf, type RowStamps, type SampleHint } from './stampSample.ts'

/** A slice with less than this share of a full page is sparse: too few rows to plan the next slice from. */
const SPARSE = 0.1
/** After each sparse slice, the next slice is this many times longer, if totals show that later rows exist. */
const SPARSE_GROWTH = 3
/** After this many overfull slices, many rows probably share one time if even a slice of a good length is overfull. */
const HEAP_FAILURES = 3
/** After more overfull slices than this, row times alone no longer decide the length: `shorterLength` limits it. */
const HINTED_FAILURES_MAX = 3
/** If a shortened slice still has over 80 % of the previous slice's rows, many rows probably have the same time. */
const STUCK_SHARE = 0.8
const STUCK_SHRINK = 8
const HEAP_SIGNS = 2
/** An overfull slice of up to this many pages is joined with the part after it and then cut, to avoid short slices. */
const FAR_OVER_PAGES = 6

export interface Overfull {
  readonly pageRows: number
  readonly parts?: readonly Span[] | undefined
  readonly partRows?: readonly number[] | undefined
  readonly total?: number | undefined
  /** How many pages each further slice of old rows should have; 1 at first. Undefined leaves the number unchanged. */
  readonly pagesEach?: number | undefined
  readonly stamps?: readonly RowStamps[] | undefined
}

interface Piece {
  readonly span: Span
  rows?: number | undefined
  readonly expected?: number | undefined
  readonly isHeap?: boolean
  /** True if the next piece's `rows` still includes this piece's rows. They are subtracted once they are known. */
  isHead?: boolean
}

export class SpanQueue {
  readonly #pending: Piece[]
  readonly #density = new Density()
  readonly #oldUntil: number
  #wholeUntil: number
  #pageRows: number
  #pagesEach = 1
  #nextEnds: Instant[] = []
  #earliestStamp: Instant | undefined
  #current: Piece | undefined
  /** True if the current piece is the beginning of a longer span. The next piece is the rest of that span. */
  #isHead = false
  #failures = 0
  #lastOverfullTotal: number | undefined
  /** How many shortened slices in a row kept over `STUCK_SHARE` of the rows, as if all had the same time. */
  #heapSigns = 0
  #sparseInARow = 0
  /** Length (µs) of the last slice that had neither too few nor too many rows. */
  #goodLength = 0
  #overfullEnd: Instant | undefined
  #triedEnd: Instant | undefined

  /** Old spans (up to `wholeUntil`) are returned whole to count their pages, until one of them must be cut. */
  constructor(spans: readonly Span[], { pageRows, wholeUntil }: { pageRows: number; wholeUntil?: Instant }) {
    this.#pending = spans.toReversed().map((span) => ({ span }))
    this.#pageRows = pageRows
    this.#oldUntil = wholeUntil ?? Number.NEGATIVE_INFINITY
    this.#wholeUntil = this.#oldUntil
  }

  /** Returns the earliest remaining span, shortened to the planned length. Returns undefined if no span remains. */
  next(): Span | undefined {
    const piece = this.#pending.pop()
    this.#current = piece
    this.#isHead = piece?.isHead === true
    if (piece !== undefined && piece.span.until > this.#oldUntil) {
      this.#pageRows /= this.#pagesEach
      this.#pagesEach = 1
    }
    if (piece === undefined || piece.isHeap === true || !canSplit(piece.span)) return piece?.span
    const { span, rows } = piece
    if (span.until <= this.#wholeUntil) return span
    const cutAt = this.#nextEnds.shift()
    const planned = cutAt === undefined ? this.#plannedLength(piece, span) : cutAt - span.since
    const length = Math.max(1, Math.floor(planned))
    const [head, rest] = splitAt(span, (span.since + length) as Instant) ?? [span]
    if (rest === undefined) return span
    this.#pending.push({ span: rest, rows })
    this.#current = { span: head }
    this.#isHead = true
    return head
  }

  get leavesWhole(): boolean {
    return this.#wholeUntil > Number.NEGATIVE_INFINITY
  }

  get rowsExpected(): number | undefined {
    return this.#current?.expected ?? this.#current?.rows
  }

  get endsInHeap(): boolean {
    return this.#current?.isHeap === true
  }

  /** Returns whether many rows seem to share one time (a heap). Walking the span twice is then cheaper than a cut. */
  seemsHeap(span: Span): boolean {
    if (this.endsInHeap || this.#heapSigns >= HEAP_SIGNS) return true
    if (span.since === undefined || this.#failures < HEAP_FAILURES) return false
    return span.until - span.since <= this.#goodLength
  }

  /** Updates the plan once a span has been proven complete. `isSingle`: a single response proved it. */
  proven(span: Span, rows: number, isSingle: boolean): void {
    if (isSingle && rows > this.#pageRows) this.#pageRows = rows
    if (this.#isHead) this.#subtractFromNext(rows)
    if (span.since === undefined) return
    const isSparse = rows < this.#pageRows * SPARSE
    if (!isSparse) this.#failures = 0
    if (!isSparse) this.#lastOverfullTotal = undefined
    if (!isSparse) this.#heapSigns = 0
    this.#sparseInARow = isSparse ? this.#sparseInARow + 1 : 0
    // Ignores slices of several pages, such as an old span that was read whole. They would distort the density.
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

  cut(span: Span, overfull: Overfull): void {
    const { parts, total, pageRows, pagesEach } = overfull
    this.#pagesEach = pagesEach ?? this.#pagesEach
    this.#pageRows = pageRows * this.#pagesEach
    this.#nextEnds = []
    if (pagesEach !== undefined) this.#wholeUntil = Number.NEGATIVE_INFINITY
    if (parts !== undefined) {
      this.#divide(overfull, parts)
      return
    }
    if (span.since === undefined) {
      this.#pending.push({ span })
      return
    }
    if (span.until <= this.#wholeUntil) this.#wholeUntil = Number.NEGATIVE_INFINITY
    this.#failures += 1
    this.#overfullEnd = span.until
    const hint = total === undefined ? this.#hint(span.since, span.until, overfull) : undefined
    const length = span.until - span.since
    // Merges the span with the part after it. Otherwise, a short part would need a request of its own.
    const rest = this.#isHead && !this.#isFarOver(total) ? this.#pending.pop() : undefined
    if (this.#isHead && rest === undefined) this.#subtractFromNext(total ?? 0)
    const whole = { span: { since: span.since, until: rest?.span.until ?? span.until }, rows: rest?.rows ?? total }
    if (hint?.heapAt !== undefined) {
      this.#setHeapApart(whole, hint.heapAt)
      return
    }
    this.#pending.push(whole)
    const end = (span.since + this.#shorter(length, { since: span.since, hint, total })) as Instant
    this.#nextEnds = [end, ...(hint?.cuts.slice(1).filter((at) => at > end && at < span.until) ?? [])]
    this.#earliestStamp = hint?.from
    const { rate } = this.#density
    if (total !== undefined) this.#density.saw(length, total)
    else if (rate !== undefined) this.#density.saw(length, Math.max(pageRows, rate * length))
  }

  /** Queues the parts. If there are two, the second one's row count is the total minus the first one's rows. */
  #divide({ total, partRows }: Overfull, parts: readonly Span[]): void {
    if (this.#isHead && total !== undefined) this.#subtractFromNext(total)
    const [first, ...others] = parts.map((span, n): Piece => ({ span, expected: partRows?.[n] }))
    const [second] = others
    if (first === undefined) return
    if (second !== undefined && others.length === 1 && total !== undefined) {
      first.isHead = true
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

  #plannedLength({ rows }: Piece, span: { since: Instant; until: Instant }): number {
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

  #hint(since: Instant, until: Instant, { stamps, pageRows }: Overfull): SampleHint | undefined {
    if (stamps === undefined) return undefined
    const { rate } = this.#density
    const isKnown = rate !== undefined && rate * (until - since) > pageRows / 3
    const planned = this.#density.planned(pageRows)
    return hintOf(stamps, { since, until, pageRows, rowsPlanned: planned, isKnown, failures: this.#failures })
  }

  /** Returns the length (µs) of the next slice, after a slice of `length` µs from `since` had too many rows. */
  #shorter(length: number, facts: { since: Instant; hint: SampleHint | undefined; total: number | undefined }): number {
    const { since, hint, total } = facts
    const shrunk = shorterLength(length, this.#failures)
    const planned = this.#density.planned(this.#pageRows)
    const hinted =
      total !== undefined
        ? (length * planned) / total
        : hint?.cuts[0] !== undefined
          ? hint.cuts[0] - since
          : hint?.rate !== undefined
            ? planned / hint.rate
            : shrunk
    const isStuck = total !== undefined && total > (this.#lastOverfullTotal ?? Infinity) * STUCK_SHARE
    this.#lastOverfullTotal = total
    this.#heapSigns = isStuck ? this.#heapSigns + 1 : 0
    if (isStuck) return Math.max(1, Math.floor(Math.min(hinted, length / STUCK_SHRINK)))
    const bounded = total === undefined && this.#failures > HINTED_FAILURES_MAX ? Math.min(hinted, shrunk) : hinted
    return Math.max(1, Math.min(length - 1, Math.floor(bounded)))
  }

  /** Cuts the span right after `at`, a time that many rows share. The first part also has the rows before `at`. */
  #setHeapApart({ span, rows }: Piece, at: Instant): void {
    const [heap, rest] = splitAt(span, (at + 1) as Instant) ?? [span]
    if (rest !== undefined) this.#pending.push({ span: rest, rows })
    this.#pending.push({ span: heap, isHeap: true })
  }

  /** After a sparse slice, ends the next slice halfway to `to`, where most rows must be. After two, tries `to`. */
  #approach(from: Instant, to: Instant): void {
    const leaps = this.#sparseInARow >= 2 && this.#triedEnd !== to
    if (leaps) this.#triedEnd = to
    this.#nextEnds = [(leaps ? to : from + Math.floor((to - from) / 2)) as Instant]
  }
}

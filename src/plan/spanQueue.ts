/**
 * The spans of a run that are still to be proven, earliest first, and how long the next slice is: by the total where
 * the service tells one, else by how densely rows stood in the slices before and by the stamps of the last overfull
 * response. All of this is about cost only: every slice is proven by itself.
 */
import type { Instant } from '../instant.ts'
import { Density } from './density.ts'
import { canSplit, shorterLength, type Span, splitAt } from './spans.ts'
import { hintOf, type RowStamps, type SampleHint } from './stampSample.ts'

/** A slice with fewer rows than this share of a page says little of how dense the next one is. */
const SPARSE = 0.1
/** Densities that differ by no more than this, in their logarithm, are taken for the same. */
const STEADY = 0.2
/** Where rows are known to follow, slices that hold few grow so much from one to the next, after so many. */
const SPARSE_GROWTH = 3
const SPARSE_PATIENCE = 3
/** So many slices in a row that hold too many, and so much shorter than the last good one: rows stand in a heap. */
const HEAP_FAILURES = 3
const HEAP_SHARE = 0.1
/** From so many on, the slice shrinks ever faster whatever hints say. */
const HINTED_FAILURES_MAX = 3
/** A shorter slice that still holds this share of the rows of the one before says that they stand in a heap. */
const STUCK_SHARE = 0.8
const STUCK_SHRINK = 8
const HEAP_STUCK = 2
const HEAP_PAGES_MAX = 4
/** So many pages in one slice are cut by themselves. */
const FAR_OVER = 6
/** Room on the last page for rows that came since the total was told. */
const SPARE_SHARE = 0.02
/** A remainder shorter than this share of a slice goes with it. */
const REMAINDER_SHARE = 0.03

/** What a response showed that doesn't hold its span. */
export interface Overfull {
  /** Rows of a full page. */
  readonly pageRows: number
  /** The span has to be cut just so. */
  readonly parts?: readonly Span[] | undefined
  /** Rows that each of these parts probably holds. */
  readonly partRows?: readonly number[] | undefined
  /** Rows in the span, where the service tells. */
  readonly total?: number | undefined
  /** Stamps of the rows that came. */
  readonly stamps?: readonly RowStamps[] | undefined
}

export interface QueueOptions {
  /** Rows that a full response holds, as far as is known. */
  readonly pageRows: number
  /** Spans that end no later are not cut as long as they can be read page by page. */
  readonly wholeUntil?: Instant | undefined
}

interface Piece {
  readonly span: Span
  /** Rows in it, as far as totals told. */
  rows?: number | undefined
  /** Rows that probably stand in it. */
  readonly expected?: number | undefined
  readonly isHeap?: boolean
  /** The rows of the piece behind it are counted with its own. */
  isHead?: boolean
}

export class SpanQueue {
  readonly #pending: Piece[]
  readonly #density = new Density()
  #wholeUntil: number
  #pageRows: number
  /** Where the next slices end, when an overfull response told. */
  #cuts: Instant[] = []
  /** Before this, the sample of an overfull response had no row. */
  #from: Instant | undefined
  /** The piece that was handed out, and whether the one on top of the others is what it was cut from. */
  #asked: Piece | undefined
  #isHead = false
  /** Slices that overfilled their page since one was well filled. */
  #failures = 0
  /** Rows of the overfull slice before, where totals are told. */
  #totalBefore: number | undefined
  /** Slices in a row that were shorter than the one before and held hardly fewer rows. */
  #stuck = 0
  /** Slices in a row that held few rows. */
  #sparse = 0
  /** Length of the last slice that was well filled. */
  #goodLength = 0
  /** End of the shortest slice that overfilled its page: between here and there the rows are dense. */
  #tooFar: Instant | undefined
  /** The one that was gone to in one leap. */
  #leapt: Instant | undefined

  constructor(spans: readonly Span[], { pageRows, wholeUntil }: QueueOptions) {
    this.#pending = spans.toReversed().map((span) => ({ span }))
    this.#pageRows = pageRows
    this.#wholeUntil = wholeUntil ?? Number.NEGATIVE_INFINITY
  }

  /** The earliest span, no longer than planned; undefined when all are done. */
  next(): Span | undefined {
    const piece = this.#pending.pop()
    this.#asked = piece
    this.#isHead = piece?.isHead === true
    if (piece === undefined || piece.isHeap === true || !canSplit(piece.span)) return piece?.span
    const { span, rows } = piece
    if (span.until <= this.#wholeUntil) return span
    const cutAt = this.#cuts.shift()
    const planned = cutAt === undefined ? this.#plannedLength(piece, span) : cutAt - span.since
    const length = Math.max(1, Math.floor(planned))
    const [head, rest] = splitAt(span, (span.since + length) as Instant) ?? [span]
    if (rest === undefined || (cutAt === undefined && span.until - head.until < length * REMAINDER_SHARE)) return span
    this.#pending.push({ span: rest, rows })
    this.#asked = { span: head }
    this.#isHead = true
    return head
  }

  /**
   * Whether spans that end early enough are still handed out whole: until one of them had to be cut for what it holds.
   */
  get leavesWhole(): boolean {
    return this.#wholeUntil > Number.NEGATIVE_INFINITY
  }

  /** Rows that the span that was handed out probably holds, where totals or places of pages told. */
  get rowsExpected(): number | undefined {
    return this.#asked?.expected ?? this.#asked?.rows
  }

  /** Whether the span that was handed out holds a heap of rows in its last µs. */
  get endsInHeap(): boolean {
    return this.#asked?.isHeap === true
  }

  /**
   * Whether the span seems to hold a heap of rows at one time, as a bulk import leaves it: walking it page by page,
   * twice, then costs less than cutting it down to an instant, which would have to be walked twice as well.
   */
  holdsHeap(span: Span): boolean {
    if (this.endsInHeap) return true
    if (this.#stuck >= HEAP_STUCK && (this.#totalBefore ?? 0) <= this.#pageRows * HEAP_PAGES_MAX) return true
    if (span.since === undefined || this.#failures < HEAP_FAILURES) return false
    return span.until - span.since <= this.#goodLength * HEAP_SHARE
  }

  /** The span was proven with `rows`; `isSingle`: by one response. */
  proven(span: Span, rows: number, isSingle: boolean): void {
    if (isSingle && rows > this.#pageRows) this.#pageRows = rows
    if (this.#isHead) this.#leaveOut(rows)
    if (span.since === undefined) return
    const isSparse = rows < this.#pageRows * SPARSE
    if (!isSparse) this.#failures = 0
    if (!isSparse) this.#totalBefore = undefined
    if (!isSparse) this.#stuck = 0
    this.#sparse = isSparse ? this.#sparse + 1 : 0
    // More rows than a page holds came by walks over many pages: a heap says nothing of the rows around it.
    if (rows <= this.#pageRows) {
      const from = Math.max(span.since, Math.min(this.#from ?? span.since, span.until - 1))
      this.#density.saw(span.until - from, rows)
      if (!isSparse) this.#goodLength = span.until - from
    }
    this.#from = undefined
    if (this.#tooFar !== undefined && this.#tooFar <= span.until) this.#tooFar = undefined
    if (isSparse && this.#tooFar !== undefined && this.#pending.at(-1)?.rows === undefined)
      this.#approach(span.until, this.#tooFar)
  }

  /** The span has to be cut. */
  cut(span: Span, overfull: Overfull): void {
    const { parts, total, pageRows } = overfull
    this.#pageRows = pageRows
    this.#cuts = []
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
    this.#tooFar = span.until
    const hint = total === undefined ? this.#hint(span.since, span.until, overfull) : undefined
    const length = span.until - span.since
    // Back into one piece with what follows it, so that no remainder is left over to be asked for by itself.
    const rest = this.#isHead && !this.#isFarOver(total) ? this.#pending.pop() : undefined
    if (this.#isHead && rest === undefined) this.#leaveOut(total ?? 0)
    const whole = { span: { since: span.since, until: rest?.span.until ?? span.until }, rows: rest?.rows ?? total }
    if (hint?.heapAt !== undefined) {
      this.#setHeapApart(whole, hint.heapAt)
      return
    }
    this.#pending.push(whole)
    const end = (span.since + this.#shorter(length, { since: span.since, hint, total })) as Instant
    this.#cuts = [end, ...(hint?.cuts.slice(1).filter((at) => at > end && at < span.until) ?? [])]
    this.#from = hint?.from
    const { rate } = this.#density
    if (total !== undefined) this.#density.saw(length, total)
    else if (rate !== undefined) this.#density.saw(length, Math.max(pageRows, rate * length))
  }

  /** Puts the parts in the span's place; what the first one doesn't hold of the total stands in those behind it. */
  #divide({ total, partRows }: Overfull, parts: readonly Span[]): void {
    if (this.#isHead && total !== undefined) this.#leaveOut(total)
    const [first, ...others] = parts.map((span, n): Piece => ({ span, expected: partRows?.[n] }))
    const [second] = others
    if (first === undefined) return
    if (second !== undefined && others.length === 1 && total !== undefined) {
      first.isHead = true
      second.rows = total
    }
    this.#pending.push(...others.toReversed(), first)
  }

  /** Whether the span is known to hold far more rows than a page: then what follows it holds as many less. */
  #isFarOver(total: number | undefined): boolean {
    return total !== undefined && total > this.#pageRows * FAR_OVER && this.#pending.at(-1)?.rows !== undefined
  }

  /** The rows stand in the span that was asked for, not in what follows it. */
  #leaveOut(rows: number): void {
    const rest = this.#pending.at(-1)
    if (rest?.rows !== undefined) rest.rows = Math.max(0, rest.rows - rows)
  }

  #plannedLength({ rows }: Piece, span: { since: Instant; until: Instant }): number {
    const length = span.until - span.since
    const { rate } = this.#density
    if (rows !== undefined && rows < this.#pageRows * (1 - SPARE_SHARE)) return length
    const planned = this.#density.planned(this.#pageRows)
    if (rows === undefined) return rate === undefined ? length : planned / rate
    const even = rows / Math.ceil(rows / planned)
    const overall = rows / length
    // Where the last slices held about as many rows as all that is left does on average, the average is known better.
    const isSteady = rate !== undefined && Math.abs(Math.log(rate / overall)) < STEADY
    if (rate !== undefined && this.#sparse === 0) return even / (isSteady ? overall : rate)
    const grown = (even / overall) * SPARSE_GROWTH ** Math.max(0, this.#sparse - SPARSE_PATIENCE)
    return this.#tooFar === undefined ? grown : Math.min(grown, (this.#tooFar - span.since) / 2)
  }

  #hint(since: Instant, until: Instant, { stamps, pageRows }: Overfull): SampleHint | undefined {
    if (stamps === undefined) return undefined
    const { rate } = this.#density
    const isKnown = rate !== undefined && rate * (until - since) > pageRows / 3
    const planned = this.#density.planned(pageRows)
    return hintOf(stamps, { since, until, pageRows, planned, isKnown, failures: this.#failures })
  }

  /** Length of the next slice after one of `length` was overfull. */
  #shorter(length: number, told: { since: Instant; hint: SampleHint | undefined; total: number | undefined }): number {
    const { since, hint, total } = told
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
    // Where a shorter slice holds hardly fewer rows, they stand close together.
    const isStuck = total !== undefined && total > (this.#totalBefore ?? Infinity) * STUCK_SHARE
    this.#totalBefore = total
    this.#stuck = isStuck ? this.#stuck + 1 : 0
    if (isStuck) return Math.max(1, Math.floor(Math.min(hinted, length / STUCK_SHRINK)))
    const bounded = total === undefined && this.#failures > HINTED_FAILURES_MAX ? Math.min(hinted, shrunk) : hinted
    return Math.max(1, Math.min(length - 1, Math.floor(bounded)))
  }

  /** Makes the heap a piece of its own, with what little stands before it. */
  #setHeapApart({ span, rows }: Piece, at: Instant): void {
    const [heap, rest] = splitAt(span, (at + 1) as Instant) ?? [span]
    if (rest !== undefined) this.#pending.push({ span: rest, rows })
    this.#pending.push({ span: heap, isHeap: true })
  }

  /**
   * Towards where the rows are dense: by halves, and once all the way, since nothing may stand there after all and
   * halves of halves would creep up to it.
   */
  #approach(from: Instant, to: Instant): void {
    const leaps = this.#sparse >= 2 && this.#leapt !== to
    if (leaps) this.#leapt = to
    this.#cuts = [(leaps ? to : from + Math.floor((to - from) / 2)) as Instant]
  }
}

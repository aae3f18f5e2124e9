/**
 * The spans of a run that are still to be proven, earliest first. Where the service tells no total, the length of the
 * next slice follows from how many rows the last one held, and from where one was last found to hold too many.
 */
import type { Instant } from '../instant.ts'
import { canSplit, nextLength, shorterLength, type Span, splitAt } from '../plan/spans.ts'

/** A slice with fewer rows than this share of a page says little of how dense the next one is. */
const SPARSE = 0.1
/** So many slices in a row that hold too many, and so much shorter than the last good one: rows stand in a heap. */
const HEAP_FAILURES = 3
const HEAP_SHARE = 0.1

export class SpanQueue {
  readonly #pending: Span[]
  /** Planned length of the next slice in µs. */
  #length = Number.POSITIVE_INFINITY
  /** Slices that overfilled their page since one was well filled. */
  #failures = 0
  /** Slices in a row that held few rows. */
  #sparse = 0
  /** Length of the last slice that was well filled. */
  #goodLength = 0
  /** End of the shortest slice that overfilled its page: between here and there the rows are dense. */
  #tooFar: Instant | undefined
  /** The one that was gone to in one leap. */
  #leapt: Instant | undefined

  constructor(spans: readonly Span[]) {
    this.#pending = spans.toReversed()
  }

  /** The earliest span, no longer than planned; undefined when all are done. */
  next(): Span | undefined {
    const span = this.#pending.pop()
    if (span === undefined || !canSplit(span) || span.until - span.since <= this.#length) return span
    const [head, rest] = splitAt(span, (span.since + this.#length) as Instant) ?? [span]
    if (rest !== undefined) this.#pending.push(rest)
    return head
  }

  /**
   * Whether the span seems to hold a heap of rows at one time, as a bulk import leaves it: walking it page by page,
   * twice, then costs less than cutting it down to an instant, which would have to be walked twice as well.
   */
  holdsHeap(span: Span): boolean {
    if (span.since === undefined || this.#failures < HEAP_FAILURES) return false
    return span.until - span.since <= this.#goodLength * HEAP_SHARE
  }

  /** The span was proven with `rows`, where a response of this report holds `pageRows`. */
  proven(span: Span, rows: number, pageRows: number): void {
    if (span.since === undefined || !Number.isFinite(this.#length)) return
    const length = span.until - span.since
    const isSparse = rows < pageRows * SPARSE
    if (!isSparse) this.#failures = 0
    this.#sparse = isSparse ? this.#sparse + 1 : 0
    if (!isSparse && rows <= pageRows) this.#goodLength = length
    const ahead = this.#tooFar === undefined ? 0 : this.#tooFar - span.until
    if (isSparse && ahead > 0) this.#length = Math.max(1, this.#leaps() ? ahead : Math.floor(ahead / 2))
    else this.#length = rows > pageRows ? this.#goodLength : nextLength(length, rows, pageRows)
    if (ahead <= 0) this.#tooFar = undefined
  }

  /**
   * Whether to go all the way to where the rows are dense, once: nothing may stand there after all, and halves of halves
   * would creep up to it.
   */
  #leaps(): boolean {
    if (this.#sparse < 2 || this.#leapt === this.#tooFar) return false
    this.#leapt = this.#tooFar
    return true
  }

  /** The span has to be cut: into `parts`, or shorter than it was. */
  cut(span: Span, parts: readonly Span[] | undefined): void {
    if (parts !== undefined) {
      this.#pending.push(...parts.toReversed())
      return
    }
    this.#failures += 1
    this.#tooFar = span.until
    if (span.since !== undefined) this.#length = shorterLength(span.until - span.since, this.#failures)
    // Back into one piece with what follows it, so that no remainder is left over to be asked for by itself.
    const rest = this.#pending.at(-1)
    const follows = rest !== undefined && rest.since === span.until
    if (follows) this.#pending.pop()
    this.#pending.push(follows ? { since: span.since, until: rest.until } : span)
  }
}

/**
 * The spans of a run that are still to be proven, earliest first. Where the service tells no total, the length of the
 * next slice follows from how many rows the last one held.
 */
import type { Instant } from '../instant.ts'
import { canSplit, nextLength, shorterLength, type Span, splitAt } from '../plan/spans.ts'

export class SpanQueue {
  #pending: Span[]
  /** Planned length of the next slice in µs. */
  #length = Number.POSITIVE_INFINITY

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

  /** The span was proven with `rows`, where a response of this report holds `pageRows`. */
  proven(span: Span, rows: number, pageRows: number): void {
    if (span.since === undefined || !Number.isFinite(this.#length)) return
    this.#length = nextLength(span.until - span.since, rows, pageRows)
  }

  /** The span has to be cut: into `parts`, or shorter than it was. */
  cut(span: Span, parts: readonly Span[] | undefined): void {
    if (parts !== undefined) {
      this.#pending.push(...parts.toReversed())
      return
    }
    if (span.since !== undefined) this.#length = shorterLength(span.until - span.since)
    this.#pending.push(span)
  }
}

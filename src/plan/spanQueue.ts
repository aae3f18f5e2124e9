/** Queues the spans still to be proven complete, earliest first, and takes slices from them. */
import { assert } from '../errors.ts'
import type { Instant } from '../instant.ts'
import type { CutPlan, Slice } from './slice.ts'
import { afterOverfull, afterProven, crowdedInstantIn, fullRows } from './slicePlan.ts'
import { firstHistory, nextLength, type SliceHistory } from './slicePlan.ts'
import { canSplit, type Span, splitAt } from './spans.ts'

/** A slice with up to this many pages is joined with the rest of its span before it is cut, to avoid short slices. */
const FAR_OVER_PAGES = 6

interface QueuedSpan {
  readonly span: Span
  /** How many rows the span has by the last total. */
  readonly rows?: number | undefined
  readonly rowsExpected?: number | undefined
  /** Where the first slices end. Slices without an end here are planned from the slices before them. */
  readonly ends?: readonly Instant[] | undefined
  readonly isCrowded?: boolean
}

export class SpanQueue {
  readonly #oldUntil: number
  /** The slice that is being read is the first of these spans, or the beginning of it. */
  #spans: readonly QueuedSpan[]
  #isOldWhole: boolean
  #history: SliceHistory

  /** Old spans (up to `wholeUntil`) stay whole, because their pages can be counted. The first cut ends this. */
  constructor(spans: readonly Span[], { pageRows, wholeUntil }: { pageRows: number; wholeUntil?: Instant }) {
    this.#spans = spans.map((span) => ({ span }))
    this.#oldUntil = wholeUntil ?? Number.NEGATIVE_INFINITY
    this.#isOldWhole = wholeUntil !== undefined
    this.#history = firstHistory(pageRows)
  }

  next(): (Slice & { readonly span: Span }) | undefined {
    const [first] = this.#spans
    if (first === undefined) return undefined
    if (!this.#isOld(first.span)) this.#history = { ...this.#history, pagesEach: 1 }
    const span = this.#firstSlice(first)
    return {
      span,
      crowdedInstant: first.isCrowded === true ? 'at its end' : crowdedInstantIn(span, this.#history),
      mayCount: this.#isOldWhole,
      rowsExpected: span === first.span ? (first.rowsExpected ?? first.rows) : undefined,
    }
  }

  /** Removes a slice that was proven complete. `isSingle`: a single response proved it. */
  proven(slice: Span, rows: number, isSingle: boolean): void {
    const { pageRows, pagesEach } = this.#history
    const longest = isSingle ? Math.max(pageRows, rows / pagesEach) : pageRows
    this.#history = afterProven({ ...this.#history, pageRows: longest }, slice, rows)
    const [first = { span: slice }, ...later] = this.#spans
    const ends = this.#history.sparseInARow > 0 ? undefined : first.ends
    this.#spans = [...restAfter(slice, rows, { ...first, ends }), ...later]
  }

  /** Replaces a slice that has too many rows by shorter slices. */
  cut(slice: Span, plan: CutPlan): void {
    const { parts, pageRows, pagesEach } = plan
    const [first = { span: slice }, ...later] = this.#spans
    if (pagesEach !== undefined || (parts === undefined && this.#isOld(slice))) this.#isOldWhole = false
    this.#history = { ...this.#history, pageRows, pagesEach: pagesEach ?? this.#history.pagesEach }
    const rest = restAfter(slice, plan.total ?? 0, first)
    if (parts === undefined) this.#spans = [...this.#cutByRows(slice, plan, first), ...later]
    else this.#spans = [...queuedParts(parts, plan), ...rest, ...later]
  }

  #cutByRows(slice: Span, { total, stamps }: CutPlan, first: QueuedSpan): readonly QueuedSpan[] {
    assert(canSplit(slice), 'a slice that is cut has instants between its bounds')
    const { history, ends, crowdedAt } = afterOverfull(this.#history, { span: slice, total, stamps })
    this.#history = history
    const rest = restAfter(slice, total ?? 0, first)
    const isFarOver = first.rows !== undefined && (total ?? 0) > fullRows(history) * FAR_OVER_PAGES
    const isApart = rest.length === 0 || isFarOver
    const queued = isApart ? { span: slice, rows: total } : { span: first.span, rows: first.rows ?? total }
    const shorter = crowdedAt === undefined ? [{ ...queued, ends }] : withCrowdedApart(queued, crowdedAt)
    return isApart ? [...shorter, ...rest] : shorter
  }

  #isOld({ until }: Span): boolean {
    return until <= this.#oldUntil
  }

  #firstSlice({ span, rows, ends = [], isCrowded = false }: QueuedSpan): Span {
    const { since = Number.NEGATIVE_INFINITY } = span
    const end = ends.find((at) => at > since)
    if (end !== undefined) return splitAt(span, end)?.[0] ?? span
    if (isCrowded || !canSplit(span) || (this.#isOldWhole && this.#isOld(span))) return span
    const length = Math.max(1, Math.floor(nextLength(this.#history, span, rows)))
    return splitAt(span, (span.since + length) as Instant)?.[0] ?? span
  }
}

/** Returns what remains of the first queued span after its slice, which has `rows` rows. */
function restAfter(slice: Span, sliceRows: number, { span, rows, ends }: QueuedSpan): readonly QueuedSpan[] {
  const [, rest] = splitAt(span, slice.until) ?? []
  if (rest === undefined) return []
  return [{ span: rest, rows: rows === undefined ? undefined : Math.max(0, rows - sliceRows), ends }]
}

/** Returns the parts of a slice. Two parts stay one span, because the total that is known counts the rows of both. */
function queuedParts(parts: readonly Span[], { total, partRows }: CutPlan): readonly QueuedSpan[] {
  const [first, second] = parts
  if (total !== undefined && first !== undefined && second !== undefined && parts.length === 2)
    return [{ span: { since: first.since, until: second.until }, rows: total, ends: [first.until] }]
  return parts.map((span, n) => ({ span, rowsExpected: partRows?.[n] }))
}

function withCrowdedApart({ span, rows }: QueuedSpan, at: Instant): readonly QueuedSpan[] {
  const [crowded, rest] = splitAt(span, (at + 1) as Instant) ?? [span]
  return [{ span: crowded, isCrowded: true }, ...(rest === undefined ? [] : [{ span: rest, rows }])]
}

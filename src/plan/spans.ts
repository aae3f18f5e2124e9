/** Cuts and merges spans of time. Their bounds are inclusive (spec §4, rule 1). */
import { type Instant, minusMs, latest } from '../instant.ts'

export interface Span {
  readonly since: Instant | undefined
  readonly until: Instant
}

export interface BoundedSpan extends Span {
  readonly since: Instant
}

const SLICES_MAX = 1_000
/** Factors for the next slice's length after 1, 2, … overfull slices. */
const SHRINK = [0.7, 0.45, 0.2, 0.04, 0.0016, 0.000_002_5] as const

export const canSplit = (span: Span | undefined): span is BoundedSpan =>
  span?.since !== undefined && span.until - span.since >= 2

/** Cuts a span with `total` rows into slices of equal length and about `rowsEach` rows. */
export function splitByTotal(span: BoundedSpan, total: number, rowsEach: number): Span[] {
  const length = span.until - span.since
  const slices = Math.max(2, Math.min(SLICES_MAX, length, Math.ceil(total / Math.max(1, rowsEach))))
  const cuts = Array.from(
    { length: slices - 1 },
    (_, n) => (span.since + Math.floor((length * (n + 1)) / slices)) as Instant,
  )
  const bounds = [span.since, ...cuts, span.until]
  return bounds.slice(1).map((until, n) => ({ since: bounds[n], until }))
}

/** Returns the span as two parts that share the instant `at`, or undefined if `at` is not inside the span. */
export function splitAt(span: Span, at: Instant): [Span, Span] | undefined {
  if ((span.since !== undefined && at <= span.since) || at >= span.until) return undefined
  return [
    { since: span.since, until: at },
    { since: at, until: span.until },
  ]
}

/** Returns the time before which no new row can appear (PROOFS, A3). */
export const youngFrom = (serviceTime: Instant, overlapMs: number): Instant => minusMs(serviceTime, overlapMs)

/** Returns the next length (µs) after slices with too many rows in a row. The last of them was `length` µs long. */
export function shorterLength(length: number, overfullInARow: number): number {
  const factor = SHRINK[Math.min(overfullInARow, SHRINK.length) - 1] ?? SHRINK[0]
  return Math.max(1, Math.floor(length * factor))
}

const lowerOf = ({ since }: Span): number => since ?? Number.NEGATIVE_INFINITY

/** Merges spans that overlap or touch, earliest first. Leaves out spans that end before they begin. */
export function merged(spans: readonly Span[]): Span[] {
  const result: Span[] = []
  const real = spans.filter((span) => lowerOf(span) <= span.until)
  for (const span of real.toSorted((a, b) => lowerOf(a) - lowerOf(b) || 0)) {
    const last = result.at(-1)
    if (last === undefined || lowerOf(span) > last.until) result.push(span)
    else if (span.until > last.until) result[result.length - 1] = { since: last.since, until: span.until }
  }
  return result
}

export function gapsIn(spans: readonly Span[], from: Instant): BoundedSpan[] {
  const gaps: { since: Instant; until: Instant }[] = []
  let reached = from
  for (const { since, until } of merged(spans)) {
    if (since !== undefined && since > reached) gaps.push({ since: reached, until: since })
    reached = latest(reached, until)
  }
  return gaps
}

/** Returns how far the spans reach from `from` without a gap. */
export function provenUpTo(from: Instant | undefined, spans: readonly Span[]): Instant | undefined {
  const joined = merged(spans)
  if (from === undefined) return joined[0]?.until
  const reaching = joined.find((span) => lowerOf(span) <= from && span.until >= from)
  return reaching?.until ?? from
}

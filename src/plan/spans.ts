/** Spans of time and how they are cut. Bounds are inclusive (spec §4, rule 1), so no row is between two parts. */
import { type Instant, minusMs } from '../instant.ts'

export interface Span {
  /** Lower bound; undefined: none is sent. */
  readonly since: Instant | undefined
  readonly until: Instant
}

const SLICES_MAX = 1_000
/**
 * Without a total, the factors for the length of the next slice after 1, 2, … slices in a row with too many rows. The
 * last factors are extreme, because all rows may be at one instant.
 */
const SHRINK = [0.7, 0.45, 0.2, 0.04, 0.0016, 0.000_002_5] as const

/** Returns whether the span is longer than one instant. */
export const canSplit = (span: Span): span is Span & { since: Instant } =>
  span.since !== undefined && span.until - span.since >= 2

/** Cuts a span with `total` rows into slices of equal length, with about `rowsEach` rows if evenly distributed. */
export function splitByTotal(span: Span & { since: Instant }, total: number, rowsEach: number): Span[] {
  const length = span.until - span.since
  const slices = Math.max(2, Math.min(SLICES_MAX, length, Math.ceil(total / Math.max(1, rowsEach))))
  const cuts = Array.from(
    { length: slices - 1 },
    (_, n) => (span.since + Math.floor((length * (n + 1)) / slices)) as Instant,
  )
  const bounds = [span.since, ...cuts, span.until]
  return bounds.slice(1).map((until, n) => ({ since: bounds[n], until }))
}

/** Returns the span as two parts that share the instant `at`; undefined if `at` is not inside the span. */
export function splitAt(span: Span, at: Instant): [Span, Span] | undefined {
  if ((span.since !== undefined && at <= span.since) || at >= span.until) return undefined
  return [
    { since: span.since, until: at },
    { since: at, until: span.until },
  ]
}

/** Returns the time before which no further row can appear: `overlapMs` before the service's clock (PROOFS, A3). */
export const youngFrom = (clock: Instant, overlapMs: number): Instant => minusMs(clock, overlapMs)

/** Returns the next slice's length in µs. `failures` slices in a row had too many rows; the last had this length. */
export function shorterLength(length: number, failures: number): number {
  const factor = SHRINK[Math.min(failures, SHRINK.length) - 1] ?? SHRINK[0]
  return Math.max(1, Math.floor(length * factor))
}

/**
 * Spans of time and how they are cut. Bounds are inclusive (spec §4, rule 1), so parts share the instant where they
 * meet: nothing falls between them, whatever the service does with the digits behind the microsecond.
 */
import { type Instant, minusMs } from '../instant.ts'

export interface Span {
  /** Undefined: no lower bound is asked for. */
  readonly since: Instant | undefined
  readonly until: Instant
}

const SLICES_MAX = 1_000
/**
 * A slice that overfilled its page, when the page says nothing of the total, is tried again this much shorter: a little
 * at first, since the rows may just be denser than before, then ever faster, since they may stand in one instant.
 */
const SHRINK = [0.7, 0.45, 0.2, 0.04, 0.0016, 0.000_002_5] as const

/** Whether a span is more than one instant. */
export const canSplit = (span: Span): span is Span & { since: Instant } =>
  span.since !== undefined && span.until - span.since >= 2

/** Cuts a span that holds `total` rows into equal slices of at most about `rowsEach`. */
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

/** Cuts a span in two at `at`; undefined when `at` doesn't lie inside it. */
export function splitAt(span: Span, at: Instant): [Span, Span] | undefined {
  if ((span.since !== undefined && at <= span.since) || at >= span.until) return undefined
  return [
    { since: span.since, until: at },
    { since: at, until: span.until },
  ]
}

/** The instant from which on rows may still be committed late. */
export const youngFrom = (clock: Instant, overlapMs: number): Instant => minusMs(clock, overlapMs)

/** Length of the next slice after `failures` in a row overfilled their page, the last one of `length`. */
export function shorterLength(length: number, failures: number): number {
  const factor = SHRINK[Math.min(failures, SHRINK.length) - 1] ?? SHRINK[0]
  return Math.max(1, Math.floor(length * factor))
}

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

/**
 * Slices are planned for this share of a full page, less some standard deviations: an overfilled one costs a whole
 * request, a half-empty one half of one, and changes grow denser towards the present.
 */
const FILL = 0.88
const MARGIN_DEVIATIONS = 2
const SLICES_MAX = 1_000
/** A span grows at most this much from one slice to the next. */
const GROWTH_MAX = 8
/**
 * A slice that overfilled its page, when the page says nothing of the total, is tried again this much shorter: a little
 * at first, since the rows may just be denser than before, then ever faster, since they may stand in one instant.
 */
const SHRINK = [0.7, 0.45, 0.2, 0.04, 0.0016, 0.000_002_5] as const

/** Whether a span is more than one instant. */
export const canSplit = (span: Span): span is Span & { since: Instant } =>
  span.since !== undefined && span.until - span.since >= 2

/** Rows to plan for where a response holds `pageRows`. */
export const plannedRows = (pageRows: number): number =>
  Math.max(1, Math.floor(FILL * pageRows - MARGIN_DEVIATIONS * Math.sqrt(pageRows)))

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

/** Length of the next slice in µs, after one of `length` that held `rows` where a response holds `pageRows`. */
export function nextLength(length: number, rows: number, pageRows: number): number {
  // An empty slice says nothing of how long one may be; where pages are tiny the plan for one row would not grow.
  const wanted = rows === 0 ? Number.POSITIVE_INFINITY : (length * plannedRows(pageRows)) / rows
  return Math.max(1, Math.floor(Math.min(wanted, length * GROWTH_MAX)))
}

/** Length of the next slice after `failures` in a row overfilled their page, the last one of `length`. */
export function shorterLength(length: number, failures: number): number {
  const factor = SHRINK[Math.min(failures, SHRINK.length) - 1] ?? SHRINK[0]
  return Math.max(1, Math.floor(length * factor))
}

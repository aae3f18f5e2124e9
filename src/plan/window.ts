/** Computes the next window and mark in the service's time. Bounds are inclusive on both ends (spec §4, rule 1). */
import {
  earliest,
  type Instant,
  latest,
  MICROS_PER_SECOND,
  MINUTE_MS,
  millisBetween,
  minusMs,
  plusMs,
} from '../instant.ts'

export interface Window {
  /** Lower bound. Undefined: none is sent, so rows are included that no modification filter matches. */
  readonly since: Instant | undefined
  readonly until: Instant
  /** The service's clock when the window's bounds were computed. The window proves nothing about later times. */
  readonly clock: Instant
}

export interface WindowRules {
  readonly start: Instant
  readonly overlapMs: number
  readonly settleMs: number
  /** Whether the service requires a lower bound. If it does not, the first window has none. */
  readonly sinceRequired: boolean
}

/** The service's true time is later than the `Date` header by less than this, since the header has whole seconds. */
export const CLOCK_GRAIN_MS = 1_000

/** The longest time until a response begins: a year of expanded rows may take a minute (spec §4). */
export const HEAD_MS_MAX = 2 * MINUTE_MS

/** The previous window, and how long ago it was. */
export interface Before {
  readonly mark: Instant | undefined
  /** The end of the previous window: the service's clock when that window was computed. */
  readonly until?: Instant | undefined
  /** Milliseconds since that window's run began, by our clock. A wrong value can only make the next window longer. */
  readonly agoMs?: number | undefined
}

export const FIRST: Before = { mark: undefined }

/**
 * Returns the next incremental window: from the mark minus `overlap` to the service's clock. It ends at the present,
 * because a row that is edited every few seconds is only ever returned with its newest time (product contract §5.5). If
 * the service's clock was set back, changes have times before the mark. The overlap then counts from the time that this
 * clock would have shown when the previous run began, so that no row is between two windows (§5.1).
 */
export function nextWindow(before: Before, clock: Instant, rules: WindowRules): Window {
  const until = plusMs(clock, CLOCK_GRAIN_MS)
  const { mark } = before
  if (mark === undefined) return { since: rules.sinceRequired ? rules.start : undefined, until, clock }
  const { until: end = mark, agoMs = 0 } = before
  // If the service's clock is before `end`, both clocks may have been set back. At least the difference has elapsed.
  const began = minusMs(clock, Math.max(0, agoMs, millisBetween(clock, end)))
  const reached = earliest(mark, end, clock, latest(rules.start, began))
  return { since: minusMs(reached, rules.overlapMs), until, clock }
}

/**
 * Returns whether the window begins early enough for the service's time `cut.clock` in a response. False if that time
 * shows that the clock was set back. Ignores differences below a second, the resolution of the clock.
 */
export function reachesBack(window: Window, before: Before, cut: { clock: Instant; rules: WindowRules }): boolean {
  const { since } = nextWindow(before, earliest(window.clock, plusMs(cut.clock, CLOCK_GRAIN_MS)), cut.rules)
  return window.since === undefined || (since !== undefined && window.since <= since)
}

/**
 * Returns the mark after a proven window: its end, but at most its clock minus `settleMs`, because the service needs
 * time to show a change. The mark is never before the previous mark or the beginning of the window.
 */
export function markAfter(mark: Instant | undefined, window: Window, settleMs: number): Instant {
  const reached = earliest(window.until, minusMs(window.clock, settleMs))
  if (mark !== undefined) return latest(mark, reached)
  return window.since === undefined ? reached : latest(window.since, reached)
}

/** Cuts a time to whole seconds, the resolution of the Date header, for comparison with times of observation. */
export const floorToSecond = (instant: Instant): Instant =>
  (Math.floor(instant / MICROS_PER_SECOND) * MICROS_PER_SECOND) as Instant

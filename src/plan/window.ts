/** Computes the next window and mark, in the service's time. Both ends of a window are inclusive (spec §4, rule 1). */
import type { Instant } from '../instant.ts'
import { earliest, latest, MICROS_PER_SECOND, MINUTE_MS, millisBetween, minusMs, plusMs } from '../instant.ts'

export interface Window {
  /** Without a lower bound, the service also returns rows without a modification time. */
  readonly since: Instant | undefined
  readonly until: Instant
  /** When the bounds were computed, by the service's clock. The window proves nothing about later times. */
  readonly serviceTime: Instant
}

export interface WindowRules {
  readonly start: Instant
  readonly overlapMs: number
  readonly settleMs: number
  readonly sinceRequired: boolean
}

/** The service's clock may be up to this far ahead of the `Date` header, which has whole seconds. */
export const CLOCK_GRAIN_MS = 1_000

/** The service must begin its response within this time. A year of rows with `expand` may need a minute (spec §4). */
export const HEAD_MS_MAX = 2 * MINUTE_MS

export interface PreviousRun {
  readonly mark: Instant | undefined
  /** The time at which the previous run read its window, by the service's clock. */
  readonly until?: Instant | undefined
  /** Time since the previous run began, by our clock. */
  readonly elapsedMs?: number | undefined
}

export const NO_PREVIOUS_RUN: PreviousRun = { mark: undefined }

/** Returns the next incremental window. The window begins earlier if the service's clock was set back (contract §5.1). */
export function nextWindow(previous: PreviousRun, serviceTime: Instant, rules: WindowRules): Window {
  // The window ends now, because the service filters rows by the time of their last edit. With an earlier end, the
  // service would never return a row that is edited every few seconds (contract §5.5).
  const until = plusMs(serviceTime, CLOCK_GRAIN_MS)
  const { mark } = previous
  if (mark === undefined) return { since: rules.sinceRequired ? rules.start : undefined, until, serviceTime }
  const { until: end = mark, elapsedMs = 0 } = previous
  // `began`: when the previous run began, in the service's time. If its clock was set back, this may be before `mark`.
  // If our own clock was set back as well, `elapsedMs` is too short, so the difference to `end` is used if it is longer.
  const began = minusMs(serviceTime, Math.max(0, elapsedMs, millisBetween(serviceTime, end)))
  const reached = earliest(mark, end, serviceTime, latest(rules.start, began))
  return { since: minusMs(reached, rules.overlapMs), until, serviceTime }
}

/** Returns false if the clock was set back to `serviceTime`, and so far that rows before the window may be unread. */
export function reachesBack(
  window: Window,
  previous: PreviousRun,
  { serviceTime, rules }: { serviceTime: Instant; rules: WindowRules },
): boolean {
  const { since } = nextWindow(previous, earliest(window.serviceTime, plusMs(serviceTime, CLOCK_GRAIN_MS)), rules)
  return window.since === undefined || (since !== undefined && window.since <= since)
}

/** Returns the mark after a proven window: `settleMs` behind the clock, because newer edits may be missing. */
export function markAfter(mark: Instant | undefined, window: Window, settleMs: number): Instant {
  const reached = earliest(window.until, minusMs(window.serviceTime, settleMs))
  if (mark !== undefined) return latest(mark, reached)
  return window.since === undefined ? reached : latest(window.since, reached)
}

/** Cuts a time to whole seconds, the resolution of `_observed_at`. */
export const floorToSecond = (instant: Instant): Instant =>
  (Math.floor(instant / MICROS_PER_SECOND) * MICROS_PER_SECOND) as Instant

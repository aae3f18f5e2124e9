/**
 * Which window to ask next, and what mark it leaves. Bounds are inclusive on both ends (spec §4, rule 1), so
 * neighbouring windows share an instant. All times are the service's.
 */
import { earliest, type Instant, latest, MICROS_PER_SECOND, minusMs, plusMs } from '../instant.ts'

export interface Window {
  /** Undefined: without a lower bound, which also finds rows that match no modification filter. */
  readonly since: Instant | undefined
  readonly until: Instant
  /** The service's clock when the window was cut: what the window proves ends here. */
  readonly clock: Instant
}

export interface WindowRules {
  readonly start: Instant
  readonly overlapMs: number
  readonly settleMs: number
  /** Whether the service demands a lower bound; where it doesn't, the first window goes without. */
  readonly sinceRequired: boolean
}

/** The `Date` header has whole seconds: the service's clock is up to this much later than it says. */
export const CLOCK_GRAIN_MS = 1_000

/**
 * The next incremental window: [mark − overlap, the service's clock]. It ends at the present, not in the past, since
 * a row that is edited every few seconds is only ever found at its newest stamp (product contract §5.5).
 * A service whose clock was set back stamps its changes before the mark: then the overlap counts from its clock.
 */
export function nextWindow(mark: Instant | undefined, clock: Instant, rules: WindowRules): Window {
  const until = plusMs(clock, CLOCK_GRAIN_MS)
  if (mark === undefined) return { since: rules.sinceRequired ? rules.start : undefined, until, clock }
  return { since: minusMs(earliest(mark, clock), rules.overlapMs), until, clock }
}

/**
 * The mark that a proven window leaves: its end, but never later than its clock minus the time that the service may
 * take to show a change; never earlier than the mark before, nor than what the window began with.
 */
export function markAfter(mark: Instant | undefined, window: Window, settleMs: number): Instant {
  const reached = earliest(window.until, minusMs(window.clock, settleMs))
  if (mark !== undefined) return latest(mark, reached)
  return window.since === undefined ? reached : latest(window.since, reached)
}

/** Cut to whole seconds, the grain of the Date header, for times that are compared with times of observation. */
export const floorToSecond = (instant: Instant): Instant =>
  (Math.floor(instant / MICROS_PER_SECOND) * MICROS_PER_SECOND) as Instant

/**
 * Which window to ask next, and what mark it leaves. Bounds are inclusive on both ends (spec §4, rule 1), so
 * neighbouring windows share an instant. All times are the service's.
 */
import { earliest, type Instant, latest, MICROS_PER_SECOND, millisBetween, minusMs, plusMs } from '../instant.ts'

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

/** What the window before left behind, and how long ago. */
export interface Before {
  readonly mark: Instant | undefined
  /** Where it ended: the service's clock of that time. */
  readonly until?: Instant | undefined
  /** Time since the run that read it began, by our clock, which may be wrong: it only ever makes a window longer. */
  readonly agoMs?: number | undefined
}

export const FIRST: Before = { mark: undefined }

/**
 * The next incremental window: [mark − overlap, the service's clock]. It ends at the present, not in the past, since
 * a row that is edited every few seconds is only ever found at its newest stamp (product contract §5.5).
 * A service whose clock ran ahead or was set back stamps its changes before the mark: then the overlap counts from
 * where that clock stood, as it goes now, when the run before began. Nothing falls between two windows (§5.1).
 */
export function nextWindow(before: Before, clock: Instant, rules: WindowRules): Window {
  const until = plusMs(clock, CLOCK_GRAIN_MS)
  const { mark } = before
  if (mark === undefined) return { since: rules.sinceRequired ? rules.start : undefined, until, clock }
  const { until: end = mark, agoMs = 0 } = before
  // Where the clock stands before that end, our time isn't trusted alone: ours may have been set back with it.
  const began = minusMs(clock, Math.max(0, agoMs, millisBetween(clock, end)))
  const reached = earliest(mark, end, clock, latest(rules.start, began))
  return { since: minusMs(reached, rules.overlapMs), until, clock }
}

/**
 * Whether a window reaches back as far as one that is cut at `clock`: the service's may prove to have been set back. It
 * has whole seconds, so less than one of them proves nothing.
 */
export function reachesBack(window: Window, before: Before, cut: { clock: Instant; rules: WindowRules }): boolean {
  const { since } = nextWindow(before, earliest(window.clock, plusMs(cut.clock, CLOCK_GRAIN_MS)), cut.rules)
  return window.since === undefined || (since !== undefined && window.since <= since)
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

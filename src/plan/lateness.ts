/**
 * Late rows: rows that the service returned for the first time after an earlier window had requested their time. Their
 * delay shows how far windows have to reach back (product contract §2, overlap).
 */
import { DAY_MS, earliest, HOUR_MS, type Instant, millisBetween, MINUTE_MS, plusMs, SECOND_MS } from '../instant.ts'

/** What earlier windows have read. A new row whose modification time is in that span is late. */
export interface PreviousRead {
  /** Rows with a stamp up to this time were requested before. */
  readonly until: Instant
  /** The service's time of that request. A row of the span that was not in its response became visible later. */
  readonly at: Instant
}

export interface LastWindow {
  readonly mark: Instant | undefined
  /** The end of the window that set the mark, by the service's clock at that time. */
  readonly until: Instant | undefined
  /** The time of our clock at the beginning of the run that read the window. */
  readonly begunAt: Instant | undefined
}

/**
 * Returns what the previous window has read. Undefined before the first mark; also while the service's clock is
 * before that of the previous window: then it was set back, and new rows have old stamps.
 */
export function previousRead(
  last: Pick<LastWindow, 'mark' | 'until'>,
  clock: Instant,
  settleMs: number,
): PreviousRead | undefined {
  if (last.mark === undefined) return undefined
  const at = last.until ?? plusMs(last.mark, settleMs)
  return clock < at ? undefined : { until: earliest(last.mark, at), at }
}

/** Returns how long after its modification time a late row was first returned, at least (milliseconds). */
export const latenessMs = (stamp: Instant, asked: PreviousRead): number => Math.max(0, millisBetween(stamp, asked.at))

/** The advised overlap is a multiple of one of these. */
const STEPS_MS = [
  SECOND_MS,
  5 * SECOND_MS,
  30 * SECOND_MS,
  MINUTE_MS,
  5 * MINUTE_MS,
  15 * MINUTE_MS,
  HOUR_MS,
  6 * HOUR_MS,
  DAY_MS,
] as const
/** The advice is at least this many steps, so that rounding up to a step does not enlarge it too much. */
const STEPS_MIN = 2

/**
 * Returns the overlap to set (milliseconds) if rows were so late that the present one may miss some; else undefined.
 */
export function advisedOverlapMs(largestLatenessMs: number, overlapMs: number): number | undefined {
  if (largestLatenessMs <= overlapMs / 2) return undefined
  const wanted = 2 * largestLatenessMs
  const step = STEPS_MS.findLast((each) => wanted >= STEPS_MIN * each) ?? STEPS_MS[0]
  return Math.ceil(wanted / step) * step
}

const UNITS = [
  ['d', DAY_MS],
  ['h', HOUR_MS],
  ['m', MINUTE_MS],
  ['s', SECOND_MS],
] as const

/** Returns a duration in the form of the configuration, in the largest unit without a remainder, in whole seconds. */
export function settingDuration(ms: number): string {
  const whole = Math.ceil(ms / SECOND_MS) * SECOND_MS
  const [unit, size] = UNITS.find(([, each]) => whole >= each && whole % each === 0) ?? ['s', SECOND_MS]
  return `${whole / size}${unit}`
}

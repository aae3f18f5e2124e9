/**
 * Late rows: shown for the first time although the windows before had asked for their time. They say how long the
 * service really takes to show a change, and so how far a window has to reach back (product contract §2, overlap).
 */
import { DAY_MS, earliest, HOUR_MS, type Instant, millisBetween, MINUTE_MS, plusMs, SECOND_MS } from '../instant.ts'

/** The span that earlier windows have read. A row of that span which is new to a load is late. */
export interface PreviousRead {
  /** Rows with a stamp up to this time were requested before. */
  readonly until: Instant
  /** The service's time of that request: a row that it did not return was shown later. */
  readonly at: Instant
}

export interface LastWindow {
  readonly mark: Instant | undefined
  /** Where the window that left the mark ended: the service's clock of that time. */
  readonly until: Instant | undefined
  /** Our clock when the run that read it began. */
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

/** How long after its stamp a late row was shown, at least. */
export const latenessMs = (stamp: Instant, asked: PreviousRead): number => Math.max(0, millisBetween(stamp, asked.at))

/** What is advised is a round number of these. */
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
/** A step is fine enough when the advice takes so many of it at least. */
const STEPS_MIN = 2

/** The overlap to set, in milliseconds, where rows came so late that the next one might be missed; else undefined. */
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

/**
 * A duration as the configuration takes it, in the largest unit that holds it whole; a rest below a second is rounded
 * up.
 */
export function settingDuration(ms: number): string {
  const whole = Math.ceil(ms / SECOND_MS) * SECOND_MS
  const [unit, size] = UNITS.find(([, each]) => whole >= each && whole % each === 0) ?? ['s', SECOND_MS]
  return `${whole / size}${unit}`
}

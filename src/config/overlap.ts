/** The overlap that would have caught the late rows of a report (product contract §2). */
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../instant.ts'

/** The advised overlap is rounded up to a multiple of one of these steps. */
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
/** The advised overlap is a multiple of one step: the largest step that fits into it at least this number of times. */
const STEPS_MIN = 2

/** Returns the overlap to advise, in ms, if rows were late by more than half of the present overlap; else undefined. */
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

/** Returns a duration as it is written in the configuration, in whole units of the largest unit that divides it. */
export function settingDuration(ms: number): string {
  const whole = Math.ceil(ms / SECOND_MS) * SECOND_MS
  const [unit, size] = UNITS.find(([, each]) => whole >= each && whole % each === 0) ?? ['s', SECOND_MS]
  return `${whole / size}${unit}`
}

/** Returns the overlap to set instead of `overlapMs`, such as `15m`; undefined when the current one is enough. */
export function advisedOverlap(largestLatenessMs: number, overlapMs: number): string | undefined {
  const advised = advisedOverlapMs(largestLatenessMs, overlapMs)
  return advised === undefined ? undefined : settingDuration(advised)
}

/** The late rows of a report and the overlap that would have caught them (product contract §2). */
import { advisedOverlapMs, settingDuration } from '../plan/lateness.ts'

export interface Lateness {
  /** How many rows were late; undefined for audit reports, which do not count them. */
  readonly lateRows: number | undefined
  readonly largestLatenessMs: number | undefined
}

/** Returns the overlap to set instead of `overlapMs`, such as `15m`; undefined when the current one is enough. */
export function advisedOverlap({ largestLatenessMs }: Lateness, overlapMs: number): string | undefined {
  const advised = largestLatenessMs === undefined ? undefined : advisedOverlapMs(largestLatenessMs, overlapMs)
  return advised === undefined ? undefined : settingDuration(advised)
}

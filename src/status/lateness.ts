/** What the command line says about late rows (product contract §2, overlap), and what to do about them. */
import { advisedOverlapMs, settingDuration } from '../plan/lateness.ts'

export interface Lateness {
  /** Undefined: the report's rows carry no stamp to measure by. */
  readonly lateRows: number | undefined
  readonly largestLatenessMs: number | undefined
}

/** The overlap to set instead of `overlapMs`, as the configuration takes it; undefined: it is enough. */
export function advisedOverlap({ largestLatenessMs }: Lateness, overlapMs: number): string | undefined {
  const advised = largestLatenessMs === undefined ? undefined : advisedOverlapMs(largestLatenessMs, overlapMs)
  return advised === undefined ? undefined : settingDuration(advised)
}

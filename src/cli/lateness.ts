/** What the command line says about late rows (product contract §2, overlap), and what to do about them. */
import type { ReportName } from '../../schema/index.ts'
import { advisedOverlapMs, settingDuration } from '../plan/lateness.ts'
import { counted } from './layout.ts'

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

/** `rows were shown up to 7m after their stamp` */
export const latenessText = (largestLatenessMs: number): string =>
  `rows were shown up to ${settingDuration(largestLatenessMs)} after their stamp`

/** What to do, with the names of the settings. */
export const overlapCure = (report: ReportName, overlap: string): string =>
  `set overlap to ${overlap} (reports.${report}.overlap, or defaults.overlap)`

/** One line about a report's late rows, where there are any. */
export function latenessLine(report: ReportName, lateness: Lateness, overlapMs: number): string | undefined {
  const { lateRows = 0, largestLatenessMs } = lateness
  if (lateRows === 0 || largestLatenessMs === undefined) return undefined
  const advised = advisedOverlap(lateness, overlapMs)
  const told = `${report}: ${latenessText(largestLatenessMs)}`
  if (advised !== undefined) return `${told}; ${overlapCure(report, advised)}`
  return `${told} (${counted(lateRows, 'row')}); the overlap of ${settingDuration(overlapMs)} is enough`
}

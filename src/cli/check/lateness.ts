/** Checks whether the overlap of each report is long enough for rows that the service returns late. */
import type { Config } from '../../config/config.ts'
import { asSyncError } from '../../errors.ts'
import { advisedOverlap } from '../../status/lateness.ts'
import { latenessText, overlapCure } from '../standingText.ts'
import { openNewest } from '../../wiring/published.ts'
import { standingsOf } from '../../status/standing.ts'
import { type Finding, ok, warn } from './finding.ts'

/** Returns a warning for each report whose overlap is too short, or one finding that every overlap is long enough. */
export async function checkOverlap(config: Config): Promise<Finding[]> {
  try {
    const newest = await openNewest(config)
    if (newest === undefined) return []
    await using database = newest.database
    const standings = (await standingsOf(database, config)).filter(({ state }) => state !== 'off')
    const advices = standings.flatMap((standing) => {
      const { report, overlapMs, largestLatenessMs = 0 } = standing
      const overlap = advisedOverlap(standing, overlapMs)
      if (overlap === undefined) return []
      return [
        warn('overlap', `${report}: ${latenessText(largestLatenessMs)}`, `${report}: ${overlapCure(report, overlap)}`),
      ]
    })
    const late = standings.reduce((sum, { lateRows = 0 }) => sum + lateRows, 0)
    if (advices.length > 0) return advices
    return [ok('overlap', late === 0 ? 'no row was seen to come late' : 'it is enough for the rows that came late')]
  } catch (error) {
    // Other checks already report a file that cannot be read. Only an unexpected error is reported here.
    return asSyncError(error).code === 'UNEXPECTED'
      ? [warn('overlap', asSyncError(error).message, 'Look at the line of the warehouse.')]
      : []
  }
}

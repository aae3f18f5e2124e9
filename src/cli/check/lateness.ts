/** Checks whether the overlap of each report is long enough for rows that the service returns late. */
import type { Config } from '../../config/config.ts'
import { asSyncError } from '../../errors.ts'
import { latenessText, overlapCure } from '../standingText.ts'
import { openNewest } from '../../wiring/published.ts'
import { standingsOf } from '../../status/standing.ts'
import { type Finding, ok, warn } from './finding.ts'

/** Returns a warning for each report whose overlap is too short; one finding `ok` if there is none. */
export async function checkOverlap(config: Config): Promise<Finding[]> {
  try {
    const newest = await openNewest(config)
    if (newest === undefined) return []
    await using database = newest.database
    const standings = (await standingsOf(database, config)).filter(({ state }) => state !== 'off')
    const advices = standings.flatMap(({ report, advised_overlap: overlap, largest_lateness_seconds: seconds }) => {
      if (overlap === null) return []
      const found = `${report}: ${latenessText((seconds ?? 0) * 1_000)}`
      return [warn('overlap', found, `${report}: ${overlapCure(report, overlap)}`)]
    })
    const late = standings.reduce((sum, { late_rows: rows }) => sum + (rows ?? 0), 0)
    if (advices.length > 0) return advices
    return [ok('overlap', late === 0 ? 'no row was seen to come late' : 'it is enough for the rows that came late')]
  } catch (error) {
    // Another check already reports a file that can't be read, so only an unexpected error is reported here.
    return asSyncError(error).code === 'UNEXPECTED'
      ? [warn('overlap', asSyncError(error).message, 'Look at the line of the warehouse.')]
      : []
  }
}

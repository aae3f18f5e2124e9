/** Reads and writes the paging profile of each report: how the service divides it into pages. */
import type { ReportName } from '../../../schema/index.ts'
import { joinProfiles, isSameProfile, type PagingProfile, UNKNOWN_PAGING } from '../../plan/pagingProfile.ts'
import { type Sql, text, type WithNulls, withoutNulls } from '../database/sql.ts'

export interface PagingPlace {
  readonly report: ReportName
  readonly pageSize: number
  readonly profileBefore?: PagingProfile
}

type StoredProfile = Omit<PagingProfile, 'longestPageRowsOfRun' | 'afterLastPage'>

export async function pagingProfileOf(sql: Sql, { report, pageSize }: PagingPlace): Promise<PagingProfile> {
  const [stored] = await sql.cachedRows<WithNulls<StoredProfile>>(`
    SELECT full_min AS "fullPageRows", seen_max AS "longestPageRows", first_number AS "firstNumber",
      coalesce(whole_max, 0) AS "longestProvenPageRows"
    FROM tidemark.page_sizes WHERE report = ${text(report)} AND asked = ${pageSize}`)
  return stored === undefined ? UNKNOWN_PAGING : { ...UNKNOWN_PAGING, ...withoutNulls(stored) }
}

/** Stores a profile, combined with one that another walk has stored in the meantime. */
export async function learnPagingProfile(sql: Sql, place: PagingPlace, learnt: PagingProfile): Promise<void> {
  const { report, pageSize, profileBefore } = place
  const stored = await pagingProfileOf(sql, place)
  const isAsBefore = profileBefore !== undefined && isSameProfile(stored, profileBefore)
  const profile = isAsBefore ? learnt : joinProfiles(stored, learnt)
  const { fullPageRows, longestPageRows, firstNumber, longestProvenPageRows } = profile
  const learned = [pageSize, fullPageRows ?? 'NULL', longestPageRows, firstNumber ?? 'NULL', longestProvenPageRows]
  await sql.run(`
    DELETE FROM tidemark.page_sizes WHERE report = ${text(report)};
    INSERT INTO tidemark.page_sizes VALUES (${[text(report), ...learned].join(', ')})`)
}

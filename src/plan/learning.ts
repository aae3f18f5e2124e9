/** What the rules in judge.ts learn about the pages of the service. Each function returns the new paging profile. */
import { type PagingProfile, withFullPage, withLastPage, withProvenPage } from './pagingProfile.ts'
import type { SliceState } from './slice.ts'
import { continuesOnPage2, lastPageFound } from './sliceFacts.ts'

export const singlePage = ({ profile, settings, walk }: SliceState): PagingProfile =>
  withLastPage(profile, Math.min(walk.first.rows, settings.pageSize))
export const provenPage = (state: SliceState): PagingProfile => withProvenPage(singlePage(state), state.walk.first.rows)
export const fullPage = ({ profile, walk }: SliceState): PagingProfile => withFullPage(profile, walk.first.rows)
export const followedPage = (state: SliceState) => (continuesOnPage2(state) ? fullPage(state) : state.profile)

export function countedPages(state: SliceState): PagingProfile {
  const { profile, settings, walk } = state
  const rows = walk.first.rowsSent
  if ((lastPageFound(state)?.number ?? 1) > 1) return withFullPage(profile, rows)
  return withLastPage(profile, Math.min(rows, settings.pageSize))
}

/** Learns the length of a full page: page 1 was full if later pages added rows and no row was on two pages. */
export function walkedPages(state: SliceState): PagingProfile {
  const { attempt, readUpTo, walk } = state
  const isPaged = attempt === 1 && readUpTo === 'the end' && walk.first.totalCount !== undefined
  return isPaged && walk.repeats === 0 && walk.distinct > walk.first.rows ? fullPage(state) : state.profile
}

/** Raises `fullPageRows` if the last page has at least this number of rows, but fewer than the longest page of this run. */
export function agreedPages({ profile, walk }: SliceState): PagingProfile {
  const { fullPageRows = Number.POSITIVE_INFINITY, longestPageRowsOfRun } = profile
  const isOutdated = walk.last.rows >= fullPageRows && walk.last.rows < longestPageRowsOfRun
  return isOutdated ? withLastPage({ ...profile, fullPageRows: longestPageRowsOfRun }, longestPageRowsOfRun) : profile
}

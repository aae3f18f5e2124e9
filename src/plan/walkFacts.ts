/** What the pages of one walk prove, and whether another page may follow (spec §4, rule 2). */
import type { SyncError } from '../errors.ts'
import type { PagingProfile } from './pagingProfile.ts'
import { totalOf, type Walk } from './walk.ts'

export const leastTotalOf = ({ totals }: Walk): number => totals?.least ?? 0

export const pageRowsOf = ({ first }: Walk): number => Math.max(1, Math.min(first.pageSize ?? first.rows, first.rows))

export const lastPageByTotal = (walk: Walk): number =>
  walk.first.rows === 0 ? 1 : Math.max(1, Math.ceil((totalOf(walk) ?? walk.rows) / pageRowsOf(walk)))

export function meetsTotal(walk: Walk): boolean {
  const total = totalOf(walk)
  return total !== undefined && walk.repeats === 0 && hasExactly(walk, total)
}

/** Returns whether the walk has as many rows as the total, and no row without a key is on two pages. */
export const hasExactly = ({ distinct, keyless }: Walk, total: number): boolean =>
  distinct === total && [...keyless.values()].every((places) => places.size === 1)

/** Returns whether rows moved between pages during the walk. Repeated pages do not count, because services repeat pages. */
export function hasMoved(walk: Walk): boolean {
  const { first, repeats } = walk
  const isRowRepeated = repeats > 0 && repeats < first.rows
  return first.totalCount !== undefined && (totalOf(walk) === undefined || isRowRepeated)
}

export const isLastPageFull = ({ first, last }: Walk): boolean =>
  last.rows > 0 && last.rows >= (first.pageSize ?? first.rows)

/** Returns whether both walks returned the same rows. A row without a key must be on the same pages, if on several. */
export function haveSameRows(a: Walk, b: Walk): boolean {
  if (a.rows !== b.rows || a.distinct !== b.distinct) return false
  if (a.keys.size !== b.keys.size || a.keyless.size !== b.keyless.size) return false
  for (const key of a.keys) if (!b.keys.has(key)) return false
  return [...a.keyless].every(([text, places]) => {
    const others = b.keyless.get(text)
    if (others === undefined || places.size !== others.size) return false
    return places.size === 1 || [...places].every((place) => others.has(place))
  })
}

function fullRows({ rowsAsked, usualPageSize }: Walk, { fullPageRows, longestPageRowsOfRun }: PagingProfile): number {
  if (fullPageRows === undefined || rowsAsked !== usualPageSize) return rowsAsked
  return Math.min(rowsAsked, Math.max(fullPageRows, longestPageRowsOfRun))
}

/** Returns whether a next page may exist, even if the total has been reached. */
export const endsFull = (walk: Walk, profile: PagingProfile): boolean =>
  isLastPageFull(walk) || (walk.last.rows > 0 && walk.last.rows >= fullRows(walk, profile))

export const isAtEnd = (walk: Walk, profile: PagingProfile): boolean =>
  walk.hasPageWithoutNewRows || (meetsTotal(walk) && !endsFull(walk, profile))

/** Returns whether the walk ended without repeated rows, which are allowed if the service ignores page numbers. */
export const endedWithoutRepeats = (walk: Walk, profile: PagingProfile): boolean =>
  isAtEnd(walk, profile) && (walk.repeats === 0 || isUnpaged(walk, profile))

function isUnpaged(walk: Walk, profile: PagingProfile): boolean {
  const { first, distinct, rowsAsked, usualPageSize } = walk
  const hasMore = isLastPageFull(walk) && (totalOf(walk) ?? 0) > distinct
  if (walk.hasEmptyPage || distinct !== first.rows || hasMore) return false
  if (first.rows > rowsAsked) return true
  // If a larger page was requested and page 1 has at most the usual length, the service may have shortened page 1.
  return first.rows < fullRows(walk, profile) && (rowsAsked <= usualPageSize || first.rows > usualPageSize)
}

export function refusalOfNeededPage(walk: Walk, profile: PagingProfile): SyncError | undefined {
  const longest = walk.pages > 1 ? walk.first.rows : walk.rowsAsked
  const mayFollow =
    totalOf(walk) === undefined ? walk.last.rows >= Math.min(fullRows(walk, profile), longest) : !meetsTotal(walk)
  return mayFollow ? walk.refusal : undefined
}

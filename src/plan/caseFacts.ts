/** The conditions and calculations behind the rules in judge.ts. A `Case` is all that is known about one slice. */
import type { Instant } from '../instant.ts'
import { plannedRows } from './density.ts'
import type { Case, ProbeName } from './slice.ts'
import type { Overfull } from './spanQueue.ts'
import { type PagingProfile, sawFullPage, sawLastPage, sawWhole } from './pagingProfile.ts'
import { canSplit, type Span, splitAt, splitByTotal } from './spans.ts'
import type { Walk } from './walk.ts'

/** A span that was planned as one load may have more rows. Above this many loads, the span is cut again. */
const PLANNED_LOADS_MAX = 2
/** A walk requests at most 8 times `page_size` rows per page, because a service may fail to build larger responses. */
const USUAL_PAGES_MAX = 8
const SPEC_PAGE_SIZE_MAX = 10_000
/** If rows move between the pages of an old span, the span is cut into slices of this many pages. */
const MOVED_PAGES = 8

export const isOld = ({ slice: { span }, terms }: Case): boolean => span !== undefined && span.until <= terms.youngFrom
const mayCut = ({ policy }: Case): boolean => policy.cuts !== 'never'

export const isEnvelopePage1 = ({ seen }: Case): boolean =>
  seen.attempt === 1 && seen.stage === 'page 1' && seen.walk.firstTotal !== undefined
export const isArrayUpToPage2 = ({ seen }: Case): boolean =>
  seen.attempt === 1 && seen.stage !== 'the end' && seen.walk.firstTotal === undefined
const isEnd = ({ seen }: Case): boolean => seen.stage === 'the end'

/** Cuts a span that has no lower bound, and so no middle, at the report's `start` or else at the year 1970. */
export const splitAtFloor = ({ slice: { span }, terms }: Case): readonly Span[] | undefined =>
  span?.since === undefined && span !== undefined
    ? (splitAt(span, terms.floor) ?? splitAt(span, 0 as Instant))
    : undefined

export const isOverfull = (given: Case): boolean => {
  const { firstRows, totalCount = 0 } = given.seen.walk
  return mayCut(given) && given.slice.span !== undefined && firstRows > 0 && totalCount > firstRows
}

export const isOldOverOneLoad = (given: Case): boolean =>
  isOverfull(given) && isOld(given) && (given.seen.walk.totalCount ?? 0) > given.terms.loadRowsMax

/** Splits a span into an old and a young part, unless one of them is missing or the old one probably fits on a page. */
export function splitByAge({ slice: { span }, terms, seen: { walk } }: Case): readonly Span[] | undefined {
  const parts = span && splitAt(span, terms.youngFrom)
  const old = parts?.[0]
  if (span === undefined || old === undefined) return undefined
  if (span.since === undefined || old.since === undefined) return parts
  const share = (old.until - old.since) / (span.until - span.since)
  return (walk.totalCount ?? 0) * share > walk.pageRows ? parts : undefined
}

/** Splits off the old part of a span, so that its rows can be counted. Not done if the young part is longer. */
export function splitOffOld(given: Case): readonly Span[] | undefined {
  const { slice, terms } = given
  const { span } = slice
  if (span === undefined || slice.mayCount !== true || !terms.keyed || !mayCut(given)) return undefined
  const parts = splitAt(span, terms.youngFrom)
  const isWorthIt = span.since === undefined || terms.youngFrom - span.since >= span.until - terms.youngFrom
  return isWorthIt ? parts : undefined
}

export const isCuttable = (given: Case): boolean =>
  mayCut(given) && given.slice.heap === undefined && canSplit(given.slice.span)

/** Returns whether page 2 continues page 1: page 2 has new rows, and does not repeat all rows of page 1. */
export const continuesOnPage2 = ({ seen: { walk } }: Case): boolean =>
  walk.freshOnLastPage > 0 && walk.repeats < walk.firstRows

/** Returns whether page 2 confirms that page 1 has all rows: page 2 is refused, is empty, or repeats page 1. */
export function isAllByPage2({ seen: { claim, walk } }: Case): boolean {
  if (claim === 'unknown' || claim === 'all') return false
  if (walk.refusal !== undefined) return claim === 'all unless clamped'
  // Page 2 has as many rows as page 1 and no new row, so the service ignores page numbers.
  const isSame = walk.lastRowsSent === walk.firstRowsSent
  return walk.freshOnLastPage === 0 && (isSame || (claim === 'all unless clamped' && walk.lastRowsSent === 0))
}

/** Returns whether the service may have rows after page 1: page 1 is full, and page 2 repeats it or is refused. */
export function isHiddenBehindPage1({ profile, terms: { pageSize }, seen: { claim, walk } }: Case): boolean {
  if (walk.freshOnLastPage > 0) return false
  if (walk.lastRowsSent > 0 && claim !== 'all if unpaged' && walk.firstRows >= pageSize) return true
  return walk.refusal !== undefined && walk.firstRows >= Math.min(pageSize, profile.fullPageRows ?? pageSize)
}

/** Returns whether a bare array's only page may be incomplete, because some services return only the first rows. */
export const mayHideRows = (given: Case): boolean => {
  const { profile, seen } = given
  const { claim, walk, stage } = seen
  const hasNothingNewOnPage2 = stage === 'page 2' && walk.freshOnLastPage === 0
  const isOnly = hasNothingNewOnPage2 || lastPageFound(given)?.number === 1
  const isSurelyLast = claim === 'all unless clamped' && walk.lastRowsSent === 0
  // A page shorter than `wholeRows` can be trusted, because a longer response was proven complete.
  const isUnproven = hasNothingNewOnPage2 || walk.firstRows >= profile.wholeRows
  return isOnly && isUnproven && walk.firstRows > 1 && !isSurelyLast && isWide(given)
}

export const hiddenParts = (given: Case): readonly Span[] | undefined =>
  given.slice.heap === undefined ? undefined : finerParts(given)

export const learnWhole = (given: Case): PagingProfile => sawWhole(learnSingle(given), given.seen.walk.firstRows)

export const learnSingle = ({ profile, terms, seen: { walk } }: Case): PagingProfile =>
  sawLastPage(profile, Math.min(walk.firstRows, terms.pageSize))
export const learnFull = ({ profile, seen: { walk } }: Case): PagingProfile => sawFullPage(profile, walk.firstRows)
export const learnFollowed = (given: Case) => (continuesOnPage2(given) ? learnFull(given) : given.profile)

/** Returns the profile after a walk. If later pages added rows and no row was on two pages, page 1 was full. */
export function learnWalked(given: Case): PagingProfile {
  const { attempt, stage, walk } = given.seen
  const isPaged = attempt === 1 && stage === 'the end' && walk.firstTotal !== undefined
  return isPaged && walk.repeats === 0 && walk.distinct > walk.firstRows ? learnFull(given) : given.profile
}

/** Raises `fullPageRows` if the last page of two agreeing walks would count as full although other pages are longer. */
export function learnAgreed({ profile, seen: { walk } }: Case): PagingProfile {
  const { fullPageRows = Number.POSITIVE_INFINITY, longestOfRun } = profile
  const isOutdated = walk.lastRows >= fullPageRows && walk.lastRows < longestOfRun
  return isOutdated ? sawLastPage({ ...profile, fullPageRows: longestOfRun }, longestOfRun) : profile
}

export const lastPageFound = ({ seen }: Case) =>
  typeof seen.found.lastPage === 'object' && 'total' in seen.found.lastPage ? seen.found.lastPage : undefined

export function learnCounted(given: Case): PagingProfile {
  const { profile, terms, seen } = given
  const rows = seen.walk.firstRowsSent
  if ((lastPageFound(given)?.number ?? 1) > 1) return sawFullPage(profile, rows)
  return sawLastPage(profile, Math.min(rows, terms.pageSize))
}

export const countMax = ({ slice, terms }: Case): number =>
  slice.rowsExpected === undefined ? terms.loadRowsMax : PLANNED_LOADS_MAX * terms.loadRowsMax

/** Returns whether the walk from the last page to the first found the number of rows that its page numbers imply. */
export function isCountMet(given: Case): boolean {
  const { counted } = given.seen.found
  const total = lastPageFound(given)?.total
  return (
    counted !== undefined &&
    total !== undefined &&
    counted.hasExactly(total) &&
    counted.mostRows === given.seen.walk.firstRowsSent
  )
}

const areAlike = ({ profile, seen: { walk, previous, found } }: Case): boolean =>
  previous !== undefined &&
  found.pageZero !== 'unclear' &&
  walk.isWhole(profile) &&
  previous.isWhole(profile) &&
  walk.agreesWith(previous)

export const mayLackPageZero = (given: Case): boolean => {
  const { walk, previous, found } = given.seen
  const isUnread = given.profile.firstNumber === undefined && found.pageZero === undefined
  return isUnread && isEnd(given) && previous?.distinct === walk.distinct && walk.leastTotal > walk.distinct
}

/** Returns whether two walks found the same rows, but fewer rows than every reported total. */
export const isShort = (given: Case): boolean => {
  const { walk } = given.seen
  return isEnd(given) && areAlike(given) && walk.leastTotal > walk.distinct
}

const everyPageIsPage1 = (given: Case): boolean => isShort(given) && given.seen.walk.repeats > 0

/** Returns whether the run must fail because rows seem to be missing and no further request could find them. */
export const isLacking = (given: Case): boolean =>
  hidesAtOneInstant(given) ||
  (isShort(given) && (given.seen.found.hidden === true || (!isAgreed(given) && finerParts(given) === undefined)))

/** Returns whether rows may be missing: page 2 repeated page 1, and a second walk with smaller pages did not help. */
export const hidesAtOneInstant = ({ terms, seen: { walk, previous } }: Case): boolean =>
  previous !== undefined &&
  mayBeOnlyPage(previous) &&
  previous.firstRows < terms.pageSize &&
  walk.rowsAsked < previous.firstRows &&
  (walk.page2Repeats || walk.distinct < previous.distinct)

const mayBeOnlyPage = ({ firstTotal, page2Repeats, firstRows }: Walk): boolean =>
  firstTotal === undefined && page2Repeats && firstRows > 1

/** Returns whether the last two walks agree. If all pages repeat page 1, narrower spans must also have no new rows. */
export const isAgreed = (given: Case): boolean =>
  areAlike(given) && (!everyPageIsPage1(given) || given.seen.found.narrower === 'nothing new')

const isWide = (given: Case): boolean => given.terms.keyed && mayCut(given) && canSplit(given.slice.span)

/** Returns whether the last allowed walk over a bare array ended on a full page and the next page was refused. */
export const alwaysFills = ({ profile, terms, seen }: Case): boolean =>
  seen.attempt === terms.walkAttemptsMax &&
  seen.walk.cutOff(profile) !== undefined &&
  seen.walk.totalCount === undefined

export function probeOfParts(given: Case): ProbeName | undefined {
  const { partTotals, narrower } = given.seen.found
  if (!isShort(given)) return undefined
  if (everyPageIsPage1(given)) return isWide(given) && narrower === undefined ? 'narrower spans' : undefined
  return partTotals === undefined && countedParts(given).length > 0 ? 'totals of parts' : undefined
}

/** Returns two parts that do not overlap, so that no row is counted twice. Returns [] if the span can't be cut. */
export function countedParts(given: Case): readonly Span[] {
  const { span } = given.slice
  if (!mayCut(given)) return []
  if (!canSplit(span)) return splitAtFloor(given) ?? []
  const middle = (span.since + Math.floor((span.until - span.since) / 2)) as Instant
  return [
    { since: span.since, until: middle },
    { since: (middle + 1) as Instant, until: span.until },
  ]
}

/** Returns parts of the span that should each fit into one response, or undefined if the span can't be cut. */
export function finerParts(given: Case): readonly Span[] | undefined {
  const { slice, seen } = given
  const { span, heap } = slice
  const { walk } = seen
  if (!mayCut(given) || span === undefined) return undefined
  if (!canSplit(span)) return splitAtFloor(given)
  if (heap === 'at its end') return splitAt(span, (span.until - 1) as Instant)
  return splitByTotal(span, Math.max(walk.leastTotal, walk.rows), plannedRows(walk.pageRows))
}

/** Returns the next walk's page size. If rows repeat or a page is refused, tries a smaller page or one for all rows. */
export function nextSize(given: Case): number {
  const { profile, slice, terms, seen } = given
  const { walk } = seen
  const { rowsAsked: size } = walk
  const isWhole = walk.isWhole(profile)
  if (!isWhole && finerParts(given) !== undefined) return terms.pageSize
  if (!terms.keyed) return size
  const isCutOff = walk.cutOff(profile) !== undefined
  const mayBeLast = isCutOff || (walk.page2Repeats && walk.firstRows === size) || mayBeOnlyPage(walk)
  // Requests one row fewer than page 1 had. The missing row then begins page 2, unless page numbers are ignored.
  const fewer = Math.min(size, walk.firstRows) - 1
  if (mayBeLast && size === terms.pageSize && fewer > 0) return fewer
  if (!isCutOff && (slice.span === undefined || isWhole || walk.repeats === 0)) return size
  const most = Math.min(SPEC_PAGE_SIZE_MAX, terms.pageSize * USUAL_PAGES_MAX)
  const rows = walk.page2Repeats ? most : Math.min(most, 2 * Math.max(walk.distinct, walk.totalCount ?? 0))
  return Math.max(size, rows)
}

/** Returns whether a cut can rely on the total. The total may be too low if page 1 is shorter than an earlier page. */
export const isTotalTrusted = ({ profile, slice, seen }: Case): boolean =>
  canSplit(slice.span) && seen.walk.firstRows >= profile.longestPageRows

const isLong = ({ seen: { walk } }: Case): boolean => walk.leastTotal > 2 * MOVED_PAGES * walk.pageRows

/** Returns whether to cut a span by its total. Old spans are cut only if rows have moved and the span is long. */
export const isCutByTotal = (given: Case): boolean => {
  const isWanted = !isOld(given) || (given.slice.mayCount === false && isLong(given))
  return isOverfull(given) && isTotalTrusted(given) && isWanted && given.slice.heap === undefined
}

const isCutByMove = (given: Case): boolean =>
  isOld(given) && given.slice.heap === undefined && finerParts(given) !== undefined
export const orderOfTotal = (given: Case) => (isCutByMove(given) ? 'until a row moves' : 'the pages of the total')
export const isMovedWalk = (given: Case): boolean =>
  isEnd(given) && given.seen.attempt === 1 && given.seen.walk.hasMoved && isCutByMove(given)

/** Returns how to cut a span whose rows have moved: into slices of `MOVED_PAGES` pages or, if it is short, in half. */
export function cutByMove(given: Case): Omit<Overfull, 'pageRows'> {
  const { span } = given.slice
  const total = given.seen.walk.leastTotal
  const pagesEach = isLong(given) ? MOVED_PAGES : undefined
  if (!canSplit(span)) return { total, pagesEach, parts: splitAtFloor(given) }
  return { total, pagesEach, parts: pagesEach === undefined ? splitByTotal(span, total, total / 2) : undefined }
}

export const splitIntoLoads = ({ slice: { span }, terms }: Case, total: number): readonly Span[] | undefined =>
  canSplit(span) ? splitByTotal(span, total, terms.loadRowsMax) : undefined

export const isUncounted = (given: Case): boolean =>
  lastPageFound(given) !== undefined && given.seen.found.counted === undefined

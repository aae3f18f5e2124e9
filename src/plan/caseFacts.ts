/**
 * What the rules of the judge ask about a case: conditions, how a span would be cut, and what the profile learns.
 */
import type { Instant } from '../instant.ts'
import { plannedRows } from './density.ts'
import type { Case } from './slice.ts'
import { type PagingProfile, sawFullPage, sawLastPage } from './pagingProfile.ts'
import { canSplit, type Span, splitAt, splitByTotal } from './spans.ts'
import type { Walk } from './walk.ts'

/** A part that was planned as one load is cut again when it has more loads than this. */
const PLANNED_LOADS_MAX = 2
/** A request never asks for more usual pages at once: an answer that is too large helps nobody. */
const USUAL_PAGES_MAX = 8
/** As many rows as `page_size` may be. */
const ROWS_A_PAGE_MAX = 10_000

export const isOld = ({ slice: { span }, terms }: Case): boolean => span !== undefined && span.until <= terms.youngFrom
const mayCut = ({ policy }: Case): boolean => policy.cuts !== 'never'

const isFirstLook = ({ seen }: Case): boolean => seen.attempt === 1 && seen.stage === 'page 1'
/** Returns whether page 1 of an envelope was read, which has a total (spec §2). */
export const isTold = (given: Case): boolean => isFirstLook(given) && given.seen.walk.firstTotal !== undefined
/** Returns whether these are the first pages of a bare array, or of an envelope without a total. */
export const isUntold = ({ seen }: Case): boolean =>
  seen.attempt === 1 && seen.stage !== 'the end' && seen.walk.firstTotal === undefined
export const isPage2 = (given: Case): boolean => isUntold(given) && given.seen.stage === 'page 2'
const isEnd = ({ seen }: Case): boolean => seen.stage === 'the end'

/** Returns a span without a lower bound cut in two, so that the later part can be cut further. */
export const atFloor = ({ slice: { span }, terms }: Case): readonly Span[] | undefined =>
  span?.since === undefined && span !== undefined ? splitAt(span, terms.floor) : undefined

/** Returns whether an envelope's total counts more rows than page 1 has, and the span may be cut for that. */
export const isTooMuch = (given: Case): boolean => {
  const { slice, seen } = given
  const { firstRows, totalCount = 0 } = seen.walk
  return isTold(given) && mayCut(given) && slice.span !== undefined && firstRows > 0 && totalCount > firstRows
}

/** Returns the span's old and young part, where the old one probably holds more than a page. */
export function agesOf({ slice: { span }, terms, seen: { walk } }: Case): readonly Span[] | undefined {
  const parts = span && splitAt(span, terms.youngFrom)
  const old = parts?.[0]
  if (span === undefined || old === undefined) return undefined
  if (span.since === undefined || old.since === undefined) return parts
  const share = (old.until - old.since) / (span.until - span.since)
  return (walk.totalCount ?? 0) * share > walk.pageRows ? parts : undefined
}

/** Returns the span's old and young part, where the old one is long enough to be worth requests of its own. */
export function oldPart(given: Case): readonly Span[] | undefined {
  const { slice, terms } = given
  const { span } = slice
  if (span === undefined || slice.mayCount !== true || !terms.keyed || !mayCut(given)) return undefined
  const parts = splitAt(span, terms.youngFrom)
  const isWorthIt = span.since === undefined || terms.youngFrom - span.since >= span.until - terms.youngFrom
  return isWorthIt ? parts : undefined
}

/** Returns whether a slice without a total is cut before it is walked. */
export const isCuttable = (given: Case): boolean =>
  mayCut(given) && given.slice.heap === undefined && given.slice.span !== undefined && canSplit(given.slice.span)

/** Returns whether page 2 follows page 1. Where it has all rows of page 1 and more, rows came meanwhile and it is the last page. */
export const isFollowed = ({ seen: { walk } }: Case): boolean =>
  walk.freshOnLastPage > 0 && walk.repeats < walk.firstRows

/** Returns whether page 2 shows that page 1 is everything. */
export function isAllByPage2({ seen: { claim, walk } }: Case): boolean {
  if (claim === 'unknown' || claim === 'all') return false
  if (walk.refusal !== undefined) return claim === 'all unless clamped'
  // More rows than were requested, and the same rows again: the service does not page.
  const isSame = walk.lastRowsSent === walk.firstRowsSent
  return walk.freshOnLastPage === 0 && (isSame || (claim === 'all unless clamped' && walk.lastRowsSent === 0))
}

/** Returns whether page 2 shows that only what fits one response can be read: page numbers are ignored, or page 2 is refused. */
export function isHiddenBehindPage1({ profile, terms: { pageSize }, seen: { claim, walk } }: Case): boolean {
  if (walk.freshOnLastPage > 0) return false
  const ignoresNumbers = walk.lastRowsSent > 0 && claim !== 'all if unpaged' && walk.firstRows >= pageSize
  return (
    ignoresNumbers ||
    (walk.refusal !== undefined && walk.firstRows >= Math.min(pageSize, profile.fullPageRows ?? pageSize))
  )
}

export const learnSingle = ({ profile, terms, seen: { walk } }: Case): PagingProfile =>
  sawLastPage(profile, Math.min(walk.firstRows, terms.pageSize))
export const learnFull = ({ profile, seen: { walk } }: Case): PagingProfile => sawFullPage(profile, walk.firstRows)
export const learnFollowed = (given: Case): PagingProfile => (isFollowed(given) ? learnFull(given) : given.profile)

/** Returns the profile after the first walk over all pages of an envelope. */
export function learnWalked(given: Case): PagingProfile {
  const { attempt, stage, walk } = given.seen
  const isPaged = attempt === 1 && stage === 'the end' && walk.firstTotal !== undefined
  return isPaged && walk.repeats === 0 && walk.distinct > walk.firstRows ? learnFull(given) : given.profile
}

/** Returns where the last page is, if that was found. */
export const countOf = ({ seen }: Case) =>
  typeof seen.found.lastPage === 'object' && 'total' in seen.found.lastPage ? seen.found.lastPage : undefined

export function learnCounted(given: Case): PagingProfile {
  const { profile, terms, seen } = given
  const rows = seen.walk.firstRowsSent
  return (countOf(given)?.number ?? 1) > 1
    ? sawFullPage(profile, rows)
    : sawLastPage(profile, Math.min(rows, terms.pageSize))
}

/** Returns the rows that a counted span may hold. A part that was planned as one load may hold more: it is loaded in two pieces. */
export const countMax = ({ slice, terms }: Case): number =>
  slice.rowsExpected === undefined ? terms.loadRowsMax : PLANNED_LOADS_MAX * terms.loadRowsMax

/** Returns whether as many rows came as the pages have room for, and none of the pages was longer than page 1. */
export function isCountMet(given: Case): boolean {
  const { counted } = given.seen.found
  const total = countOf(given)?.total
  return (
    counted !== undefined &&
    total !== undefined &&
    counted.brings(total) &&
    counted.mostRows === given.seen.walk.firstRowsSent
  )
}

export const isAgreed = ({ profile, seen: { walk, previous } }: Case): boolean =>
  previous !== undefined && walk.isWhole(profile) && previous.isWhole(profile) && walk.agreesWith(previous)

/** Returns whether two walks agree, and the total counts more rows than they brought. */
export const isShort = (given: Case): boolean => {
  const { walk } = given.seen
  return isEnd(given) && isAgreed(given) && (walk.totalCount ?? 0) > walk.distinct
}

/** Returns whether this is the last walk, and the rows of a bare array fill its pages of any size: fewer rows may not. */
export const alwaysFills = ({ profile, terms, seen }: Case): boolean =>
  seen.attempt === terms.walkAttemptsMax &&
  seen.walk.cutOff(profile) !== undefined &&
  seen.walk.totalCount === undefined

/** Returns the parts whose totals are added up. They are apart by 1 µs, since a row where they meet would count twice. */
export function countedParts(given: Case): readonly Span[] {
  const { span } = given.slice
  if (!mayCut(given) || span === undefined) return []
  if (!canSplit(span)) return atFloor(given) ?? []
  const middle = (span.since + Math.floor((span.until - span.since) / 2)) as Instant
  return [
    { since: span.since, until: middle },
    { since: (middle + 1) as Instant, until: span.until },
  ]
}

/** Returns, after rows moved, parts that should fit one response each. */
export function finer(given: Case, walk: Walk): readonly Span[] | undefined {
  const { span, heap } = given.slice
  if (!mayCut(given) || span === undefined) return undefined
  if (!canSplit(span)) return atFloor(given)
  if (heap === 'at its end') return splitAt(span, (span.until - 1) as Instant)
  return splitByTotal(span, Math.max(walk.totalCount ?? 0, walk.rows), plannedRows(walk.pageRows))
}

/**
 * Returns the page size in rows for the next walk. If a full page is repeated, or the page after it is refused, either it is the
 * last page or the service ignores page numbers: pages that are one row shorter show which. If the service ignores them, or if
 * rows came twice that no bound of time separates, the next walk asks for one page with everything. One page needs no order.
 */
export function nextSize(given: Case): number {
  const { profile, slice, terms, seen } = given
  const { walk } = seen
  const { rowsAsked: size } = walk
  const isWhole = walk.isWhole(profile)
  if (!isWhole && finer(given, walk) !== undefined) return terms.pageSize
  if (!terms.keyed) return size
  const isCutOff = walk.cutOff(profile) !== undefined
  const mayBeLast = isCutOff || (walk.isShownAgain && walk.firstRows === size)
  const fewer = Math.min(size, walk.firstRows) - 1
  if (mayBeLast && size === terms.pageSize && fewer > 0) return fewer
  if (!isCutOff && (slice.span === undefined || isWhole || walk.repeats === 0)) return size
  const most = Math.min(ROWS_A_PAGE_MAX, terms.pageSize * USUAL_PAGES_MAX)
  const rows = walk.isShownAgain ? most : Math.min(most, 2 * Math.max(walk.distinct, walk.totalCount ?? 0))
  return Math.max(size, rows)
}

/** Returns whether the total is believed although page 1 has room: pages as long as this one held back rows before. */
export const isTotalBelieved = ({ profile, slice, seen }: Case): boolean =>
  slice.span !== undefined && canSplit(slice.span) && seen.walk.firstRows >= profile.longestPageRows

/** Returns the span in parts of one load each. */
export const loadsOf = ({ slice: { span }, terms }: Case, total: number): readonly Span[] | undefined =>
  span !== undefined && canSplit(span) ? splitByTotal(span, total, terms.loadRowsMax) : undefined

/** Returns whether the last page was found and the pages before it were not read yet. */
export const isUncounted = (given: Case): boolean =>
  countOf(given) !== undefined && given.seen.found.counted === undefined

/** Returns the span in parts that can be paged to. */
export function deepParts(given: Case): readonly Span[] | undefined {
  const { span } = given.slice
  const { totalCount = 0, distinct } = given.seen.walk
  if (span === undefined || !canSplit(span)) return atFloor(given)
  return splitByTotal(span, totalCount, plannedRows(Math.max(1, distinct)))
}

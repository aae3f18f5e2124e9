/** The conditions and calculations of the rules in judge.ts, in their order. Cuts that several rules use are last. */
import type { Instant } from '../instant.ts'
import { plannedRows } from './density.ts'
import type { CutPlan, SliceState, ProbeName } from './slice.ts'
import { canSplit, type Span, splitAt, splitByTotal } from './spans.ts'
import { totalOf, type Walk } from './walk.ts'
import * as walks from './walkFacts.ts'

/** A span that was planned as one load is cut again if it has more rows than this many loads. */
const PLANNED_LOADS_MAX = 2
/** A walk requests at most this many times `page_size` rows per page, because larger responses may fail. */
const PAGE_SIZE_FACTOR_MAX = 8
const SPEC_PAGE_SIZE_MAX = 10_000
const PAGES_EACH_AFTER_MOVE = 8

export const isOld = ({ slice: { span }, settings }: SliceState): boolean =>
  span !== undefined && span.until <= settings.youngFrom
const mayCut = ({ policy }: SliceState): boolean => policy.cuts !== 'never'
const isEnd = (state: SliceState): boolean => state.readUpTo === 'the end'

export const isEnvelopePage1 = (state: SliceState): boolean =>
  state.attempt === 1 && state.readUpTo === 'page 1' && state.walk.first.totalCount !== undefined
export const isArrayUpToPage2 = (state: SliceState): boolean =>
  state.attempt === 1 && state.readUpTo !== 'the end' && state.walk.first.totalCount === undefined

export const canBeCut = (state: SliceState): boolean =>
  mayCut(state) && state.slice.crowdedInstant === undefined && canSplit(state.slice.span)

export const hasMorePages = (state: SliceState): boolean => {
  // A total may count a row twice that page 1 has twice: then page 1 may have all rows.
  const { first } = state.walk
  const total = totalOf(state.walk) ?? 0
  const hasMore = total > first.rows && total !== first.rowsSent
  return mayCut(state) && state.slice.span !== undefined && first.rows > 0 && hasMore
}

/** Splits a span at `youngFrom`, unless the old part probably fits on a page. */
export function splitByAge({ slice: { span }, settings, walk }: SliceState): readonly Span[] | undefined {
  const parts = span && splitAt(span, settings.youngFrom)
  const old = parts?.[0]
  if (span === undefined || old === undefined) return undefined
  if (span.since === undefined || old.since === undefined) return parts
  const share = (old.until - old.since) / (span.until - span.since)
  return (totalOf(walk) ?? 0) * share > walks.pageRowsOf(walk) ? parts : undefined
}

export const isOldOverOneLoad = (state: SliceState): boolean =>
  hasMorePages(state) && isOld(state) && (totalOf(state.walk) ?? 0) > state.settings.loadRowsMax

export const isCutByTotal = (state: SliceState): boolean => {
  const isWanted = !isOld(state) || (state.slice.mayCount === false && isLong(state))
  return hasMorePages(state) && isTotalTrusted(state) && isWanted && state.slice.crowdedInstant === undefined
}

/** Returns false if page 1 is shorter than a page of an earlier walk: the total of such a response may be too low. */
export const isTotalTrusted = ({ profile, slice, walk }: SliceState): boolean =>
  canSplit(slice.span) && walk.first.rows >= profile.longestPageRows

const isLong = ({ walk }: SliceState): boolean =>
  walks.leastTotalOf(walk) > 2 * PAGES_EACH_AFTER_MOVE * walks.pageRowsOf(walk)

export const orderOfTotal = (state: SliceState) =>
  isCutAfterMove(state) ? 'until a row moves' : 'the pages of the total'
const isCutAfterMove = (state: SliceState): boolean =>
  isOld(state) && state.slice.crowdedInstant === undefined && finerParts(state) !== undefined

/** Returns whether the only page of a bare array may lack rows, because some services return only the first ones. */
export const mayHideRows = (state: SliceState): boolean => {
  const { profile, page1Complete, walk, readUpTo } = state
  const hasNothingNewOnPage2 = readUpTo === 'page 2' && walk.latest.newRows === 0
  const isOnly = hasNothingNewOnPage2 || lastPageFound(state)?.number === 1
  const isSurelyLast = page1Complete === 'unless clamped' && walk.latest.rowsSent === 0
  const isUnproven = hasNothingNewOnPage2 || walk.first.rows >= profile.longestProvenPageRows
  return isOnly && isUnproven && walk.first.rows > 1 && !isSurelyLast && canProbeNarrower(state)
}

const canProbeNarrower = (state: SliceState): boolean =>
  state.settings.keyed && mayCut(state) && canSplit(state.slice.span)

export const hiddenParts = (state: SliceState): readonly Span[] | undefined =>
  state.slice.crowdedInstant === undefined ? undefined : finerParts(state)

export function page2ConfirmsPage1({ page1Complete, walk }: SliceState): boolean {
  if (page1Complete === 'unknown' || page1Complete === 'certain') return false
  if (walk.refusal !== undefined) return page1Complete === 'unless clamped'
  // Page 2 has as many rows as page 1 and no new row, so the service ignores page numbers.
  const isSame = walk.latest.rowsSent === walk.first.rowsSent
  return walk.latest.newRows === 0 && (isSame || (page1Complete === 'unless clamped' && walk.latest.rowsSent === 0))
}

export const continuesOnPage2 = ({ walk }: SliceState): boolean =>
  walk.latest.newRows > 0 && walk.repeats < walk.first.rows

export const isCountable = (state: SliceState): boolean =>
  state.settings.keyed && isOld(state) && state.slice.mayCount === true && state.walk.repeats === 0

export const lastPageFound = (state: SliceState) =>
  typeof state.probes.lastPage === 'object' ? state.probes.lastPage : undefined

export const countMax = ({ slice, settings }: SliceState): number =>
  slice.rowsExpected === undefined ? settings.loadRowsMax : PLANNED_LOADS_MAX * settings.loadRowsMax

export const mustWalkBack = (state: SliceState): boolean =>
  lastPageFound(state) !== undefined && state.backwardWalk === undefined

/** Returns the backward walk if it found exactly as many rows as the search for the last page has calculated. */
export function completeBackwardWalk(state: SliceState): Walk | undefined {
  const { backwardWalk: walk } = state
  const total = lastPageFound(state)?.total
  if (total === undefined || walk?.longestPageRows !== state.walk.first.rowsSent) return undefined
  return walks.hasExactly(walk, total) ? walk : undefined
}

/** Splits a span at `youngFrom`, if the part before is longer than the part after it. */
export function splitOffOld(state: SliceState): readonly Span[] | undefined {
  const { slice, settings } = state
  const { span } = slice
  if (span === undefined || slice.mayCount !== true || !settings.keyed || !mayCut(state)) return undefined
  const parts = splitAt(span, settings.youngFrom)
  const isWorthIt = span.since === undefined || settings.youngFrom - span.since >= span.until - settings.youngFrom
  return isWorthIt ? parts : undefined
}

export function mayHideRowsBehindPage1({ profile, settings: { pageSize }, page1Complete, walk }: SliceState): boolean {
  if (walk.latest.newRows > 0) return false
  if (walk.latest.rowsSent > 0 && page1Complete !== 'if unpaged' && walk.first.rows >= pageSize) return true
  return walk.refusal !== undefined && walk.first.rows >= Math.min(pageSize, profile.fullPageRows ?? pageSize)
}

export const hasMovedInFirstWalk = (state: SliceState): boolean =>
  isEnd(state) && state.attempt === 1 && walks.hasMoved(state.walk) && isCutAfterMove(state)

/** Cuts a span in which rows moved between pages into slices of 8 pages or, if it is short, in half. */
export function cutAfterMove(state: SliceState): Omit<CutPlan, 'pageRows'> {
  const { span } = state.slice
  const total = walks.leastTotalOf(state.walk)
  const pagesEach = isLong(state) ? PAGES_EACH_AFTER_MOVE : undefined
  if (!canSplit(span)) return { total, pagesEach, parts: splitAtStart(state) }
  return { total, pagesEach, parts: pagesEach === undefined ? splitByTotal(span, total, total / 2) : undefined }
}

export const mayHavePageZero = (state: SliceState): boolean => {
  const { walk, previous, probes } = state
  const isUnread = state.profile.firstNumber === undefined && probes.pageZero === undefined
  return isUnread && isEnd(state) && previous?.distinct === walk.distinct && walks.leastTotalOf(walk) > walk.distinct
}

/** Returns whether two walks found the same rows, and every response has a total above their number, however counted. */
export const agreesBelowTotals = (state: SliceState): boolean => {
  const { walk } = state
  const isBelow = walks.leastTotalOf(walk) > walk.distinct && (totalOf(walk) !== walk.rowsSent || walk.repeats > 0)
  return isEnd(state) && walksAgree(state) && isBelow
}

const walksAgree = ({ profile, walk, previous, probes }: SliceState): boolean =>
  previous !== undefined &&
  probes.pageZero !== 'unclear' &&
  walks.endedWithoutRepeats(walk, profile) &&
  walks.endedWithoutRepeats(previous, profile) &&
  walks.haveSameRows(walk, previous)

/** Returns whether rows seem to be missing and no further request could find them. */
export const mustGiveUp = (state: SliceState): boolean =>
  hidesAtOneInstant(state) ||
  (agreesBelowTotals(state) &&
    (state.probes.hasMissedRows === true || (!isAgreed(state) && finerParts(state) === undefined)))

/** Returns whether page 2 repeated page 1, also in a second walk with smaller pages. */
export const hidesAtOneInstant = ({ settings, walk, previous }: SliceState): boolean =>
  previous !== undefined &&
  mayBeOnlyPage(previous) &&
  previous.first.rows < settings.pageSize &&
  walk.rowsAsked < previous.first.rows &&
  (walk.page2Repeats || walk.distinct < previous.distinct)

const mayBeOnlyPage = ({ first, page2Repeats }: Walk): boolean =>
  first.totalCount === undefined && page2Repeats && first.rows > 1

export function probeOfParts(state: SliceState): ProbeName | undefined {
  const { partTotals, narrower } = state.probes
  if (!agreesBelowTotals(state)) return undefined
  if (everyPageIsPage1(state)) return canProbeNarrower(state) && narrower === undefined ? 'narrower spans' : undefined
  return partTotals === undefined && countedParts(state).length > 0 ? 'totals of parts' : undefined
}

const everyPageIsPage1 = (state: SliceState): boolean => agreesBelowTotals(state) && state.walk.repeats > 0

/** Returns two parts that do not overlap, or [] if the span can't be cut. */
export function countedParts(state: SliceState): readonly Span[] {
  const { span } = state.slice
  if (!mayCut(state)) return []
  if (!canSplit(span)) return splitAtStart(state) ?? []
  const middle = (span.since + Math.floor((span.until - span.since) / 2)) as Instant
  return [
    { since: span.since, until: middle },
    { since: (middle + 1) as Instant, until: span.until },
  ]
}

export const isAgreed = (state: SliceState): boolean =>
  walksAgree(state) && (!everyPageIsPage1(state) || state.probes.narrower === 'nothing new')

export const endsAtRefusedPage = ({ profile, settings, attempt, walk }: SliceState): boolean =>
  attempt === settings.walkAttemptsMax &&
  walks.refusalOfNeededPage(walk, profile) !== undefined &&
  totalOf(walk) === undefined

/** Cuts a span without a lower bound, which has no middle, at the report's `start` or else at the year 1970. */
export const splitAtStart = ({ slice: { span }, settings }: SliceState): readonly Span[] | undefined =>
  span?.since === undefined && span !== undefined
    ? (splitAt(span, settings.start) ?? splitAt(span, 0 as Instant))
    : undefined

export const splitIntoLoads = (
  { slice: { span }, settings }: SliceState,
  total: number,
): readonly Span[] | undefined => (canSplit(span) ? splitByTotal(span, total, settings.loadRowsMax) : undefined)

/** Returns parts of the span that probably fit into one response each. */
export function finerParts(state: SliceState): readonly Span[] | undefined {
  const { slice, walk } = state
  const { span, crowdedInstant } = slice
  if (!mayCut(state) || span === undefined) return undefined
  if (!canSplit(span)) return splitAtStart(state)
  if (crowdedInstant === 'at its end') return splitAt(span, (span.until - 1) as Instant)
  return splitByTotal(span, Math.max(walks.leastTotalOf(walk), walk.rows), plannedRows(walks.pageRowsOf(walk)))
}

/** Returns the next walk's page size. If rows repeat or a page is refused: smaller pages, or one page for all rows. */
export function nextPageSize(state: SliceState): number {
  const { profile, slice, settings, walk } = state
  const { rowsAsked: size } = walk
  const endedWithoutRepeats = walks.endedWithoutRepeats(walk, profile)
  if (!endedWithoutRepeats && finerParts(state) !== undefined) return settings.pageSize
  if (!settings.keyed) return size
  const isCutOff = walks.refusalOfNeededPage(walk, profile) !== undefined
  const mayBeLast = isCutOff || (walk.page2Repeats && walk.first.rows === size) || mayBeOnlyPage(walk)
  // Tests whether the service ignores page numbers: with one row fewer per page, page 2 must contain a new row.
  const fewer = Math.min(size, walk.first.rows) - 1
  if (mayBeLast && size === settings.pageSize && fewer > 0) return fewer
  if (!isCutOff && (slice.span === undefined || endedWithoutRepeats || walk.repeats === 0)) return size
  const most = Math.min(SPEC_PAGE_SIZE_MAX, settings.pageSize * PAGE_SIZE_FACTOR_MAX)
  const rows = walk.page2Repeats ? most : Math.min(most, 2 * Math.max(walk.distinct, totalOf(walk) ?? 0))
  return Math.max(size, rows)
}

/**
 * What the first two pages of a bare array say. It tells no total, so what is known of the report's page sizes decides
 * whether a next page may exist, whether page 2 has to be asked for to know, and whether the span is then cut or walked
 * to its end (docs/PROOFS.md, "single"). Pure: the story fetches the pages.
 */
import {
  holdsEverything,
  isFullPage,
  mayBeClampedSince,
  mayBeUnpaged,
  type PageSizes,
  sawFullPage,
  sawLastPage,
  sawLoweredClamp,
} from './pageSizes.ts'

export interface FirstPage {
  /** Different rows on it; a row that the page says twice counts once. */
  readonly rows: number
  /** Rows as they were sent. */
  readonly rowsSent: number
  /** Rows a page that were asked for. */
  readonly rowsAsked: number
  /** Rows of the longest page of this run so far, this one included. */
  readonly rowsLongest: number
}

export interface SecondPage {
  /** The service doesn't give it: it may not be there, or its number may be larger than the service likes. */
  readonly isRefused: boolean
  readonly rowsSent: number
  /** Rows on it that were not on page 1. */
  readonly fresh: number
  /** Rows on it that were. */
  readonly repeats: number
}

/** Whether the first page is all there is: known, or for page 2 to say, or not known before more was read. */
export type Claim = 'all' | 'all unless clamped' | 'all if unpaged' | 'unknown'

/** `doubtsSizes`: what was learnt may be outdated, and a lowered clamp would make a full page look like the last one. */
export function claimOf(sizes: PageSizes, first: FirstPage, doubtsSizes: boolean): Claim {
  const { rows, rowsSent, rowsAsked: asked, rowsLongest: longest } = first
  if (mayBeUnpaged(sizes, rows, asked)) return 'all if unpaged'
  if (!holdsEverything(sizes, rows, asked)) return 'unknown'
  return doubtsSizes && mayBeClampedSince(rowsSent, { asked, longest }) ? 'all unless clamped' : 'all'
}

/** Whether page 2 is looked at before anything else is decided. */
export const asksForPage2 = (claim: Claim): boolean => claim === 'all unless clamped' || claim === 'all if unpaged'

/** Whether page 1 is all there is, now that page 2 was looked at where it had to be. */
export function isAll(claim: Claim, first: FirstPage, second: SecondPage | undefined): boolean {
  if (claim === 'all') return true
  if (claim === 'unknown' || second === undefined) return false
  // That says nothing, and what was learnt stands.
  if (second.isRefused) return claim === 'all unless clamped'
  // The same rows once more, and more of them than were asked for: the service doesn't page.
  const isSame = second.rowsSent === first.rowsSent
  return second.fresh === 0 && (isSame || (claim === 'all unless clamped' && second.rowsSent === 0))
}

/** After page 1 was shown to be all there is. */
export const learntOfAll = (sizes: PageSizes, { rows, rowsAsked }: FirstPage): PageSizes =>
  sawLastPage(sizes, Math.min(rows, rowsAsked))

/** After page 2 was looked at and page 1 is not all there is: rows behind it show that the clamp was lowered. */
export const learntOfLook = (sizes: PageSizes, claim: Claim, { first, second }: BothPages): PageSizes =>
  claim === 'all unless clamped' && isFollowed(first, second) ? sawLoweredClamp(sizes, first.rows) : sizes

/** Whether the span is cut before page 2 is asked for: page 1 is as long as pages that are followed by others. */
export const isCutAtOnce = (sizes: PageSizes, claim: Claim, { rows }: FirstPage): boolean =>
  claim === 'unknown' && isFullPage(sizes, rows)

export interface BothPages {
  readonly first: FirstPage
  readonly second: SecondPage
}

/** Whether page 2 is the next one. All rows of page 1 and more on it: rows came meanwhile, and it is the last page. */
const isFollowed = ({ rows }: FirstPage, { fresh, repeats }: SecondPage): boolean => fresh > 0 && repeats < rows

export interface Next {
  /**
   * `cut`: where the rows of both pages stand. `cut blindly`: page numbers are ignored or refused, so only what fits one
   * response can be seen. `walk on`: from page 3 to the end. `walk again`: this walk has come to its end.
   */
  readonly step: 'cut' | 'cut blindly' | 'walk on' | 'walk again'
  readonly sizes: PageSizes
}

/** What comes after two pages that prove nothing. */
export function afterTwoPages(sizes: PageSizes, { first, second, claim, mayCut }: TwoPages): Next {
  if (second.fresh > 0) {
    const learnt = isFollowed(first, second) ? sawFullPage(sizes, first.rows) : sizes
    return { step: mayCut ? 'cut' : 'walk on', sizes: learnt }
  }
  const ignoresNumbers = second.rowsSent > 0 && claim !== 'all if unpaged' && first.rows >= first.rowsAsked
  const hidesPage = second.isRefused && first.rows >= Math.min(first.rowsAsked, sizes.fullMin ?? first.rowsAsked)
  if ((ignoresNumbers || hidesPage) && mayCut) return { step: 'cut blindly', sizes: sawFullPage(sizes, first.rows) }
  return { step: 'walk again', sizes: sawLastPage(sizes, first.rows) }
}

export interface TwoPages extends BothPages {
  readonly claim: Claim
  /** Whether the span can be cut at all, and may be. */
  readonly mayCut: boolean
}

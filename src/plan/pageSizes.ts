/**
 * What a report's page sizes were seen to be. A bare array tells no total, so whether a response may have a next page
 * follows from this alone: a response with fewer rows than were asked for, and than every page that was ever followed by
 * another, has none. One with more rows than were asked for proves nothing: a service may raise a page size as well as
 * clamp it (product contract §5.4).
 */
export interface PageSizes {
  /** Rows of the smallest page that was followed by more rows. */
  readonly fullMin: number | undefined
  /** Rows of the largest page seen: the service doesn't cut pages shorter than that. */
  readonly seenMax: number
  /** What page numbers count from; undefined: nothing has shown it yet. */
  readonly firstNumber?: 0 | 1 | undefined
}

export const NO_PAGE_SIZES: PageSizes = { fullMin: undefined, seenMax: 0 }

/** After a page of `rows` that was followed by another with new rows. */
export const sawFullPage = (known: PageSizes, rows: number): PageSizes =>
  learned(known, {
    ...known,
    fullMin: Math.min(known.fullMin ?? rows, rows),
    seenMax: Math.max(known.seenMax, rows),
  })

/** After a page of `rows` that was surely the last. */
export const sawLastPage = (known: PageSizes, rows: number): PageSizes =>
  learned(known, { ...known, seenMax: Math.max(known.seenMax, rows) })

/** What two walks that knew nothing of each other saw, together. */
export const bothSeen = (a: PageSizes, b: PageSizes): PageSizes => {
  const fullMin = a.fullMin === undefined ? b.fullMin : Math.min(a.fullMin, b.fullMin ?? a.fullMin)
  return learned(a, { fullMin, seenMax: Math.max(a.seenMax, b.seenMax), firstNumber: a.firstNumber ?? b.firstNumber })
}

/** The same value while nothing is new, so that only what was learnt is written down. */
const learned = (known: PageSizes, now: PageSizes): PageSizes =>
  now.fullMin === known.fullMin && now.seenMax === known.seenMax && now.firstNumber === known.firstNumber ? known : now

/** Rows below which a response surely has no next page; 0 while nothing is known. */
export const surelyLastBelow = (known: PageSizes): number => known.fullMin ?? known.seenMax

/**
 * Whether a response of `rows` to a question for `asked` rows holds everything there is. As many rows as were asked for
 * never do, however long pages have been: a service that raised the size may go back to what it is asked for.
 */
export const holdsEverything = (known: PageSizes, rows: number, asked: number): boolean =>
  rows === 0 || rows < Math.min(surelyLastBelow(known), asked)

/** Of the rows asked for: no service is thought to lower its clamp to less than that. */
const CLAMP_SHARE_MIN = 0.05

/**
 * Whether a response of `rows`, which holds everything by what was learnt, may be one of a service that has lowered its
 * clamp since: no other page of this run was longer. Small ones, as most runs bring, are not suspected.
 */
export const mayBeClampedSince = (rows: number, run: { asked: number; longest: number }): boolean =>
  rows >= run.asked * CLAMP_SHARE_MIN && rows >= run.longest

/** After a page of `rows` that was followed by another, although longer ones were known: nothing of that holds now. */
export const sawLoweredClamp = (known: PageSizes, rows: number): PageSizes => ({
  ...known,
  fullMin: rows,
  seenMax: rows,
})

/** Whether a response is longer than it may be and than any page was: page 2 says whether the service pages at all. */
export const mayBeUnpaged = ({ seenMax }: PageSizes, rows: number, asked: number): boolean =>
  rows > Math.max(asked, seenMax)

/**
 * Whether a response of `rows`, which may have a next page, is as long as pages are known to be. A shorter one may
 * follow a row that came while page 2 was asked for; cutting it finer for ever would cost more than asking for its next
 * page.
 */
export const isFullPage = ({ fullMin, seenMax }: PageSizes, rows: number): boolean =>
  fullMin !== undefined && rows >= seenMax

/** Rows to plan a response for. */
export const rowsAPage = ({ fullMin, seenMax }: PageSizes, asked: number): number =>
  fullMin === undefined ? asked : Math.min(Math.max(fullMin, seenMax), asked)

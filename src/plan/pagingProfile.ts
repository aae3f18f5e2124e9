/** How the service pages a report, learned from its responses (docs/PROOFS.md, appendix A). */
export interface PagingProfile {
  /** Number of the first page. Undefined until a probe has found it. Until then, page 1 is requested first. */
  readonly firstNumber: 0 | 1 | undefined
  /** Number of rows on the shortest page that had a next page. Undefined until such a page has been seen. */
  readonly fullPageRows: number | undefined
  /** Rows on the longest page so far. While `fullPageRows` is undefined, a shorter page counts as the last one. */
  readonly longestPageRows: number
  /** Rows on the longest page of this run. Not stored, because the service may shorten its pages between two runs. */
  readonly longestOfRun: number
  /** Rows in the longest response that was proven complete: requests for parts of its span found no more rows. */
  readonly wholeRows: number
  /** Audit reports only. `rows`: even a page past the end has rows, so the service ignores page numbers. */
  readonly behindLastPage?: 'nothing' | 'rows' | undefined
}

export const UNKNOWN_PAGING: PagingProfile = {
  firstNumber: undefined,
  fullPageRows: undefined,
  longestPageRows: 0,
  longestOfRun: 0,
  wholeRows: 0,
}

export const isSameProfile = (a: PagingProfile, b: PagingProfile): boolean =>
  (['firstNumber', 'fullPageRows', 'longestPageRows', 'wholeRows'] as const).every((fact) => a[fact] === b[fact])

/** Raises `longestOfRun` to `rows`. Only for pages of the usual size: after a larger one, they would look short. */
export const sawPage = (profile: PagingProfile, rows: number): PagingProfile =>
  rows <= profile.longestOfRun ? profile : { ...profile, longestOfRun: rows }

export const sawFullPage = (profile: PagingProfile, rows: number): PagingProfile => ({
  ...profile,
  fullPageRows: Math.min(profile.fullPageRows ?? rows, rows),
  longestPageRows: Math.max(profile.longestPageRows, rows),
  wholeRows: Math.min(profile.wholeRows, rows),
})

export const sawLastPage = (profile: PagingProfile, rows: number): PagingProfile => ({
  ...profile,
  longestPageRows: Math.max(profile.longestPageRows, rows),
})

/** Returns the profile after the service has shortened its pages: a page of `rows` rows was followed by another one. */
export const sawLoweredClamp = (profile: PagingProfile, rows: number): PagingProfile => ({
  ...profile,
  fullPageRows: rows,
  longestPageRows: rows,
  wholeRows: Math.min(profile.wholeRows, rows),
})

/** Raises `wholeRows` to `rows`. Requests for parts of the span found no rows that this response lacked. */
export const sawWhole = (profile: PagingProfile, rows: number): PagingProfile => ({
  ...profile,
  wholeRows: Math.max(profile.wholeRows, rows),
})

/** Combines two profiles that were learned separately, for example by two workers. */
export const joinProfiles = (a: PagingProfile, b: PagingProfile): PagingProfile => ({
  ...(b.fullPageRows === undefined ? a : sawFullPage(a, b.fullPageRows)),
  longestPageRows: Math.max(a.longestPageRows, b.longestPageRows),
  wholeRows: Math.max(a.wholeRows, b.wholeRows),
  firstNumber: a.firstNumber ?? b.firstNumber,
})

/** Returns the row count below which a page is certainly the last one, or 0 for an empty profile. */
export const surelyLastBelow = ({ fullPageRows, longestPageRows, wholeRows }: PagingProfile): number =>
  Math.max(fullPageRows ?? longestPageRows, wholeRows)

/** Returns whether a page is certainly the last one, because it is empty or has fewer rows than a full page. */
export const isSurelyLastPage = (profile: PagingProfile, rows: number, asked: number): boolean =>
  rows === 0 || rows < Math.min(surelyLastBelow(profile), asked)

/** Returns whether the service may ignore paging: a response has more rows than requested and than any earlier page. */
export const mayBeUnpaged = ({ longestPageRows }: PagingProfile, rows: number, asked: number): boolean =>
  rows > Math.max(asked, longestPageRows)

/** Returns whether a page is certainly full: the length of full pages is known, and no earlier page was longer. */
export const isFullPage = ({ fullPageRows, longestPageRows }: PagingProfile, rows: number): boolean =>
  fullPageRows !== undefined && rows >= longestPageRows

export const rowsAPage = ({ fullPageRows, longestPageRows }: PagingProfile, asked: number): number =>
  fullPageRows === undefined ? asked : Math.min(Math.max(fullPageRows, longestPageRows), asked)

/** Tidemark assumes that no service returns less than this share of the requested rows on a full page. */
const CLAMP_SHARE_MIN = 0.05

/**
 * What page 1 of an array without a total proves. `all`: there are no other rows. `all unless clamped`: all, unless the
 * service shortens pages. `all if unpaged`: all, if the service ignores page numbers. `unknown`: page 1 proves nothing.
 */
export type Claim = 'all' | 'all unless clamped' | 'all if unpaged' | 'unknown'

export interface FirstPage {
  /** Number of distinct rows: a row that appears twice on the page counts once. */
  readonly rows: number
  readonly rowsSent: number
  readonly rowsAsked: number
}

/** Works out from page 1 whether there are other rows. With `checks`, doesn't trust the stored full-page length. */
export function claimOf(profile: PagingProfile, { rows, rowsSent, rowsAsked }: FirstPage, checks: boolean): Claim {
  if (mayBeUnpaged(profile, rows, rowsAsked)) return 'all if unpaged'
  if (!isSurelyLastPage(profile, rows, rowsAsked)) return 'unknown'
  const mayBeClamped = rowsSent >= rowsAsked * CLAMP_SHARE_MIN && rowsSent >= profile.longestOfRun
  return checks && mayBeClamped ? 'all unless clamped' : 'all'
}

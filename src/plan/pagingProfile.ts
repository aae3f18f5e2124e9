/** How the service pages a report, learned from its responses (docs/PROOFS.md, appendix A). */
export interface PagingProfile {
  /** The page number that the service uses for the first page. While undefined, page 1 is requested first. */
  readonly firstNumber: 0 | 1 | undefined
  /** Rows on the shortest page that had a next page. */
  readonly fullPageRows: number | undefined
  /** Rows on the longest known page. While `fullPageRows` is undefined, a shorter page counts as the last one. */
  readonly longestPageRows: number
  /** Not stored, because the service may shorten its pages between two runs. */
  readonly longestPageRowsOfRun: number
  /** Rows on the longest proven page. A page is proven if requests for parts of its span return no other rows. */
  readonly longestProvenPageRows: number
  /** Audit reports only: what the page after the last page contains. `rows`: the service ignores page numbers. */
  readonly afterLastPage?: 'nothing' | 'rows' | undefined
}

export const UNKNOWN_PAGING: PagingProfile = {
  firstNumber: undefined,
  fullPageRows: undefined,
  longestPageRows: 0,
  longestPageRowsOfRun: 0,
  longestProvenPageRows: 0,
}

export const isSameProfile = (a: PagingProfile, b: PagingProfile): boolean =>
  (['firstNumber', 'fullPageRows', 'longestPageRows', 'longestProvenPageRows'] as const).every(
    (fact) => a[fact] === b[fact],
  )

/** Records a page's length. Do not call this for larger pages than usual: full pages would then count as last pages. */
export const withPage = (profile: PagingProfile, rows: number): PagingProfile =>
  rows <= profile.longestPageRowsOfRun ? profile : { ...profile, longestPageRowsOfRun: rows }

export const withFullPage = (profile: PagingProfile, rows: number): PagingProfile => ({
  ...profile,
  fullPageRows: Math.min(profile.fullPageRows ?? rows, rows),
  longestPageRows: Math.max(profile.longestPageRows, rows),
  longestProvenPageRows: Math.min(profile.longestProvenPageRows, rows),
})

export const withLastPage = (profile: PagingProfile, rows: number): PagingProfile => ({
  ...profile,
  longestPageRows: Math.max(profile.longestPageRows, rows),
})

export const withLoweredClamp = (profile: PagingProfile, rows: number): PagingProfile =>
  withFullPage({ ...profile, fullPageRows: rows, longestPageRows: rows }, rows)

export const withProvenPage = (profile: PagingProfile, rows: number): PagingProfile => ({
  ...profile,
  longestProvenPageRows: Math.max(profile.longestProvenPageRows, rows),
})

export const joinProfiles = (a: PagingProfile, b: PagingProfile): PagingProfile => ({
  ...(b.fullPageRows === undefined ? a : withFullPage(a, b.fullPageRows)),
  longestPageRows: Math.max(a.longestPageRows, b.longestPageRows),
  longestProvenPageRows: Math.max(a.longestProvenPageRows, b.longestProvenPageRows),
  firstNumber: a.firstNumber ?? b.firstNumber,
})

/** Returns the row count below which a page is certainly the last one. */
export const lastPageLimit = ({ fullPageRows, longestPageRows, longestProvenPageRows }: PagingProfile): number =>
  Math.max(fullPageRows ?? longestPageRows, longestProvenPageRows)

export const isSurelyLastPage = (profile: PagingProfile, rows: number, asked: number): boolean =>
  rows === 0 || rows < Math.min(lastPageLimit(profile), asked)

export const mayBeUnpaged = ({ longestPageRows }: PagingProfile, rows: number, asked: number): boolean =>
  rows > Math.max(asked, longestPageRows)

export const isFullPage = ({ fullPageRows, longestPageRows }: PagingProfile, rows: number): boolean =>
  fullPageRows !== undefined && rows >= longestPageRows

export const rowsAPage = ({ fullPageRows, longestPageRows }: PagingProfile, asked: number): number =>
  fullPageRows === undefined ? asked : Math.min(Math.max(fullPageRows, longestPageRows), asked)

/** Tidemark assumes that no service returns less than this share of the requested rows on a full page. */
const CLAMP_SHARE_MIN = 0.05

/** Whether page 1 has all rows. `unless clamped`: if it was not shortened. `if unpaged`: if page numbers are ignored. */
export type Page1Completeness = 'certain' | 'unless clamped' | 'if unpaged' | 'unknown'

export interface FirstPage {
  /** A row that appears twice on the page counts once. */
  readonly rows: number
  readonly rowsSent: number
  readonly rowsAsked: number
}

/** Works out whether page 1 has all rows. With `checks`, doesn't trust the stored length of a full page. */
export function completenessOfPage1(
  profile: PagingProfile,
  { rows, rowsSent, rowsAsked }: FirstPage,
  checks: boolean,
): Page1Completeness {
  if (mayBeUnpaged(profile, rows, rowsAsked)) return 'if unpaged'
  if (!isSurelyLastPage(profile, rowsSent, rowsAsked)) return 'unknown'
  const mayBeClamped = rowsSent >= rowsAsked * CLAMP_SHARE_MIN && rowsSent >= profile.longestPageRowsOfRun
  return checks && mayBeClamped ? 'unless clamped' : 'certain'
}

/**
 * The paging profile of a report: how the service pages, as far as its answers have shown it (docs/PROOFS.md, appendix A).
 * It is an immutable value. Each function below returns the profile after one more observation. The books store it for each
 * report and requested page size, and an answer that contradicts it makes the walk learn it again.
 */
export interface PagingProfile {
  /** Number of the first page. Undefined until a probe has shown it; page 1 is requested until then. */
  readonly firstNumber: 0 | 1 | undefined
  /** Rows of the shortest page that more rows followed. Less than was requested: the service clamps `pageSize`. */
  readonly fullPageRows: number | undefined
  /** Rows of the longest page. The service does not cut pages shorter than that. */
  readonly longestPageRows: number
  /** Rows of the longest page of this run. It is not stored, since the service may lower its clamp between two runs. */
  readonly longestOfRun: number
  /** What the page behind the last one showed, of a trail whose entries look alike. It is not stored. */
  readonly behindLastPage?: 'nothing' | 'rows' | undefined
}

export const UNKNOWN_PAGING: PagingProfile = {
  firstNumber: undefined,
  fullPageRows: undefined,
  longestPageRows: 0,
  longestOfRun: 0,
}

/** Returns whether both profiles would be stored alike. */
export const isSameProfile = (a: PagingProfile, b: PagingProfile): boolean =>
  a.firstNumber === b.firstNumber && a.fullPageRows === b.fullPageRows && a.longestPageRows === b.longestPageRows

/** Returns the profile after any page of the usual size. */
export const sawPage = (profile: PagingProfile, rows: number): PagingProfile =>
  rows <= profile.longestOfRun ? profile : { ...profile, longestOfRun: rows }

/** Returns the profile after a page of `rows` that another page with new rows followed. */
export const sawFullPage = (profile: PagingProfile, rows: number): PagingProfile => ({
  ...profile,
  fullPageRows: Math.min(profile.fullPageRows ?? rows, rows),
  longestPageRows: Math.max(profile.longestPageRows, rows),
})

/** Returns the profile after a page of `rows` that was surely the last. */
export const sawLastPage = (profile: PagingProfile, rows: number): PagingProfile => ({
  ...profile,
  longestPageRows: Math.max(profile.longestPageRows, rows),
})

/** Returns the profile after rows behind a page of `rows`, although longer pages were known: the service has lowered its clamp. */
export const sawLoweredClamp = (profile: PagingProfile, rows: number): PagingProfile => ({
  ...profile,
  fullPageRows: rows,
  longestPageRows: rows,
})

/** Returns the profile after the first page was found, or was refused under the number that was known (undefined). */
export const sawFirstNumber = (profile: PagingProfile, firstNumber: 0 | 1 | undefined): PagingProfile => ({
  ...profile,
  firstNumber,
})

/** Returns what two walks that knew nothing of each other have seen together. */
export const bothSeen = (a: PagingProfile, b: PagingProfile): PagingProfile => ({
  ...(b.fullPageRows === undefined ? a : sawFullPage(a, b.fullPageRows)),
  longestPageRows: Math.max(a.longestPageRows, b.longestPageRows),
  firstNumber: a.firstNumber ?? b.firstNumber,
})

/** Returns the rows below which a response surely has no next page; 0 while nothing is known. */
export const surelyLastBelow = (profile: PagingProfile): number => profile.fullPageRows ?? profile.longestPageRows

/**
 * Returns whether a response of `rows` holds everything when `asked` rows were requested. A response of `asked` rows never
 * does, however long pages have been: a service that raised the page size may go back to the requested one.
 */
export const holdsEverything = (profile: PagingProfile, rows: number, asked: number): boolean =>
  rows === 0 || rows < Math.min(surelyLastBelow(profile), asked)

/** Returns whether a response is longer than requested and than any page was: page 2 shows whether the service pages. */
export const mayBeUnpaged = ({ longestPageRows }: PagingProfile, rows: number, asked: number): boolean =>
  rows > Math.max(asked, longestPageRows)

/**
 * Returns whether a response that may have a next page is as long as pages are known to be. A shorter one may follow a row
 * that came while page 2 was read, so cutting it finer again and again would cost more than its next page.
 */
export const isFullPage = ({ fullPageRows, longestPageRows }: PagingProfile, rows: number): boolean =>
  fullPageRows !== undefined && rows >= longestPageRows

/** Returns the rows to plan a response for. */
export const rowsAPage = ({ fullPageRows, longestPageRows }: PagingProfile, asked: number): number =>
  fullPageRows === undefined ? asked : Math.min(Math.max(fullPageRows, longestPageRows), asked)

/** No service is expected to lower its clamp to less than this share of the requested rows. */
const CLAMP_SHARE_MIN = 0.05

/**
 * What page 1 of a bare array says of the rest: it is `all`; it is all unless the service lowered its clamp since the
 * profile was learnt, or if the service does not page at all, which page 2 shows; or the rest is `unknown`.
 */
export type Claim = 'all' | 'all unless clamped' | 'all if unpaged' | 'unknown'

export interface FirstPage {
  /** Different rows. A row that the page contains twice counts once. */
  readonly rows: number
  readonly rowsSent: number
  readonly rowsAsked: number
}

/**
 * Returns the claim of page 1. `checks`: the stored profile may be outdated, so a response is only believed when another
 * page of this run was longer. Responses of a few rows, as most runs bring, are believed.
 */
export function claimOf(profile: PagingProfile, { rows, rowsSent, rowsAsked }: FirstPage, checks: boolean): Claim {
  if (mayBeUnpaged(profile, rows, rowsAsked)) return 'all if unpaged'
  if (!holdsEverything(profile, rows, rowsAsked)) return 'unknown'
  const mayBeClamped = rowsSent >= rowsAsked * CLAMP_SHARE_MIN && rowsSent >= profile.longestOfRun
  return checks && mayBeClamped ? 'all unless clamped' : 'all'
}

/** What one walk over a slice has seen, as one value. Each page replaces the value (spec §4, rule 2). */
import type { SyncError } from '../errors.ts'
import { KeySet } from './keySet.ts'

/** How a walk was proven to have missed no row (docs/PROOFS.md). Stored in `tidemark.windows.proof`. */
export type Proof = 'single' | 'total' | 'agreed'

/** A page as the service returned it. */
export interface WalkPage {
  readonly pageNumber: number
  readonly rowCount: number
  readonly keys: readonly (number | string)[]
  readonly keyless?: readonly string[]
  readonly totalCount?: number | undefined
  readonly pageSize?: number | undefined
  /** Whether the page repeats the page before it. Some services repeat their last page. */
  readonly isRepeat?: boolean
  readonly refusal?: SyncError | undefined
}

/** What a walk keeps of a page. */
interface SeenPage extends Pick<WalkPage, 'pageNumber' | 'totalCount' | 'pageSize'> {
  /** A row that appears twice on the page counts once, but twice in `rowsSent`. */
  readonly rows: number
  readonly rowsSent: number
  /** Rows that were on no earlier page. */
  readonly newRows: number
}

export interface Walk {
  readonly rowsAsked: number
  readonly usualPageSize: number
  readonly first: SeenPage
  /** The page with the highest number, without repeated and refused pages. */
  readonly last: SeenPage
  /** The page that was read last. A repeated or refused page has no `rows`. */
  readonly latest: SeenPage
  /** Sums over all pages. A repeated page counts in `pages` and `repeats` only, and a refused page in none. */
  readonly pages: number
  readonly rows: number
  readonly rowsSent: number
  readonly distinct: number
  /** Number of rows that were already on another page: rows have moved, or whole pages repeat. */
  readonly repeats: number
  readonly longestPageRows: number
  /** The least and the greatest total. They differ if rows were added or deleted during the walk. */
  readonly totals: { readonly least: number; readonly greatest: number } | undefined
  readonly refusal: SyncError | undefined
  readonly page2Repeats: boolean
  readonly hasEmptyPage: boolean
  readonly hasPageWithoutNewRows: boolean
  readonly keys: KeySet
  /** Maps the text of each row without a key to the pages with this row. A page is a string of its number and keys. */
  readonly keyless: Map<string, Set<string>>
}

const NO_PAGE: SeenPage = { pageNumber: 0, rows: 0, rowsSent: 0, newRows: 0 }

export const beginWalk = (rowsAsked: number, usualPageSize = rowsAsked): Walk => ({
  rowsAsked,
  usualPageSize,
  first: NO_PAGE,
  last: NO_PAGE,
  latest: NO_PAGE,
  pages: 0,
  rows: 0,
  rowsSent: 0,
  distinct: 0,
  repeats: 0,
  longestPageRows: 0,
  totals: undefined,
  refusal: undefined,
  page2Repeats: false,
  hasEmptyPage: false,
  hasPageWithoutNewRows: false,
  keys: new KeySet(),
  keyless: new Map(),
})

/** Returns the total of all pages, or undefined if pages have no total or different totals. */
export const totalOf = ({ totals }: Walk): number | undefined =>
  totals?.least === totals?.greatest ? totals?.least : undefined

/** Returns the walk after one more page. The sets of rows grow in place, because copies of millions of keys are slow. */
export function afterPage(walk: Walk, page: WalkPage): Walk {
  if (page.refusal !== undefined) return afterRefusal(walk, page.refusal)
  if (page.isRepeat === true) return afterRepeat(walk, page)
  return afterRows(walk, page, addRows(walk, page))
}

const afterRefusal = (walk: Walk, refusal: SyncError): Walk => ({
  ...walk,
  latest: NO_PAGE,
  refusal: walk.refusal ?? refusal,
  hasEmptyPage: true,
  hasPageWithoutNewRows: true,
})

function afterRepeat(walk: Walk, { pageNumber, rowCount, totalCount }: WalkPage): Walk {
  const isTotalMet = walk.rows === totalCount && totalOf(walk) === totalCount
  const isBehindLast = totalCount === undefined ? pageNumber !== 2 : isTotalMet
  return {
    ...walk,
    latest: { ...NO_PAGE, pageNumber, rowsSent: rowCount },
    pages: walk.pages + 1,
    repeats: isBehindLast ? walk.repeats : walk.repeats + rowCount,
    totals: totalsWith(walk, totalCount),
    page2Repeats: walk.page2Repeats || pageNumber === 2,
    hasPageWithoutNewRows: true,
  }
}

function afterRows(walk: Walk, page: WalkPage, { rows, newRows }: Pick<SeenPage, 'rows' | 'newRows'>): Walk {
  const { pageNumber, rowCount: rowsSent, totalCount, pageSize } = page
  const seen = { pageNumber, rows, rowsSent, newRows, totalCount, pageSize }
  return {
    ...walk,
    first: pageNumber === 1 ? seen : walk.first,
    last: pageNumber > walk.last.pageNumber ? seen : walk.last,
    latest: seen,
    pages: walk.pages + 1,
    rows: walk.rows + rows,
    rowsSent: walk.rowsSent + rowsSent,
    distinct: walk.distinct + newRows,
    repeats: walk.repeats + rows - newRows,
    longestPageRows: Math.max(walk.longestPageRows, rowsSent),
    totals: totalsWith(walk, totalCount),
    hasEmptyPage: walk.hasEmptyPage || rowsSent === 0,
    hasPageWithoutNewRows: walk.hasPageWithoutNewRows || newRows === 0,
  }
}

function totalsWith({ totals }: Walk, total: number | undefined): Walk['totals'] {
  if (total === undefined) return totals
  const { least, greatest } = totals ?? { least: total, greatest: total }
  return { least: Math.min(least, total), greatest: Math.max(greatest, total) }
}

/** Adds the page's rows to the rows of the walk. Rows without a key count as new. */
function addRows({ keys: known, keyless: knownKeyless }: Walk, page: WalkPage): Pick<SeenPage, 'rows' | 'newRows'> {
  const { pageNumber, rowCount, keys, keyless = [] } = page
  const newKeys = keys.filter((key) => known.add(key)).length
  const twice = newKeys === keys.length ? 0 : keys.length - new Set(keys).size
  const place = keyless.length === 0 ? '' : `${pageNumber}: ${keys.map(String).toSorted().join()}`
  for (const text of keyless) knownKeyless.set(text, (knownKeyless.get(text) ?? new Set()).add(place))
  return { rows: rowCount - twice, newRows: rowCount - keys.length + newKeys }
}

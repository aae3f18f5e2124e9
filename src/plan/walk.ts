/** Records the pages of one walk over a slice, and works out what these pages prove (spec §4, rule 2). */
import type { SyncError } from '../errors.ts'
import { KeySet } from './keySet.ts'
import type { PagingProfile } from './pagingProfile.ts'

export interface WalkPage {
  readonly pageNumber: number
  readonly rowCount: number
  readonly keys: readonly (number | string)[]
  readonly keyless?: readonly string[]
  readonly totalCount?: number | undefined
  readonly pageSize?: number | undefined
  readonly isRepeat?: boolean
  readonly refusal?: SyncError | undefined
}

/** How a walk was proven to have missed no row (docs/PROOFS.md). Stored in `tidemark.windows.proof`. */
export type Proof = 'single' | 'total' | 'agreed'

export interface WalkKind {
  readonly keyed: boolean
  readonly rowsAsked: number
  readonly usualPageSize: number
}

export class Walk {
  readonly keys = new KeySet()
  readonly rowsAsked: number
  pages = 0
  /** A row that appears twice on the same page counts once, but twice in `rowsSent`. */
  rows = 0
  rowsSent = 0
  /** Number of rows that were already on another page: rows have moved, or whole pages repeat. */
  repeats = 0
  /** Rows of the latest page that were on no earlier page. */
  latestNewRows = 0
  /** Number of distinct rows on page 1, and on the page with the highest number. */
  firstPageRows = 0
  lastPageRows = 0
  firstTotal: number | undefined
  /** Number of rows, with duplicates, on page 1 and on the latest page. */
  firstPageRowsSent = 0
  latestPageRowsSent = 0
  longestPageRows = 0
  page2Repeats = false
  refusal: SyncError | undefined
  readonly #kind: WalkKind
  readonly #totals = new Set<number>()
  #pageSizeOfAnswer: number | undefined
  #highest = 0
  #highestCounted = 0
  #withoutKey = 0
  /** Maps the text of each row without a key to the pages with this row. A page is a string of its number and keys. */
  readonly #keyless = new Map<string, Set<string>>()
  #reachedEnd = false
  #sawEmptyPage = false

  constructor(kind: WalkKind) {
    this.#kind = kind
    this.rowsAsked = kind.rowsAsked
  }

  get totalCount(): number | undefined {
    return this.#totals.size === 1 ? [...this.#totals][0] : undefined
  }

  get leastTotal(): number {
    return this.#totals.size === 0 ? 0 : Math.min(...this.#totals)
  }

  get distinct(): number {
    return this.#kind.keyed ? this.keys.size + this.#withoutKey : this.rows
  }

  get pageRows(): number {
    return Math.max(1, Math.min(this.#pageSizeOfAnswer ?? this.firstPageRows, this.firstPageRows))
  }

  saw(page: WalkPage): void {
    const { pageNumber, rowCount } = page
    const isRepeat = page.isRepeat === true
    if (isRepeat && pageNumber === 2) this.page2Repeats = true
    if (page.refusal !== undefined) this.latestNewRows = 0
    else if (isRepeat) this.#sawAgain(page)
    else this.#sawRows(page)
    this.latestPageRowsSent = rowCount
    this.#highest = Math.max(this.#highest, pageNumber)
    this.refusal ??= page.refusal
    if (rowCount === 0) this.#sawEmptyPage = true
    if (this.latestNewRows === 0) this.#reachedEnd = true
  }

  #sawRows(page: WalkPage): void {
    const withoutKey = this.#kind.keyed ? page.rowCount - page.keys.length : 0
    const fresh = page.keys.filter((key) => this.keys.add(key)).length
    const twice = fresh === page.keys.length ? 0 : page.keys.length - new Set(page.keys).size
    const rowCount = page.rowCount - twice
    if (page.pageNumber === 1) {
      this.firstPageRows = rowCount
      this.firstPageRowsSent = page.rowCount
      this.firstTotal = page.totalCount
      this.#pageSizeOfAnswer = page.pageSize
    }
    if (page.pageNumber > this.#highestCounted) {
      this.#highestCounted = page.pageNumber
      this.lastPageRows = rowCount
    }
    this.pages += 1
    this.longestPageRows = Math.max(this.longestPageRows, page.rowCount)
    this.rows += rowCount
    this.rowsSent += page.rowCount
    this.repeats += page.keys.length - twice - fresh
    this.#withoutKey += withoutKey
    this.#sawKeyless(page)
    this.latestNewRows = this.#kind.keyed ? withoutKey + fresh : rowCount
    if (page.totalCount !== undefined) this.#totals.add(page.totalCount)
  }

  #sawKeyless({ pageNumber, keys, keyless = [] }: WalkPage): void {
    if (keyless.length === 0) return
    const place = `${pageNumber}: ${keys.map(String).toSorted().join()}`
    for (const text of keyless) {
      const places = this.#keyless.get(text) ?? new Set()
      this.#keyless.set(text, places.add(place))
    }
  }

  /** Records a page that repeats the page before it. Some services repeat their last page. */
  #sawAgain({ rowCount, totalCount }: WalkPage): void {
    const isBehindLast =
      totalCount === undefined ? this.#highest !== 1 : this.rows === totalCount && totalCount === this.totalCount
    this.pages += 1
    this.latestNewRows = 0
    if (!isBehindLast) this.repeats += rowCount
    if (totalCount !== undefined) this.#totals.add(totalCount)
  }

  get lastPageByTotal(): number {
    const total = this.totalCount ?? this.rows
    return this.firstPageRows === 0 ? 1 : Math.max(1, Math.ceil(total / this.pageRows))
  }

  get meetsTotal(): boolean {
    return this.totalCount !== undefined && this.repeats === 0 && this.hasExactly(this.totalCount)
  }

  /** Whether rows moved between pages during the walk. Repeated pages do not count, because services repeat pages. */
  get hasMoved(): boolean {
    const { firstTotal, repeats, firstPageRows } = this
    return firstTotal !== undefined && (this.#totals.size > 1 || (repeats > 0 && repeats < firstPageRows))
  }

  hasExactly(total: number): boolean {
    return this.distinct === total && [...this.#keyless.values()].every((places) => places.size === 1)
  }

  get isLastPageFull(): boolean {
    return this.lastPageRows > 0 && this.lastPageRows >= (this.#pageSizeOfAnswer ?? this.firstPageRows)
  }

  agreesWith(other: Walk): boolean {
    if (this.rows !== other.rows || this.distinct !== other.distinct) return false
    if (this.keys.size !== other.keys.size || this.#keyless.size !== other.#keyless.size) return false
    for (const key of this.keys) if (!other.keys.has(key)) return false
    return [...this.#keyless].every(([text, places]) => {
      const others = other.#keyless.get(text)
      if (others === undefined || places.size !== others.size) return false
      return places.size === 1 || [...places].every((place) => others.has(place))
    })
  }

  #fullRows({ fullPageRows, longestPageRowsOfRun }: PagingProfile): number {
    const { rowsAsked } = this
    if (fullPageRows === undefined || rowsAsked !== this.#kind.usualPageSize) return rowsAsked
    return Math.min(rowsAsked, Math.max(fullPageRows, longestPageRowsOfRun))
  }

  /** Returns whether a next page may exist, even if the total has been reached. */
  endsFull(profile: PagingProfile): boolean {
    return this.isLastPageFull || (this.lastPageRows > 0 && this.lastPageRows >= this.#fullRows(profile))
  }

  isAtEnd(profile: PagingProfile): boolean {
    return this.#reachedEnd || (this.meetsTotal && !this.endsFull(profile))
  }

  /** Returns whether the walk ended without repeated rows, which are allowed if the service ignores page numbers. */
  endedWithoutRepeats(profile: PagingProfile): boolean {
    return this.isAtEnd(profile) && (this.repeats === 0 || this.#isUnpaged(profile))
  }

  #isUnpaged(profile: PagingProfile): boolean {
    const { firstPageRows, rowsAsked } = this
    const hasMore = this.isLastPageFull && (this.totalCount ?? 0) > this.distinct
    if (this.#sawEmptyPage || this.distinct !== firstPageRows || hasMore) return false
    const { usualPageSize } = this.#kind
    // If a larger page was requested and page 1 has at most the usual length, the service may have shortened page 1.
    return (
      firstPageRows > rowsAsked ||
      (firstPageRows < this.#fullRows(profile) && (rowsAsked <= usualPageSize || firstPageRows > usualPageSize))
    )
  }

  refusalOfNeededPage(profile: PagingProfile): SyncError | undefined {
    const longest = this.pages > 1 ? this.firstPageRows : this.rowsAsked
    const mayFollow =
      this.totalCount === undefined ? this.lastPageRows >= Math.min(this.#fullRows(profile), longest) : !this.meetsTotal
    return mayFollow ? this.refusal : undefined
  }
}

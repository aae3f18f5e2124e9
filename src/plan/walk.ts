/**
 * What one walk over the pages of a slice has seen, and what follows from its pages alone (spec §4, rule 2). The pages are
 * read elsewhere and passed in. src/plan/judge.ts decides what the walks of a slice prove.
 */
import type { SyncError } from '../errors.ts'
import { KeySet } from './keySet.ts'
import type { PagingProfile } from './pagingProfile.ts'

export interface PageSeen {
  readonly pageNumber: number
  readonly rowCount: number
  readonly keys: readonly (number | string)[]
  /** Texts of the rows that carry no key. */
  readonly keyless?: readonly string[]
  readonly totalCount?: number | undefined
  readonly pageSize?: number | undefined
  /** The page before has the same rows in the same order. */
  readonly isRepeat?: boolean
  /** The error with which the service refused the page, which counts as empty. */
  readonly refusal?: SyncError | undefined
}

/**
 * How a window is known to be complete; stored in `tidemark.windows.proof`. `single`: one response holds everything.
 * `total`: there are as many distinct keys as every page said, or as the place of the last page leaves room for. `agreed`:
 * two walks to the end brought the same keys.
 */
export type Proof = 'single' | 'total' | 'agreed'

export interface WalkKind {
  /** Rows carry a key of their own; audit entries do not. */
  readonly keyed: boolean
  /** Rows a page that this walk requests. */
  readonly rowsAsked: number
  /** Rows a page that walks request unless there is a reason for another size. */
  readonly rowsUsual: number
}

export class Walk {
  readonly keys = new KeySet()
  readonly rowsAsked: number
  pages = 0
  /** A row that is twice on one page counts once: nothing moved. */
  rows = 0
  /** Rows whose key came before in this walk, on another page. */
  repeats = 0
  /** New rows of the page that was seen last. */
  freshOnLastPage = 0
  /** Different rows of the first page, and of the page with the highest number. */
  firstRows = 0
  lastRows = 0
  /** The total on page 1. */
  firstTotal: number | undefined
  /** Rows as they were sent, of the first page and of the one that was seen last. */
  firstRowsSent = 0
  lastRowsSent = 0
  /** Rows of the longest page. */
  mostRows = 0
  /** The second page was the first one once more. */
  isShownAgain = false
  /** The first refusal. */
  refusal: SyncError | undefined
  readonly #kind: WalkKind
  readonly #totals = new Set<number>()
  #pageSizeOfAnswer: number | undefined
  #highest = 0
  #highestCounted = 0
  #withoutKey = 0
  /** Rows without a key, by their text, with the page on which each was seen first. */
  readonly #keyless = new Map<string, number>()
  #keylessAgain = 0
  #reachedEnd = false
  #sawEmptyPage = false

  constructor(kind: WalkKind) {
    this.#kind = kind
    this.rowsAsked = kind.rowsAsked
  }

  /** The total on the pages, when they agree. */
  get totalCount(): number | undefined {
    return this.#totals.size === 1 ? [...this.#totals][0] : undefined
  }

  /** Distinct rows: by key, and those without a key one by one. */
  get distinct(): number {
    return this.#kind.keyed ? this.keys.size + this.#withoutKey : this.rows
  }

  /** Rows of a full page: the page size of the answer counts, not the requested one, and the rows that came even more. */
  get pageRows(): number {
    return Math.max(1, Math.min(this.#pageSizeOfAnswer ?? this.firstRows, this.firstRows))
  }

  saw(page: PageSeen): void {
    const { pageNumber, rowCount } = page
    const isRepeat = page.isRepeat === true
    if (isRepeat && pageNumber === 2) this.isShownAgain = true
    if (page.refusal !== undefined) this.freshOnLastPage = 0
    else if (isRepeat) this.#sawAgain(page)
    else this.#sawRows(page)
    this.lastRowsSent = rowCount
    this.#highest = Math.max(this.#highest, pageNumber)
    this.refusal ??= page.refusal
    if (rowCount === 0) this.#sawEmptyPage = true
    if (this.freshOnLastPage === 0) this.#reachedEnd = true
  }

  #sawRows(page: PageSeen): void {
    const withoutKey = this.#kind.keyed ? page.rowCount - page.keys.length : 0
    const fresh = page.keys.filter((key) => this.keys.add(key)).length
    const twice = fresh === page.keys.length ? 0 : page.keys.length - new Set(page.keys).size
    const rowCount = page.rowCount - twice
    if (page.pageNumber === 1) {
      this.firstRows = rowCount
      this.firstRowsSent = page.rowCount
      this.firstTotal = page.totalCount
      this.#pageSizeOfAnswer = page.pageSize
    }
    if (page.pageNumber > this.#highestCounted) {
      this.#highestCounted = page.pageNumber
      this.lastRows = rowCount
    }
    this.pages += 1
    this.mostRows = Math.max(this.mostRows, page.rowCount)
    this.rows += rowCount
    this.repeats += page.keys.length - twice - fresh
    this.#withoutKey += withoutKey
    for (const text of page.keyless ?? []) {
      const first = this.#keyless.get(text) ?? page.pageNumber
      if (first !== page.pageNumber) this.#keylessAgain += 1
      this.#keyless.set(text, first)
    }
    this.freshOnLastPage = this.#kind.keyed ? withoutKey + fresh : rowCount
    if (page.totalCount !== undefined) this.#totals.add(page.totalCount)
  }

  /**
   * Some services answer a number behind the last page with the last page. Its rows count as repeats unless the rows before
   * meet the total. Without a total, page 1 that comes again may as well mean that page numbers are ignored.
   */
  #sawAgain({ rowCount, totalCount }: PageSeen): void {
    const isBehindLast =
      totalCount === undefined ? this.#highest !== 1 : this.rows === totalCount && totalCount === this.totalCount
    this.pages += 1
    this.freshOnLastPage = 0
    if (!isBehindLast) this.repeats += rowCount
    if (totalCount !== undefined) this.#totals.add(totalCount)
  }

  /** Number of the last page that the total calls for, after the first page. */
  get pagesCalledFor(): number {
    const total = this.totalCount ?? this.rows
    return this.firstRows === 0 ? 1 : Math.max(1, Math.ceil(total / this.pageRows))
  }

  /**
   * Whether the total is met exactly: every row came, none twice, and every page has the same total. A row without a key
   * whose text was on another page too may have come twice, in the place of a row that never came: then it is not met.
   */
  get meetsTotal(): boolean {
    return this.totalCount !== undefined && this.repeats === 0 && this.brings(this.totalCount)
  }

  /** Whether `total` different rows came. */
  brings(total: number): boolean {
    return this.#keylessAgain === 0 && this.distinct === total
  }

  /** Whether the last page is full by the page size of the answer, or else as long as the first page. */
  get isLastPageFull(): boolean {
    return this.lastRows > 0 && this.lastRows >= (this.#pageSizeOfAnswer ?? this.firstRows)
  }

  /** Whether both walks brought the same keys. */
  agreesWith(other: Walk): boolean {
    if (this.rows !== other.rows || this.distinct !== other.distinct) return false
    for (const key of this.keys) if (!other.keys.has(key)) return false
    return true
  }

  /** As many rows as were requested, or as pages had that others followed. */
  #fullRows({ fullPageRows }: PagingProfile): number {
    const { rowsAsked } = this
    return Math.min(rowsAsked, rowsAsked === this.#kind.rowsUsual ? (fullPageRows ?? rowsAsked) : rowsAsked)
  }

  /**
   * Whether rows may follow the last page although the total does not count them: the page is full, has as many rows as
   * were requested, or as pages had that others followed.
   */
  endsFull(profile: PagingProfile): boolean {
    return this.isLastPageFull || (this.lastRows > 0 && this.lastRows >= this.#fullRows(profile))
  }

  /** Whether no page can follow: the last one brought nothing new, or the total is met by a page with room left. */
  isAtEnd(profile: PagingProfile): boolean {
    return this.#reachedEnd || (this.meetsTotal && !this.endsFull(profile))
  }

  /** Whether the walk came to its end without a row twice, or read all there is of a service that ignores page numbers. */
  isWhole(profile: PagingProfile): boolean {
    return this.isAtEnd(profile) && (this.repeats === 0 || this.#isUnpaged)
  }

  /** Every page repeats the first one, which had room for more or had more rows than were requested: it is all there is. */
  get #isUnpaged(): boolean {
    const { firstRows, rowsAsked } = this
    // A full page whose total counts more rows is one of a service that clamps the page size as well.
    const tellsOfMore = this.isLastPageFull && (this.totalCount ?? 0) > this.distinct
    if (this.#sawEmptyPage || this.distinct !== firstRows || tellsOfMore) return false
    const { rowsUsual } = this.#kind
    // A larger page than usual counts only if it is larger: otherwise it may be cut as the usual one.
    return firstRows > rowsAsked || (firstRows < rowsAsked && (rowsAsked <= rowsUsual || firstRows > rowsUsual))
  }

  /** The refusal of a page that may have rows: the total misses some or, without a total, the page before is full. */
  cutOff(profile: PagingProfile): SyncError | undefined {
    const longest = this.pages > 1 ? this.firstRows : this.rowsAsked
    const mayFollow =
      this.totalCount === undefined ? this.lastRows >= Math.min(this.#fullRows(profile), longest) : !this.meetsTotal
    return mayFollow ? this.refusal : undefined
  }
}

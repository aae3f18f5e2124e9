/**
 * What a walk has seen and what that proves (spec §4, rule 2; product contract §5.4). Pure bookkeeping: the story
 * fetches pages and feeds them in. The argument for each proof stands in docs/PROOFS.md.
 */
import { KeySet } from './keySet.ts'

export interface PageSeen {
  readonly pageNumber: number
  readonly rowCount: number
  readonly keys: readonly (number | string)[]
  /** Texts of the rows that carry no key. */
  readonly keyless?: readonly string[]
  readonly totalCount?: number | undefined
  readonly pageSize?: number | undefined
}

/**
 * How a window is known to be complete; kept in `tidemark.windows.proof`. `single`: one response holds everything.
 * `total`: as many distinct keys as every page said, none twice,
 * or as the place of the last page leaves room for. `agreed`: two walks to the end brought the same keys.
 */
export type Proof = 'single' | 'total' | 'agreed'

export class WalkState {
  readonly keys = new KeySet()
  pages = 0
  /** A row that stands twice on one page counts once: nothing moved, the page just says it twice. */
  rows = 0
  /** Rows whose key had come before in this walk, on another page. */
  repeats = 0
  /** Rows of the page seen last that were new. */
  freshOnLastPage = 0
  /** Rows on the first page. */
  firstRows = 0
  /** Rows on the page with the highest number. */
  lastRows = 0
  /** Rows on the longest page. */
  mostRows = 0
  readonly #totals = new Set<number>()
  readonly #keyed: boolean
  #pageSizeTold: number | undefined
  #highest = 0
  #withoutKey = 0
  /** Rows without a key, by their text, and the page on which each was seen first. */
  readonly #keyless = new Map<string, number>()
  #keylessAgain = 0

  /** `keyed`: rows carry a key of their own; audit entries don't. */
  constructor(keyed: boolean) {
    this.#keyed = keyed
  }

  /** The total that the pages told, when they agree. */
  get totalCount(): number | undefined {
    return this.#totals.size === 1 ? [...this.#totals][0] : undefined
  }

  /** Distinct rows: by key, and those without a key one by one. */
  get distinct(): number {
    return this.#keyed ? this.keys.size + this.#withoutKey : this.rows
  }

  /** Rows that a full page holds: the answer's page size counts, not the question's, and what really came even more. */
  get pageRows(): number {
    return Math.max(1, Math.min(this.#pageSizeTold ?? this.firstRows, this.firstRows))
  }

  saw(page: PageSeen): void {
    const withoutKey = this.#keyed ? page.rowCount - page.keys.length : 0
    const fresh = page.keys.filter((key) => this.keys.add(key)).length
    const twice = fresh === page.keys.length ? 0 : page.keys.length - new Set(page.keys).size
    const rowCount = page.rowCount - twice
    if (page.pageNumber === 1) {
      this.firstRows = rowCount
      this.#pageSizeTold = page.pageSize
    }
    if (page.pageNumber > this.#highest) {
      this.#highest = page.pageNumber
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
    this.freshOnLastPage = this.#keyed ? withoutKey + fresh : rowCount
    if (page.totalCount !== undefined) this.#totals.add(page.totalCount)
  }

  /** A page was refused. */
  sawNothing(): void {
    this.freshOnLastPage = 0
  }

  /** The page before came once more: behind the last page that says nothing, elsewhere its rows count as repeats. */
  sawAgain(page: PageSeen, isBehindLast: boolean): void {
    this.pages += 1
    this.freshOnLastPage = 0
    if (!isBehindLast) this.repeats += page.rowCount
    if (page.totalCount !== undefined) this.#totals.add(page.totalCount)
  }

  /** Number of the last page that the total calls for, after the first page. */
  get pagesCalledFor(): number {
    const total = this.totalCount ?? this.rows
    return this.firstRows === 0 ? 1 : Math.max(1, Math.ceil(total / this.pageRows))
  }

  /**
   * Whether the total is met exactly: every row came, none twice, and every page told the same total. A row without a
   * key whose like stood on another page may be the same one, in the place of a row that never came: then nothing is
   * met.
   */
  get meetsTotal(): boolean {
    return this.totalCount !== undefined && this.repeats === 0 && this.brings(this.totalCount)
  }

  /** Whether so many different rows came. */
  brings(total: number): boolean {
    return this.#keylessAgain === 0 && this.distinct === total
  }

  /**
   * Whether the last page came full, so that rows could follow which the total doesn't count: then the next page is
   * asked for too. The page size told by the answer decides; without one, every page of the first one's length is full.
   */
  get endsFull(): boolean {
    return this.lastRows > 0 && this.lastRows >= (this.#pageSizeTold ?? this.firstRows)
  }

  /** Whether the last page came full and all pages count more rows than came: they say themselves that there is more. */
  get tellsOfMore(): boolean {
    return this.endsFull && (this.totalCount ?? 0) > this.distinct
  }

  /** Whether both walks brought the same keys. */
  agreesWith(other: WalkState): boolean {
    if (this.rows !== other.rows || this.distinct !== other.distinct) return false
    for (const key of this.keys) if (!other.keys.has(key)) return false
    return true
  }
}

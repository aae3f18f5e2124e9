/**
 * What a walk has seen and what that proves (spec §4, rule 2; product contract §5.4). Pure bookkeeping: the story
 * fetches pages and feeds them in; this file says which page to ask next and whether the walk is complete.
 */
import { KeySet } from './keySet.ts'

export interface PageSeen {
  readonly pageNumber: number
  readonly rowCount: number
  readonly keys: readonly (number | string)[]
  readonly totalCount?: number | undefined
  readonly pageSize?: number | undefined
}

/** How a walk is known to be complete; kept in `tidemark.windows.proof`. */
export type Proof = 'single' | 'total' | 'exhausted'

export type WalkVerdict =
  | { readonly kind: 'proven'; readonly proof: Proof }
  /** Something moved between the pages, or the answers disagree: walk again. */
  | { readonly kind: 'moved'; readonly why: string }

export class WalkState {
  readonly keys = new KeySet()
  pages = 0
  rows = 0
  /** Rows whose key had come before in this walk. */
  repeats = 0
  /** Rows of the page seen last whose key was new. */
  freshOnLastPage = 0
  readonly #totals = new Set<number>()
  readonly #answer: 'envelope' | 'array'
  readonly #keyed: boolean
  #rowsOnFirstPage = 0
  #pageSizeTold: number | undefined

  constructor(answer: 'envelope' | 'array', keyed: boolean) {
    this.#answer = answer
    this.#keyed = keyed
  }

  /** The total that the pages told, when they agree. */
  get totalCount(): number | undefined {
    return this.#totals.size === 1 ? [...this.#totals][0] : undefined
  }

  saw(page: PageSeen): void {
    if (page.pageNumber === 1) {
      this.#rowsOnFirstPage = page.rowCount
      this.#pageSizeTold = page.pageSize
    }
    this.pages += 1
    this.rows += page.rowCount
    this.freshOnLastPage = this.#keyed ? 0 : page.rowCount
    for (const key of page.keys) {
      if (this.keys.add(key)) this.freshOnLastPage += 1
      else this.repeats += 1
    }
    if (page.totalCount !== undefined) this.#totals.add(page.totalCount)
  }

  /** Number of the last page that the first page's answer calls for; undefined where no total is told. */
  get pagesCalledFor(): number | undefined {
    const total = this.totalCount
    if (total === undefined) return undefined
    if (this.#rowsOnFirstPage === 0 || this.#rowsOnFirstPage >= total) return 1
    // The answer's page size counts, not the question's; a page that holds fewer rows than told counts as it is.
    const told = this.#pageSizeTold ?? this.#rowsOnFirstPage
    return Math.ceil(total / Math.min(Math.max(told, 1), this.#rowsOnFirstPage))
  }

  /** Whether the page seen last ends the walk of a bare array: it is empty, or it has nothing new. */
  get isExhausted(): boolean {
    return this.freshOnLastPage === 0
  }

  /** What the walk as a whole proves, once no further page is called for. `rejectedKeyless`: rows without a key. */
  verdict(rowsWithoutKey: number): WalkVerdict {
    if (this.#answer === 'array') return { kind: 'proven', proof: 'exhausted' }
    const total = this.totalCount
    const distinct = this.#keyed ? this.keys.size + rowsWithoutKey : this.rows
    if (total === undefined) return { kind: 'moved', why: 'the total changed between pages, or no page told one' }
    if (this.repeats > 0) return { kind: 'moved', why: `${this.repeats} rows came twice` }
    if (distinct !== total) return { kind: 'moved', why: `${distinct} rows came, the total says ${total}` }
    return { kind: 'proven', proof: this.pages === 1 ? 'single' : 'total' }
  }
}

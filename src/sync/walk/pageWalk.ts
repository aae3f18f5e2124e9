/**
 * One walk over the pages of one span: which pages came, whether the walk is at its end, and what was seen on the way.
 * What follows from that is decided in prove.ts.
 */
import type { SyncError } from '../../errors.ts'
import type { Instant } from '../../instant.ts'
import type { Observe } from '../../observe.ts'
import type { KeySet } from '../../plan/keySet.ts'
import type { PageSizes } from '../../plan/pageSizes.ts'
import type { Question } from '../../plan/question.ts'
import type { Overfull } from '../../plan/spanQueue.ts'
import type { Span } from '../../plan/spans.ts'
import { type Proof, WalkState } from '../../plan/walk.ts'
import type { ScannedPage } from '../../staging/scanPage.ts'
import { eachBounded } from './bounded.ts'
import type { FetchedPage, PageReader } from './pages.ts'

export interface ProveParts {
  readonly reader: PageReader
  /** The question for a span; undefined span: without bounds. */
  readonly ask: (span: Span | undefined) => Question
  /** Rows from here on may still be committed late. */
  readonly youngFrom: Instant
  /** Rows that one load takes; a span with more is cut, so that each part is a load of its own. */
  readonly loadRowsMax: number
  readonly walkAttemptsMax: number
  readonly concurrency: number
  /** Everything at once is only of use when a single response holds it. */
  readonly singleOnly?: boolean
  /** Where a span without a lower bound is cut, if it has to be. */
  readonly floor?: Instant
  readonly sizes: () => PageSizes
  readonly learn: (sizes: PageSizes) => void
  /** What was learnt of page sizes may be outdated: page 2 is looked at before a run relies on it. */
  readonly doubtsSizes?: boolean
  /** The span is walked page by page, twice, although it could be cut: its rows stand in one heap. */
  readonly walksHeap?: boolean
  /** That heap stands in its last µs. */
  readonly endsInHeap?: boolean
  /** An old span without a total may be walked page by page, up to where its last page lies. */
  readonly walksOld?: boolean
  /** Rows that the span probably holds, where an earlier read or the cut that made it told. */
  readonly rowsExpected?: number | undefined
  /** False: the span is never cut, since rows without a key would come twice where two parts meet (audit entries). */
  readonly cuts?: boolean
  /** Takes the pages of a walk that goes on; all of them come again when a walk is done again. */
  readonly keep: (page: FetchedPage) => Promise<void>
  /** Said before a walk is done again: what was kept of it comes again. */
  readonly restart?: () => Promise<void>
  readonly observe?: Observe | undefined
}

export type Proven = {
  readonly kind: 'proven'
  readonly proof: Proof
  readonly rows: number
  readonly totalCount: number | undefined
  readonly keys: KeySet
}

export type WalkOutcome =
  | Proven
  /** Cut it; `pages` were read of it: a sample of where its rows stand. */
  | { readonly kind: 'split'; readonly overfull: Omit<Overfull, 'stamps'>; readonly pages: readonly ScannedPage[] }

/** The same rows in the same order: by their keys, or by what they hold where they have none. */
function sameRows(a: ScannedPage, b: ScannedPage, keyed: boolean): boolean {
  if (!a.keys.every((key, n) => key === b.keys[n]) || a.keys.length !== b.keys.length) return false
  if (keyed) return a.rejected.every(({ text }, n) => text === b.rejected[n]?.text)
  return a.lines(0).equals(b.lines(0))
}

/** One walk over one span. */
export class Walk {
  readonly parts: ProveParts
  readonly span: Span | undefined
  /** Rows a page that are asked for. */
  readonly size: number
  readonly state: WalkState
  /** The second page was the first one once more. */
  isShownAgain = false
  /** Went on to an empty page, or one with nothing new. */
  #reachedEnd = false
  #sawEmptyPage = false
  #last: FetchedPage | undefined
  #lastHeld: FetchedPage | undefined
  #isAgain = false
  #refusal: SyncError | undefined
  /** Whether the page behind the last one that the total calls for is empty, once that was asked. */
  #endsWhereTold: Promise<boolean> | undefined

  constructor(parts: ProveParts, span: Span | undefined, size = parts.reader.pageSize) {
    this.parts = parts
    this.span = span
    this.size = size
    this.state = new WalkState(parts.reader.keyed)
  }

  /**
   * No page can follow: the last one was empty or brought nothing new, or the total is met by a page with room left.
   */
  get #isAtEnd(): boolean {
    return this.#reachedEnd || (this.state.meetsTotal && !this.endsFull)
  }

  /**
   * Whether the last page may be followed by rows that the total doesn't count: it is full, or has as many rows as were
   * asked for, or as pages that were followed by others, although it says that it has room left.
   */
  get endsFull(): boolean {
    const { state } = this
    return state.endsFull || (state.lastRows > 0 && state.lastRows >= this.#fullRows)
  }

  /** As many as were asked for, or as pages hold that were followed by others. */
  get #fullRows(): number {
    const { parts, size } = this
    const fullMin = size === parts.reader.pageSize ? parts.sizes().fullMin : undefined
    return Math.min(size, fullMin ?? size)
  }

  /** Came to its end without any row twice; a page that repeats another says that page numbers are ignored. */
  get isWhole(): boolean {
    return this.#isAtEnd && (this.state.repeats === 0 || this.#isUnpaged)
  }

  /** Every page repeats the first one, which had room for more, or had more than was asked for: it is all there is. */
  get #isUnpaged(): boolean {
    const { state, size } = this
    // A page that says that it is full, and that there are more, is one of a service that clamps the page size as well.
    if (this.#sawEmptyPage || state.distinct !== state.firstRows || state.tellsOfMore) return false
    const usual = this.parts.reader.pageSize
    // Where more than the usual size is asked for, a page that isn't larger than before may be cut as before.
    return state.firstRows > size || (state.firstRows < size && (size <= usual || state.firstRows > usual))
  }

  /** Why a page was refused that rows may stand on: they are missed by the total, or the page before is full. */
  get cutOff(): SyncError | undefined {
    const { state } = this
    const longest = state.pages > 1 ? state.firstRows : this.size
    const mayFollow =
      state.totalCount === undefined ? state.lastRows >= Math.min(this.#fullRows, longest) : !state.meetsTotal
    return mayFollow ? this.#refusal : undefined
  }

  /** The page with the highest number that has rows. */
  get lastHeld(): FetchedPage | undefined {
    return this.#lastHeld
  }

  /** Reads a page that is not of this walk yet. */
  look(number: number): Promise<FetchedPage> {
    return this.parts.reader.read(this.parts.ask(this.span), number, this.size)
  }

  /** One behind the first that is refused comes empty; `cutOff` says what that may mean. */
  async page(number: number): Promise<FetchedPage> {
    const { reader, ask } = this.parts
    const fetched = number === 1 ? await this.look(1) : await reader.readBehind(ask(this.span), number, this.size)
    this.took(fetched, this.#repeatsLast(fetched) && !(await this.#holdsAlike(fetched)))
    return fetched
  }

  /** The page is of this walk. */
  took(fetched: FetchedPage, isAgain = this.#repeatsLast(fetched)): void {
    const { state } = this
    const { page, number } = fetched
    const keyless = page.rejected.filter(({ key }) => key === undefined).map(({ text }) => text)
    const seen = { pageNumber: number, rowCount: page.rowCount, keys: page.keys, keyless, ...page.envelope }
    this.#isAgain = isAgain
    if (this.#isAgain && number === 2) this.isShownAgain = true
    if (fetched.refusal !== undefined) state.sawNothing()
    else if (this.#isAgain) state.sawAgain(seen, this.#isBehindLast(page.envelope.totalCount))
    else state.saw(seen)
    if (number > (this.#last?.number ?? 0)) this.#last = fetched
    if (page.rowCount > 0 && number > (this.#lastHeld?.number ?? 0)) this.#lastHeld = fetched
    if (page.rowCount === 0) this.#sawEmptyPage = true
    this.#refusal ??= fetched.refusal
    if (state.freshOnLastPage === 0) this.#reachedEnd = true
  }

  /**
   * Whether this is the page before once more. Pages of one row don't count, since any order may bring one twice: its key
   * says that it isn't new. One without a key has nothing else to say so.
   */
  #repeatsLast({ number, page }: FetchedPage): boolean {
    const { state, parts } = this
    const last = this.#last
    if (last === undefined || number !== last.number + 1 || page.rowCount === 0) return false
    const isOneRow = page.rowCount === 1 && state.firstRows === 1 && page.keys.length === 1
    if (page.rowCount !== last.page.rowCount || isOneRow) return false
    return sameRows(page, last.page, parts.reader.keyed)
  }

  /**
   * Whether a page that looks like the one before holds other rows that are all alike, as entries of one instant are. Rows
   * with a key never are. The total calls for them, and no page is behind its last one: so page numbers count.
   */
  async #holdsAlike({ page }: FetchedPage): Promise<boolean> {
    const { state, parts } = this
    if (parts.reader.keyed || state.rows + page.rowCount > (state.totalCount ?? 0)) return false
    this.#endsWhereTold ??= this.look(state.pagesCalledFor + 1).then((behind) => behind.page.rowCount === 0)
    return this.#endsWhereTold
  }

  /**
   * Some services answer a page number behind the last page with the last page: so where the rows that came are just as
   * many as every page said, this one too. Without a total, the first page that comes again may as well mean that the
   * page number is ignored.
   */
  #isBehindLast(told: number | undefined): boolean {
    const { totalCount, rows } = this.state
    return told === undefined ? this.#last?.number !== 1 : rows === told && told === totalCount
  }

  /** The pages that the first one's total calls for, side by side, then one more if the last came full. */
  async rest(): Promise<void> {
    const { parts, state } = this
    const last = state.pagesCalledFor
    const numbers = Array.from({ length: last - 1 }, (_, n) => n + 2)
    await eachBounded(numbers, parts.concurrency, async (number) => parts.keep(await this.page(number)))
    if (!state.meetsTotal || this.endsFull) await this.untilExhausted(last + 1)
  }

  /** Page `from` and those before it, side by side, until a row comes twice: then one has left, and others moved up. */
  async back(from: number): Promise<void> {
    const { parts, state } = this
    const numbers = Array.from({ length: from }, (_, n) => from - n)
    await eachBounded(numbers, parts.concurrency, async (number) => {
      if (state.repeats === 0) await parts.keep(await this.page(number))
    })
  }

  /** On, page by page, until one is empty or brings nothing new. */
  async untilExhausted(from: number): Promise<void> {
    for (let number = from; !this.#isAtEnd; number += 1) {
      const fetched = await this.page(number)
      if (!this.#isAgain) await this.parts.keep(fetched)
    }
  }

  split({ page }: FetchedPage, how: Omit<Overfull, 'pageRows' | 'stamps'> = {}, second?: FetchedPage): WalkOutcome {
    const pages = second === undefined ? [page] : [page, second.page]
    return { kind: 'split', pages, overfull: { ...how, pageRows: this.state.pageRows } }
  }

  proven(proof: Proof): Proven {
    const { rows, totalCount, keys } = this.state
    return { kind: 'proven', proof, rows, totalCount, keys }
  }
}

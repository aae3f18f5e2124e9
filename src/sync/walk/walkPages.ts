/** Reads the pages of one walk over a slice and records them. src/plan/judge.ts decides what follows from them. */
import type { Observe } from '../../observe.ts'
import type { WalkTerms } from '../../plan/slice.ts'
import type { Question } from '../../plan/question.ts'
import type { Span } from '../../plan/spans.ts'
import { Walk } from '../../plan/walk.ts'
import type { WalkPolicy } from '../../plan/walkPolicy.ts'
import type { ScannedPage } from '../../staging/scanPage.ts'
import { eachBounded } from './bounded.ts'
import type { FetchedPage, PageSource } from './pageSource.ts'

/** Receives the rows of a slice during the walk. They are kept when the slice is proven, and dropped otherwise. */
export interface RowSink {
  /** Marks the beginning of a slice. `drop` removes everything that was added after it. */
  begin(): Promise<void>
  add(page: FetchedPage): Promise<void>
  drop(): Promise<void>
}

/** The requests for a report's slices, the policy of the walk, and the target of the rows. */
export interface SliceSource {
  readonly pages: PageSource
  readonly question: Question
  /** The axis of time: modification (`window`) or creation. */
  readonly axis: 'window' | 'created'
  readonly policy: WalkPolicy
  readonly terms: WalkTerms
  /** The target of the rows; undefined: only the keys are needed. */
  readonly rows?: RowSink | undefined
  readonly concurrency: number
  readonly observe?: Observe | undefined
}

export const questionFor = ({ question, axis }: SliceSource, span: Span | undefined): Question =>
  span === undefined ? question : { ...question, [axis]: span }

/** One walk over one slice. */
export class PageWalk {
  readonly walk: Walk
  /** The page with the highest number that has rows. */
  lastWithRows: FetchedPage | undefined
  readonly #source: SliceSource
  readonly #question: Question
  #last: FetchedPage | undefined
  #isRepeat = false

  constructor(source: SliceSource, span: Span | undefined, rowsAsked = source.terms.pageSize) {
    const { keyed, pageSize } = source.terms
    this.#source = source
    this.#question = questionFor(source, span)
    this.walk = new Walk({ keyed, rowsAsked, rowsUsual: pageSize })
  }

  /** Reads a page without adding it to the walk. */
  look(number: number): Promise<FetchedPage> {
    return this.#source.pages.read(this.#question, number, this.walk.rowsAsked)
  }

  /** Reads a page and adds it. If a page after the first is refused, it is recorded as empty, with the refusal. */
  async page(number: number): Promise<FetchedPage> {
    const { pages } = this.#source
    const size = this.walk.rowsAsked
    const fetched = await (number === 1
      ? pages.readFirst(this.#question, size)
      : pages.readBehind(this.#question, number, size))
    this.record(fetched, this.#repeatsLast(fetched) && !(await this.#isOtherPage(fetched)))
    return fetched
  }

  /** Adds the page to the walk. */
  record(fetched: FetchedPage, isRepeat = this.#repeatsLast(fetched)): void {
    const { page, number, refusal } = fetched
    this.#isRepeat = isRepeat
    const keyless = page.rejected.filter(({ key }) => key === undefined).map(({ text }) => text)
    const { rowCount, keys, envelope } = page
    this.walk.saw({ ...envelope, pageNumber: number, rowCount, keys, keyless, isRepeat, refusal })
    if (number > (this.#last?.number ?? 0)) this.#last = fetched
    if (rowCount > 0 && number > (this.lastWithRows?.number ?? 0)) this.lastWithRows = fetched
  }

  /** Reads the pages of the total, several at once, and then further pages to the end. */
  async pagesOfTotal(): Promise<void> {
    const last = this.walk.pagesCalledFor
    await this.#sideBySide(Array.from({ length: last - 1 }, (_, n) => n + 2))
    if (!this.walk.meetsTotal || this.walk.endsFull(this.#source.pages.profile)) await this.toTheEnd(last + 1)
  }

  /** Reads page `from` and those before it, several at once. Stops when a row is repeated, because rows then moved. */
  async back(from: number): Promise<void> {
    await this.#sideBySide(
      Array.from({ length: from }, (_, n) => from - n),
      () => this.walk.repeats === 0,
    )
  }

  /** Reads page after page until one is empty or has no new row. */
  async toTheEnd(from: number): Promise<void> {
    for (let number = from; !this.walk.isAtEnd(this.#source.pages.profile); number += 1) {
      const fetched = await this.page(number)
      if (!this.#isRepeat) await this.#source.rows?.add(fetched)
    }
  }

  #sideBySide(numbers: readonly number[], goesOn = () => true): Promise<void> {
    const { concurrency, rows } = this.#source
    return eachBounded(numbers, concurrency, async (number) => {
      if (!goesOn()) return
      const fetched = await this.page(number)
      await rows?.add(fetched)
    })
  }

  /**
   * Returns whether this is the previous page again. Pages of one row with a key do not count: rows in any order may
   * repeat, and the key shows that the row is not new.
   */
  #repeatsLast({ number, page }: FetchedPage): boolean {
    const last = this.#last
    if (last === undefined || number !== last.number + 1 || page.rowCount === 0) return false
    const isOneRow = page.rowCount === 1 && this.walk.firstRows === 1 && page.keys.length === 1
    if (page.rowCount !== last.page.rowCount || isOneRow) return false
    return hasSameRows(page, last.page, this.#source.terms.keyed)
  }

  /**
   * Returns whether a page that looks like the previous one has other rows that are all alike, such as entries of one
   * instant. Never for rows with a key. True if the total requires the page, and no page is after the last one, so page
   * numbers count.
   */
  async #isOtherPage({ page }: FetchedPage): Promise<boolean> {
    const { walk } = this
    const { pages, terms } = this.#source
    if (terms.keyed || walk.rows + page.rowCount > (walk.totalCount ?? 0)) return false
    if (pages.profile.behindLastPage === undefined) {
      const { rowCount } = (await this.look(walk.pagesCalledFor + 1)).page
      pages.profile = { ...pages.profile, behindLastPage: rowCount === 0 ? 'nothing' : 'rows' }
    }
    return pages.profile.behindLastPage === 'nothing'
  }
}

/** Returns whether the pages have equal rows in equal order, by key, or by text for rows without a key. */
function hasSameRows(a: ScannedPage, b: ScannedPage, keyed: boolean): boolean {
  if (!a.keys.every((key, n) => key === b.keys[n]) || a.keys.length !== b.keys.length) return false
  if (keyed) return a.rejected.every(({ text }, n) => text === b.rejected[n]?.text)
  return a.lines(0).equals(b.lines(0))
}

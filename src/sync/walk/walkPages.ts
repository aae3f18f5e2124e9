/** Reads the pages of one walk over a slice and records what was seen. What follows from it is decided in src/plan/judge.ts. */
import type { Observe } from '../../observe.ts'
import type { WalkTerms } from '../../plan/slice.ts'
import type { Question } from '../../plan/question.ts'
import type { Span } from '../../plan/spans.ts'
import { Walk } from '../../plan/walk.ts'
import type { WalkPolicy } from '../../plan/walkPolicy.ts'
import type { ScannedPage } from '../../staging/scanPage.ts'
import { eachBounded } from './bounded.ts'
import type { FetchedPage, PageSource } from './pageSource.ts'

/** Takes the rows of a slice while it is walked. They are kept when the slice is proven, and dropped otherwise. */
export interface RowSink {
  /** A slice begins: `drop` drops what is added from now on. */
  begin(): Promise<void>
  add(page: FetchedPage): Promise<void>
  drop(): Promise<void>
}

/** What is asked for a report's slices, by which rules, and where the rows go. */
export interface SliceSource {
  readonly pages: PageSource
  readonly question: Question
  /** The time by which rows are asked for. */
  readonly axis: 'window' | 'created'
  readonly policy: WalkPolicy
  readonly terms: WalkTerms
  /** Undefined: only the keys are needed. */
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

  /** Reads a page that is not part of the walk yet. */
  look(number: number): Promise<FetchedPage> {
    return this.#source.pages.read(this.#question, number, this.walk.rowsAsked)
  }

  /** Reads a page as part of the walk. One behind the first that is refused is recorded as empty, with the refusal. */
  async page(number: number): Promise<FetchedPage> {
    const { pages } = this.#source
    const size = this.walk.rowsAsked
    const fetched = await (number === 1
      ? pages.readFirst(this.#question, size)
      : pages.readBehind(this.#question, number, size))
    this.record(fetched, this.#repeatsLast(fetched) && !(await this.#isOtherPage(fetched)))
    return fetched
  }

  /** Makes the page part of the walk. */
  record(fetched: FetchedPage, isRepeat = this.#repeatsLast(fetched)): void {
    const { page, number, refusal } = fetched
    this.#isRepeat = isRepeat
    const keyless = page.rejected.filter(({ key }) => key === undefined).map(({ text }) => text)
    const { rowCount, keys, envelope } = page
    this.walk.saw({ ...envelope, pageNumber: number, rowCount, keys, keyless, isRepeat, refusal })
    if (number > (this.#last?.number ?? 0)) this.#last = fetched
    if (rowCount > 0 && number > (this.lastWithRows?.number ?? 0)) this.lastWithRows = fetched
  }

  /** Reads the pages that the total calls for side by side, then on to the end. */
  async pagesOfTotal(): Promise<void> {
    const last = this.walk.pagesCalledFor
    await this.#sideBySide(Array.from({ length: last - 1 }, (_, n) => n + 2))
    if (!this.walk.meetsTotal || this.walk.endsFull(this.#source.pages.profile)) await this.toTheEnd(last + 1)
  }

  /** Reads page `from` and those before it side by side, until a row comes twice: then one has left and others moved up. */
  async back(from: number): Promise<void> {
    await this.#sideBySide(
      Array.from({ length: from }, (_, n) => from - n),
      () => this.walk.repeats === 0,
    )
  }

  /** Reads page after page until one is empty or brings nothing new. */
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
   * Whether this is the page before once more. Pages of one row with a key do not count: any order may bring a row twice, and
   * its key says that it is not new.
   */
  #repeatsLast({ number, page }: FetchedPage): boolean {
    const last = this.#last
    if (last === undefined || number !== last.number + 1 || page.rowCount === 0) return false
    const isOneRow = page.rowCount === 1 && this.walk.firstRows === 1 && page.keys.length === 1
    if (page.rowCount !== last.page.rowCount || isOneRow) return false
    return hasSameRows(page, last.page, this.#source.terms.keyed)
  }

  /**
   * Whether a page that looks like the one before has other rows that are all alike, as entries of one instant are. Rows with
   * a key never are. The total calls for the page, and no page is behind the last one: so page numbers count.
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

/** Whether the pages have the same rows in the same order: by their keys, or by their text where they have none. */
function hasSameRows(a: ScannedPage, b: ScannedPage, keyed: boolean): boolean {
  if (!a.keys.every((key, n) => key === b.keys[n]) || a.keys.length !== b.keys.length) return false
  if (keyed) return a.rejected.every(({ text }, n) => text === b.rejected[n]?.text)
  return a.lines(0).equals(b.lines(0))
}

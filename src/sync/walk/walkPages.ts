/** Reads and records the pages of one walk over a slice. */
import type { Observe } from '../../observe.ts'
import type { WalkPolicy, WalkSettings } from '../../plan/slice.ts'
import type { Question } from '../../plan/question.ts'
import type { Span } from '../../plan/spans.ts'
import { afterPage, beginWalk, totalOf, type Walk } from '../../plan/walk.ts'
import { endsFull, hasMoved, isAtEnd, lastPageByTotal, meetsTotal } from '../../plan/walkFacts.ts'
import type { ScannedPage } from '../../staging/scanPage.ts'
import { eachConcurrently } from '../concurrently.ts'
import type { FetchedPage, PageSource } from './pageSource.ts'

/** Receives the rows of a slice. `drop` removes all rows that were added after `begin`. */
export interface RowSink {
  begin?(): Promise<void>
  add(page: FetchedPage): Promise<void>
  drop?(): Promise<void>
}

export interface SliceSource {
  readonly pages: PageSource
  readonly question: Question
  /** Whether requests filter by modification time (`window`) or by creation time. */
  readonly timeFilter: 'window' | 'created'
  readonly policy: WalkPolicy
  readonly settings: WalkSettings
  /** Receives the rows of each page. Undefined if the caller needs only their keys. */
  readonly rows?: RowSink | undefined
  readonly concurrency: number
  readonly observe?: Observe | undefined
}

export const questionFor = ({ question, timeFilter }: SliceSource, span: Span | undefined): Question =>
  span === undefined ? question : { ...question, [timeFilter]: span }

export const keylessOf = ({ rejected }: ScannedPage): string[] =>
  rejected.filter(({ key }) => key === undefined).map(({ text }) => text)

export class PageWalk {
  readonly #source: SliceSource
  readonly #question: Question
  /** What the pages have shown so far. Each page replaces this value. */
  seen: Walk
  lastWithRows: FetchedPage | undefined
  #last: FetchedPage | undefined

  constructor(source: SliceSource, span: Span | undefined, rowsAsked = source.settings.pageSize) {
    this.#source = source
    this.#question = questionFor(source, span)
    this.seen = beginWalk(rowsAsked, source.settings.pageSize)
  }

  peek(number: number): Promise<FetchedPage> {
    return this.#source.pages.read(this.#question, number, this.seen.rowsAsked)
  }

  /** Reads a page and adds it to the walk. A refused page after page 1 counts as empty. */
  async readPage(number: number): Promise<RecordedPage> {
    const { pages } = this.#source
    const size = this.seen.rowsAsked
    const fetched = await (number === 1
      ? pages.readFirst(this.#question, size)
      : pages.readLaterPage(this.#question, number, size))
    const isRepeat = this.#repeatsLast(fetched) && !(await this.#isOtherPage(fetched))
    this.record(fetched, isRepeat)
    return { ...fetched, isRepeat }
  }

  record(fetched: FetchedPage, isRepeat = false): void {
    const { page, number: pageNumber, refusal } = fetched
    const { rowCount, keys, envelope } = page
    const keyless = keylessOf(page)
    this.seen = afterPage(this.seen, { ...envelope, pageNumber, rowCount, keys, keyless, isRepeat, refusal })
    if (pageNumber > (this.#last?.number ?? 0)) this.#last = fetched
    if (rowCount > 0 && pageNumber > (this.lastWithRows?.number ?? 0)) this.lastWithRows = fetched
  }

  async readPagesOfTotal(untilMoved: boolean): Promise<void> {
    const last = lastPageByTotal(this.seen)
    const goesOn = () => !untilMoved || !hasMoved(this.seen)
    // Reads pages from both ends in turn: a row that moves to either end appears twice, so the move is noticed early.
    const fromBothEnds = (n: number): number => (n % 2 === 0 ? n / 2 + 2 : last - (n - 1) / 2)
    const numbers = Array.from({ length: last - 1 }, (_, n) => (untilMoved ? fromBothEnds(n) : n + 2))
    await this.#readAtOnce(numbers, goesOn)
    if (!goesOn()) return
    if (!meetsTotal(this.seen) || endsFull(this.seen, this.#source.pages.profile)) await this.readToTheEnd(last + 1)
  }

  /** Reads page `from` and all pages before it. Stops at a repeated row, which shows that rows have moved. */
  async readBackwards(from: number): Promise<void> {
    await this.#readAtOnce(
      Array.from({ length: from }, (_, n) => from - n),
      () => this.seen.repeats === 0,
    )
  }

  async readToTheEnd(from: number): Promise<void> {
    for (let number = from; !isAtEnd(this.seen, this.#source.pages.profile); number += 1) {
      const recorded = await this.readPage(number)
      if (!recorded.isRepeat) await this.#source.rows?.add(recorded)
    }
  }

  #readAtOnce(numbers: readonly number[], goesOn = () => true): Promise<void> {
    const { concurrency, rows } = this.#source
    return eachConcurrently(numbers, concurrency, async (number) => {
      if (!goesOn()) return
      const fetched = await this.readPage(number)
      await rows?.add(fetched)
    })
  }

  /** Returns whether the page repeats the one before. False for pages of one row, because that row may have moved. */
  #repeatsLast({ number, page }: FetchedPage): boolean {
    const last = this.#last
    if (last === undefined || number !== last.number + 1 || page.rowCount === 0) return false
    const isOneRow = page.rowCount === 1 && this.seen.first.rows === 1 && page.keys.length === 1
    if (page.rowCount !== last.page.rowCount || isOneRow) return false
    return hasSameRows(page, last.page, this.#source.settings.keyed)
  }

  /** Returns whether a page that equals the previous page is another page: entries without keys look alike. */
  async #isOtherPage({ page }: FetchedPage): Promise<boolean> {
    const { seen } = this
    const { pages, settings } = this.#source
    if (settings.keyed || seen.rows + page.rowCount > (totalOf(seen) ?? 0)) return false
    if (pages.profile.afterLastPage === undefined) {
      const { rowCount } = (await this.peek(lastPageByTotal(seen) + 1)).page
      pages.profile = { ...pages.profile, afterLastPage: rowCount === 0 ? 'nothing' : 'rows' }
    }
    return pages.profile.afterLastPage === 'nothing'
  }
}

interface RecordedPage extends FetchedPage {
  readonly isRepeat: boolean
}

function hasSameRows(a: ScannedPage, b: ScannedPage, keyed: boolean): boolean {
  if (!a.keys.every((key, n) => key === b.keys[n]) || a.keys.length !== b.keys.length) return false
  if (keyed) return a.rejected.every(({ text }, n) => text === b.rejected[n]?.text)
  return a.lines(0).equals(b.lines(0))
}

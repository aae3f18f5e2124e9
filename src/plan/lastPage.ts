/**
 * Finds the last page of a span without a total: first by leaps to higher numbers, then by halving the distance. The
 * number of the last page limits the number of rows, so a walk with that many rows lacks none (docs/PROOFS.md,
 * "total"). The search has no result if a page after the last one has other rows.
 */

/**
 * The content of a requested page. `full`: as many rows as page 1, all new. `short`: fewer rows. `again`: the rows of
 * the short page that was read before; some services return it for all higher numbers. `odd`: anything else.
 */
export type Sight = 'full' | 'short' | 'empty' | 'again' | 'odd'

export interface LastPage {
  readonly number: number
  /** False if the last page has as many rows as the pages before it. */
  readonly isShort: boolean
}

const LEAP_GROWTH = 4

export class LastPageSearch {
  /** The highest page number that was found full. */
  #full = 1
  /** The highest page number that the last page can have; undefined: not known yet. */
  #limit: number | undefined
  /** The number of a short page whose next page was not requested yet. */
  #short: number | undefined
  /** True if a page repeated the rows of the last page. The number of the last page is then `#limit` or lower. */
  #isShown = false
  #found: LastPage | undefined
  #isOdd = false
  #leap = 1
  readonly #guess: number
  readonly #stop: number

  /** Page 1 must be full. `guess`: the probable number of the last page. `stop`: the highest number for a leap. */
  constructor(guess = 1, stop = Number.POSITIVE_INFINITY) {
    this.#guess = guess
    this.#stop = stop
  }

  /** Returns the last page; undefined before the search has ended, or if the pages contradict each other. */
  get found(): LastPage | undefined {
    return this.#isOdd ? undefined : this.#found
  }

  /** Returns the number of the page to request next; undefined when the search has ended. */
  next(): number | undefined {
    if (this.#isOdd || this.#found !== undefined) return undefined
    if (this.#short !== undefined) return this.#short + 1
    if (this.#limit === undefined) return this.#full === 1 && this.#guess > 1 ? this.#guess : this.#leapTarget
    const highest = this.#isShown ? this.#limit - 1 : this.#limit
    if (this.#full === 1 && this.#guess > 1) return Math.max(2, highest - this.#leap + 1)
    return this.#full + Math.ceil((highest - this.#full) / 2)
  }

  get #leapTarget(): number {
    const to = this.#full + this.#leap
    return this.#full < this.#stop ? Math.min(to, this.#stop) : to
  }

  /** Records the content of page `number`, which `next` has returned. */
  saw(number: number, sight: Sight): void {
    const short = this.#short
    this.#short = undefined
    if (number !== this.#guess) this.#leap *= LEAP_GROWTH
    if (sight === 'full') this.#full = number
    if (sight === 'short') this.#short = number
    if (sight === 'again') this.#isShown = true
    if (sight === 'again') this.#limit = short ?? number
    if (sight === 'empty' && short === undefined) this.#limit = number - 1
    // The service is odd if a page with new rows follows a short page. It is also odd if one response repeated the last
    // page (`#isShown`), and another page is short or empty.
    const isBroken = short !== undefined && sight !== 'empty' && sight !== 'again'
    this.#isOdd ||= sight === 'odd' || isBroken || (this.#isShown && (sight === 'short' || sight === 'empty'))
    this.#found = this.#settled(sight === 'empty' ? short : undefined)
  }

  /** Returns the last page; undefined while its number is uncertain. `short`: a short page before an empty one. */
  #settled(short: number | undefined): LastPage | undefined {
    if (short !== undefined) return { number: short, isShort: true }
    if (this.#limit === undefined) return undefined
    if (this.#isShown) return this.#limit === this.#full + 1 ? { number: this.#limit, isShort: true } : undefined
    if (this.#short === this.#limit) return { number: this.#limit, isShort: true }
    return this.#limit === this.#full ? { number: this.#limit, isShort: false } : undefined
  }
}

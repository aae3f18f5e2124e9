/**
 * Finds the last page of a response without a total: first by leaps, then by halves. The number of pages limits the
 * number of rows, so a walk that returns as many rows has returned all of them (docs/PROOFS.md, "total"). Only a short
 * page with nothing new after it counts as the last page. After any other result the search ends without an answer.
 */

/**
 * What a page contained. `full`: as many rows as page 1, all of them new. `short`: fewer. `again`: the short page that
 * was seen before, which some services return for every later number. `odd`: anything else.
 */
export type Sight = 'full' | 'short' | 'empty' | 'again' | 'odd'

export interface LastPage {
  readonly number: number
  /** False if the last page has as many rows as the pages before it. */
  readonly isShort: boolean
}

const LEAP_GROWTH = 4

export class LastPageSearch {
  /** The highest page number that was full. */
  #full = 1
  /** The highest number that the last page can have. */
  #limit: number | undefined
  /** The number of a short page whose next page was not requested yet. */
  #short: number | undefined
  /** True if the page at the limit repeated the last page, so the last page has this number or a lower one. */
  #isShown = false
  #found: LastPage | undefined
  #isOdd = false
  #leap = 1
  readonly #guess: number
  readonly #stop: number

  /** Begins after a full page 1. `guess`: the probable last page; `stop`: a page number that no leap exceeds. */
  constructor(guess = 1, stop = Number.POSITIVE_INFINITY) {
    this.#guess = guess
    this.#stop = stop
  }

  /** Returns the last page, if the search has ended without an odd page. */
  get found(): LastPage | undefined {
    return this.#isOdd ? undefined : this.#found
  }

  /** Returns the number of the page to request next; undefined when the search has ended. */
  next(): number | undefined {
    if (this.#isOdd || this.#found !== undefined) return undefined
    if (this.#short !== undefined) return this.#short + 1
    if (this.#limit === undefined) return this.#full === 1 && this.#guess > 1 ? this.#guess : this.#leapt
    const highest = this.#isShown ? this.#limit - 1 : this.#limit
    if (this.#full === 1 && this.#guess > 1) return Math.max(2, highest - this.#leap + 1)
    return this.#full + Math.ceil((highest - this.#full) / 2)
  }

  get #leapt(): number {
    const to = this.#full + this.#leap
    return this.#full < this.#stop ? Math.min(to, this.#stop) : to
  }

  /** Records the result for the page that `next` has returned. */
  saw(number: number, sight: Sight): void {
    const short = this.#short
    this.#short = undefined
    if (number !== this.#guess) this.#leap *= LEAP_GROWTH
    if (sight === 'full') this.#full = number
    if (sight === 'short') this.#short = number
    if (sight === 'again') this.#isShown = true
    if (sight === 'again') this.#limit = short ?? number
    if (sight === 'empty' && short === undefined) this.#limit = number - 1
    // A service with full pages has no rows after a short page, and repeats no page after an empty one: that is odd.
    const isBroken = short !== undefined && sight !== 'empty' && sight !== 'again'
    this.#isOdd ||= sight === 'odd' || isBroken || (this.#isShown && (sight === 'short' || sight === 'empty'))
    this.#found = this.#settled(sight === 'empty' ? short : undefined)
  }

  /** Returns the last page if only one place for it is left. `short`: a short page that is followed by an empty one. */
  #settled(short: number | undefined): LastPage | undefined {
    if (short !== undefined) return { number: short, isShort: true }
    if (this.#limit === undefined) return undefined
    if (this.#isShown) return this.#limit === this.#full + 1 ? { number: this.#limit, isShort: true } : undefined
    if (this.#short === this.#limit) return { number: this.#limit, isShort: true }
    return this.#limit === this.#full ? { number: this.#limit, isShort: false } : undefined
  }
}

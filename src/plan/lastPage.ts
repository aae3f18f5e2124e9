/** Finds the last page without a total. Its page number limits the number of rows (docs/PROOFS.md, "total"). */

/** `full`: as many new rows as page 1. `again`: the same rows as the short page. `odd`: too many or repeated rows. */
export type Sight = 'full' | 'short' | 'empty' | 'again' | 'odd'

export interface LastPage {
  readonly number: number
  /** False if the last page has as many rows as the pages before it. */
  readonly isShort: boolean
}

const LEAP_GROWTH = 4

export class LastPageSearch {
  #highestFull = 1
  #highestPossible: number | undefined
  /** The number of a page that is shorter than page 1, until the page after it was requested. */
  #short: number | undefined
  #lastPageRepeats = false
  #found: LastPage | undefined
  #isOdd = false
  #leap = 1
  readonly #guess: number
  readonly #stop: number

  /**
   * Begins after page 1, which must be full. `guess` is the probable last page. `stop` is a page that the search reads
   * before any higher page.
   */
  constructor(guess = 1, stop = Number.POSITIVE_INFINITY) {
    this.#guess = guess
    this.#stop = stop
  }

  get found(): LastPage | undefined {
    return this.#isOdd ? undefined : this.#found
  }

  next(): number | undefined {
    if (this.#isOdd || this.#found !== undefined) return undefined
    if (this.#short !== undefined) return this.#short + 1
    if (this.#highestPossible === undefined)
      return this.#highestFull === 1 && this.#guess > 1 ? this.#guess : this.#leapTarget
    const highest = this.#lastPageRepeats ? this.#highestPossible - 1 : this.#highestPossible
    if (this.#highestFull === 1 && this.#guess > 1) return Math.max(2, highest - this.#leap + 1)
    return this.#highestFull + Math.ceil((highest - this.#highestFull) / 2)
  }

  get #leapTarget(): number {
    const to = this.#highestFull + this.#leap
    return this.#highestFull < this.#stop ? Math.min(to, this.#stop) : to
  }

  saw(number: number, sight: Sight): void {
    const short = this.#short
    this.#short = undefined
    if (number !== this.#guess) this.#leap *= LEAP_GROWTH
    if (sight === 'full') this.#highestFull = number
    if (sight === 'short') this.#short = number
    if (sight === 'again') this.#lastPageRepeats = true
    if (sight === 'again') this.#highestPossible = short ?? number
    if (sight === 'empty' && short === undefined) this.#highestPossible = number - 1
    // Pages contradict each other: a page after a short page has new rows, or only some later pages repeat its rows.
    const isBroken = short !== undefined && sight !== 'empty' && sight !== 'again'
    this.#isOdd ||= sight === 'odd' || isBroken || (this.#lastPageRepeats && (sight === 'short' || sight === 'empty'))
    this.#found = this.#settled(sight === 'empty' ? short : undefined)
  }

  /** Returns the last page if it is certain. `short`: the number of a short page whose next page is empty. */
  #settled(short: number | undefined): LastPage | undefined {
    if (short !== undefined) return { number: short, isShort: true }
    if (this.#highestPossible === undefined) return undefined
    if (this.#lastPageRepeats)
      return this.#highestPossible === this.#highestFull + 1
        ? { number: this.#highestPossible, isShort: true }
        : undefined
    if (this.#short === this.#highestPossible) return { number: this.#highestPossible, isShort: true }
    return this.#highestPossible === this.#highestFull ? { number: this.#highestPossible, isShort: false } : undefined
  }
}

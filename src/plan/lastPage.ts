/**
 * Where the last page lies when no total is told: found in leaps, then by halves. Its place bounds how many rows there
 * are, and a walk that brings as many has brought them all (docs/PROOFS.md, "total"). Only a page that comes short with
 * nothing new behind it counts as the last; whatever looks otherwise ends the search without an answer.
 */

/**
 * What a page showed. `full`: as many rows as page 1, others than before. `short`: fewer. `again`: the short page that
 * was seen before once more, which some services show for every later number. `odd`: anything else.
 */
export type Sight = 'full' | 'short' | 'empty' | 'again' | 'odd'

export interface LastPage {
  readonly number: number
  /** False: it is as long as the pages before it. */
  readonly isShort: boolean
}

const LEAP_GROWTH = 4

export class LastPageSearch {
  /** The highest page that came full. */
  #full = 1
  /** The highest number that the last page can have. */
  #limit: number | undefined
  /** A short page behind which nobody looked yet. */
  #short: number | undefined
  /** The page at the limit showed the last page's rows, which stand there or further ahead. */
  #isShown = false
  #found: LastPage | undefined
  #isOdd = false
  #leap = 1
  readonly #guess: number
  readonly #stop: number

  /** Page 1 came full. `guess`: where the last page probably lies; `stop`: a page that no leap leads past. */
  constructor(guess = 1, stop = Number.POSITIVE_INFINITY) {
    this.#guess = guess
    this.#stop = stop
  }

  /** The last page, when the search is over and nothing was odd. */
  get found(): LastPage | undefined {
    return this.#isOdd ? undefined : this.#found
  }

  /** Number of the page to look at next; undefined when the search is over. */
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

  /** Page `number`, which `next` named, was looked at. */
  saw(number: number, sight: Sight): void {
    const short = this.#short
    this.#short = undefined
    if (number !== this.#guess) this.#leap *= LEAP_GROWTH
    if (sight === 'full') this.#full = number
    if (sight === 'short') this.#short = number
    if (sight === 'again') this.#isShown = true
    if (sight === 'again') this.#limit = short ?? number
    if (sight === 'empty' && short === undefined) this.#limit = number - 1
    // Rows behind a short page, or an empty page before one that was shown again, fit no service that cuts full pages.
    const isBroken = short !== undefined && sight !== 'empty' && sight !== 'again'
    this.#isOdd ||= sight === 'odd' || isBroken || (this.#isShown && (sight === 'short' || sight === 'empty'))
    this.#found = this.#settled(sight === 'empty' ? short : undefined)
  }

  /** The last page, if what was seen leaves only one place for it. `short`: a short page that an empty one follows. */
  #settled(short: number | undefined): LastPage | undefined {
    if (short !== undefined) return { number: short, isShort: true }
    if (this.#limit === undefined) return undefined
    if (this.#isShown) return this.#limit === this.#full + 1 ? { number: this.#limit, isShort: true } : undefined
    if (this.#short === this.#limit) return { number: this.#limit, isShort: true }
    return this.#limit === this.#full ? { number: this.#limit, isShort: false } : undefined
  }
}

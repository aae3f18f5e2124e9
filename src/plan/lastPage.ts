/** Finds the last page if responses have no total. Its number limits how many rows there can be (docs/PROOFS.md). */

/** How a page compares with page 1. `again`: repeats a short page. `odd`: longer than page 1 or repeats a full page. */
export type PageComparison = 'full' | 'short' | 'empty' | 'again' | 'odd'

export interface LastPage {
  readonly number: number
  /** False if the last page has as many rows as the pages before it. */
  readonly isShort: boolean
}

const LEAP_GROWTH = 4

/**
 * Finds the last page, if page 1 is full. Yields page numbers to request; the caller passes `next` how each page
 * compares with page 1. `guess` is the probable last page. Page `stop` is requested before any higher page, because the
 * caller may end the search there. Returns undefined if pages contradict each other.
 */
export function* searchLastPage(guess = 1, stop = Infinity): Generator<number, LastPage | undefined, PageComparison> {
  let highestFull = 1
  let highestPossible: number | undefined
  /** The number of a page that is shorter than page 1. The search then checks that the next page is empty. */
  let short: number | undefined
  let lastPageRepeats = false
  let leap = 1

  function nextNumber(): number {
    if (short !== undefined) return short + 1
    const isAtGuess = highestFull === 1 && guess > 1
    if (highestPossible === undefined) {
      if (isAtGuess) return guess
      return highestFull < stop ? Math.min(highestFull + leap, stop) : highestFull + leap
    }
    const highest = lastPageRepeats ? highestPossible - 1 : highestPossible
    if (isAtGuess) return Math.max(2, highest - leap + 1)
    return highestFull + Math.ceil((highest - highestFull) / 2)
  }

  for (;;) {
    const number = nextNumber()
    const sight = yield number
    const before = short
    short = sight === 'short' ? number : undefined
    lastPageRepeats ||= sight === 'again'
    // After a short page, all later pages must be empty, or all must repeat it. Otherwise, pages contradict each other.
    const isBroken = before !== undefined && sight !== 'empty' && sight !== 'again'
    if (sight === 'odd' || isBroken || (lastPageRepeats && (sight === 'short' || sight === 'empty'))) return undefined
    if (sight === 'empty' && before !== undefined) return { number: before, isShort: true }
    if (number !== guess) leap *= LEAP_GROWTH
    if (sight === 'full') highestFull = number
    if (sight === 'again') highestPossible = before ?? number
    if (sight === 'empty') highestPossible = number - 1
    if (highestPossible === undefined) continue
    const isShort = lastPageRepeats ? highestPossible === highestFull + 1 : short === highestPossible
    if (isShort || (!lastPageRepeats && highestPossible === highestFull)) return { number: highestPossible, isShort }
  }
}

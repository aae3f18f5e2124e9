/** Finds the last page if responses have no total. Its number shows how many rows there are (docs/PROOFS.md). */

/** `again`: repeats a short page. `odd`: longer than page 1, or repeats a full page. */
export type PageComparison = 'full' | 'short' | 'empty' | 'again' | 'odd'

export interface LastPage {
  readonly number: number
  readonly isShort: boolean
}

const FIRST_LEAP = 4
const LEAP_GROWTH = 4
/** A range of pages is cut below its middle, because spans of few pages are more frequent. */
const CUT_SHARE = 0.45

/**
 * Finds the last page, if page 1 is full. Yields page numbers to request. The caller compares each page with
 * page 1 and passes the result to `next`. `guess` is the probable last page. Page `stop` is requested before any higher
 * page, because the caller may end the search there. Returns undefined if pages contradict each other.
 */
export function* searchLastPage(guess = 1, stop = Infinity): Generator<number, LastPage | undefined, PageComparison> {
  let highestFull = 1
  let highestPossible: number | undefined
  /** Number of a page that is shorter than page 1. It is the last page if the next page is empty. */
  let short: number | undefined
  let lastPageRepeats = false
  let leap = guess > 1 ? 1 : FIRST_LEAP

  function nextNumber(): number {
    if (short !== undefined) return short + 1
    const isAtGuess = highestFull === 1 && guess > 1
    if (highestPossible === undefined) {
      if (isAtGuess) return guess
      return highestFull < stop ? Math.min(highestFull + leap, stop) : highestFull + leap
    }
    const highest = lastPageRepeats ? highestPossible - 1 : highestPossible
    if (isAtGuess) return Math.max(2, highest - leap + 1)
    return highestFull + Math.ceil((highest - highestFull) * CUT_SHARE)
  }

  for (;;) {
    const number = nextNumber()
    const comparison = yield number
    const before = short
    short = comparison === 'short' ? number : undefined
    lastPageRepeats ||= comparison === 'again'
    const isContradiction = before !== undefined && comparison !== 'empty' && comparison !== 'again'
    if (
      comparison === 'odd' ||
      isContradiction ||
      (lastPageRepeats && (comparison === 'short' || comparison === 'empty'))
    )
      return undefined
    if (comparison === 'empty' && before !== undefined) return { number: before, isShort: true }
    if (number !== guess) leap *= LEAP_GROWTH
    if (comparison === 'full') highestFull = number
    if (comparison === 'again') highestPossible = before ?? number
    if (comparison === 'empty') highestPossible = number - 1
    if (highestPossible === undefined) continue
    const isShort = lastPageRepeats ? highestPossible === highestFull + 1 : short === highestPossible
    if (isShort || (!lastPageRepeats && highestPossible === highestFull)) return { number: highestPossible, isShort }
  }
}

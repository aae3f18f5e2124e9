/** Finds the last page if responses have no total. Its number shows how many rows there are (docs/PROOFS.md). */

/** `again`: repeats a short page. `odd`: longer than page 1, or repeats a full page. */
export type PageComparison = 'full' | 'short' | 'empty' | 'again' | 'odd'

export interface LastPage {
  readonly number: number
  readonly isShort: boolean
}

export interface LastPageSearch {
  /** The probable last page. */
  readonly guess: number
  /** Is requested before any higher page, because the caller may end the search there. */
  readonly stop: number
  readonly leap: number
  readonly highestFull: number
  readonly highestPossible?: number | undefined
  /** Number of a page that is shorter than page 1. It is the last page if the next page is empty. */
  readonly short?: number | undefined
  /** Whether the service returns the last page for all higher numbers, too. */
  readonly lastPageRepeats: boolean
}

type SearchOutcome = LastPageSearch | LastPage | undefined

const FIRST_LEAP = 4
const LEAP_GROWTH = 4
/** A range of pages is cut below its middle, because spans of few pages are more frequent. */
const CUT_SHARE = 0.45

/** Returns a search in which page 1 is full. */
export function beginSearch(guess = 1, stop = Infinity): LastPageSearch {
  return { guess, stop, leap: guess > 1 ? 1 : FIRST_LEAP, highestFull: 1, lastPageRepeats: false }
}

/** Returns the number of the page to request next: leaps until a page is not full, then bisects. */
export function nextPage(search: LastPageSearch): number {
  const { guess, stop, leap, highestFull, highestPossible, short, lastPageRepeats } = search
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

/** Returns the search after a page was compared with page 1, or the last page. Undefined if pages contradict. */
export function afterPage(search: LastPageSearch, number: number, comparison: PageComparison): SearchOutcome {
  const { short, lastPageRepeats, guess, leap } = search
  const next = { ...search, short: undefined, leap: number === guess ? leap : leap * LEAP_GROWTH }
  if (comparison === 'again') return lastPageOr({ ...next, highestPossible: short ?? number, lastPageRepeats: true })
  if (comparison === 'empty' && short !== undefined && !lastPageRepeats) return { number: short, isShort: true }
  if (comparison === 'odd' || short !== undefined) return undefined
  if (comparison === 'full') return lastPageOr({ ...next, highestFull: number })
  if (lastPageRepeats) return undefined
  if (comparison === 'empty') return lastPageOr({ ...next, highestPossible: number - 1 })
  return number === search.highestPossible ? { number, isShort: true } : { ...next, short: number }
}

function lastPageOr(search: LastPageSearch): SearchOutcome {
  const { highestPossible, highestFull, lastPageRepeats } = search
  const lowest = lastPageRepeats ? highestFull + 1 : highestFull
  return highestPossible === lowest ? { number: lowest, isShort: lastPageRepeats } : search
}

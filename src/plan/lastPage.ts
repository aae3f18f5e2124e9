/** Finds the last page if responses have no total. Its number limits how many rows there can be (docs/PROOFS.md). */

/** A page compared with page 1. `again`: repeats a short page. `odd`: longer than page 1, or repeats a full page. */
export type Sight = 'full' | 'short' | 'empty' | 'again' | 'odd'

export interface LastPage {
  readonly number: number
  /** False if the last page has as many rows as the pages before it. */
  readonly isShort: boolean
}

/** Until an empty page is found, these distances from the highest full page are requested together. */
const LEAPS = [4, 16, 64, 256] as const
/** If the guessed page has no rows, the pages at these distances before it are requested at once. */
const LEAPS_BACK = [1, 4, 16] as const
/** Pages to request together between the highest full and the lowest empty page. More save rounds and cost requests. */
const CUTS = 2

/**
 * Finds the last page in rounds. Yields the numbers of the pages to request at once, in ascending order; the caller
 * passes their `Sight`s to `next`, or those of the first numbers. Page 1 must be full. `guess` is the probable last
 * page. The search requests page `stop` before any higher page. Returns undefined if pages contradict each other.
 */
export function* searchLastPage(
  guess = 1,
  stop = Infinity,
): Generator<readonly number[], LastPage | undefined, readonly Sight[]> {
  let full = 1
  /** The lowest page that is shorter than page 1 but has rows. With `repeats`, all later pages have the same rows. */
  let short: number | undefined
  let repeats = false
  let empty = Infinity

  function nextNumbers(isFirst: boolean): readonly number[] {
    const end = repeats ? (short as number) : empty
    if (isFirst && guess > 1) return guess === stop ? [guess] : [guess, guess + 1]
    if (short !== undefined && !repeats) return [short + 1]
    if (full === 1 && guess > 1 && guess === end) return inOrder(LEAPS_BACK.map((each) => Math.max(2, end - each)))
    if (end < Infinity) return inOrder(cutsOf(full, end))
    const leap = Math.max(1, full - (guess > 1 ? guess + 1 : 1))
    const leaps = LEAPS.map((each) => full + each * leap)
    return full < stop ? inOrder(leaps.map((each) => Math.min(each, stop))) : leaps
  }

  for (let isFirst = true; ; isFirst = false) {
    const numbers = nextNumbers(isFirst)
    for (const [n, sight] of (yield numbers).entries()) {
      const number = numbers[n] as number
      if (sight === 'odd' || (sight === 'short' && short !== undefined)) return undefined
      if (sight === 'full') full = Math.max(full, number)
      else if (sight === 'empty') empty = Math.min(empty, number)
      else short = Math.min(short ?? number, number)
      repeats ||= sight === 'again'
    }
    // After a short page, all later pages must be empty, or all must repeat it. Otherwise, pages contradict each other.
    if (full > (short ?? empty) || (short ?? 0) > empty || (repeats && empty < Infinity)) return undefined
    if (short !== undefined && (repeats ? full + 1 : empty - 1) === short) return { number: short, isShort: true }
    if (empty === full + 1) return { number: full, isShort: false }
  }
}

const inOrder = (numbers: readonly number[]) => [...new Set(numbers)].toSorted((a, b) => a - b)

/** Returns at most `CUTS` pages between `full` and `end`, at equal distances. */
function cutsOf(full: number, end: number): readonly number[] {
  const cuts = Math.min(CUTS, end - full - 1)
  return Array.from({ length: cuts }, (_, n) => full + Math.round(((end - full) * (n + 1)) / (cuts + 1)))
}

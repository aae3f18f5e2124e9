/**
 * The search for the last page of a report without a total: right wherever that lies, in few looks, or without an
 * answer.
 */
import { array, assert, boolean, constant, constantFrom, integer, oneof, property } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { afterPage, beginSearch, type LastPage, nextPage, type PageComparison } from '../../src/plan/lastPage.ts'

interface Service {
  readonly pages: number
  /** The last page has fewer rows than the others. */
  readonly isShort: boolean
  /** Later numbers show the last page once more. */
  readonly showsAgain?: boolean
}

/** Looks until the search is over; gives what it found and the numbers that it looked at. */
function search(sightOf: (number: number, looked: readonly number[]) => PageComparison, guess: number, stop?: number) {
  const looked: number[] = []
  let state = beginSearch(guess, stop)
  while (looked.length < 200) {
    const number = nextPage(state)
    const next = afterPage(state, number, sightOf(number, looked))
    looked.push(number)
    if (next === undefined || 'isShort' in next) return { found: next, looked }
    state = next
  }
  return { found: undefined, looked }
}

const quiet =
  ({ pages, isShort, showsAgain = false }: Service) =>
  (number: number, looked: readonly number[]): PageComparison => {
    if (number < pages || (number === pages && !isShort)) return 'full'
    if (number === pages || showsAgain) return looked.some((each) => each >= pages) ? 'again' : 'short'
    return 'empty'
  }

const pages = integer({ min: 2, max: 5_000 })
const guess = oneof(constant(1), integer({ min: 1, max: 6_000 }))
const stop = oneof(constant(undefined), integer({ min: 2, max: 6_000 }))

describe('the last page', () => {
  it('is found where it stands, short or full, wherever one begins to look and stops', () => {
    assert(
      property(pages, boolean(), guess, stop, (count, isShort, start, before) => {
        const expected: LastPage = { number: count, isShort }
        expect(search(quiet({ pages: count, isShort }), start, before).found).toEqual(expected)
      }),
    )
  })

  it('is not looked for behind the stop before that came full', () => {
    assert(
      property(
        pages,
        boolean(),
        integer({ min: 2, max: 6_000 }),
        integer({ min: 1, max: 6_000 }),
        (count, isShort, at, start) => {
          const { looked } = search(quiet({ pages: count, isShort }), Math.min(start, at), at)
          const beyond = looked.findIndex((number) => number > at + 1)
          expect(beyond === -1 || looked.slice(0, beyond).includes(at)).toBe(true)
        },
      ),
    )
  })

  it('is found where it stands when later numbers show it again', () => {
    assert(
      property(pages, guess, (count, start) => {
        const { found } = search(quiet({ pages: count, isShort: true, showsAgain: true }), start)
        expect(found).toEqual({ number: count, isShort: true })
      }),
    )
  })

  it('is page 1 when nothing follows it', () => {
    expect(search(() => 'empty', 1)).toEqual({ found: { number: 1, isShort: false }, looked: [5, 3, 2] })
  })

  it('costs a number of looks that grows with the logarithm of the pages', () => {
    assert(
      property(pages, boolean(), guess, stop, (count, isShort, start, before) => {
        const { looked } = search(quiet({ pages: count, isShort }), start, before)
        expect(looked.length).toBeLessThanOrEqual(2 * Math.log2(Math.max(count, start)) + 5)
      }),
    )
  })

  it('costs two looks when the guess is right, and a few more when later numbers show the last page again', () => {
    expect(search(quiet({ pages: 40, isShort: true }), 40).looked).toEqual([40, 41])
    const showsAgain = quiet({ pages: 40, isShort: true, showsAgain: true })
    expect(search(showsAgain, 40).looked, 'the page behind shows it again').toEqual([40, 41, 36, 38, 39])
  })

  it('is never a short page with rows behind it', () => {
    const { found } = search((number) => (number === 21 ? 'short' : number > 60 ? 'empty' : 'full'), 1)
    expect(found).toBeUndefined()
  })

  it('is not told when a page is longer than the first, or the first one once more', () => {
    expect(search((number) => (number === 21 ? 'odd' : 'full'), 1)).toEqual({ found: undefined, looked: [5, 21] })
  })

  it('is looked for in a bounded number of steps whatever the pages show', () => {
    const sight = constantFrom<PageComparison>('full', 'short', 'empty', 'again')
    assert(
      property(array(sight, { minLength: 1, maxLength: 100 }), guess, (sights, start) => {
        const { looked } = search((_, before) => sights[before.length] ?? 'empty', start)
        expect(looked.length).toBeLessThanOrEqual(sights.length + 30)
      }),
    )
  })
})

/**
 * What is learnt of a report's page sizes: it may cost requests when it is wrong, but never a row, and not for ever.
 */
import { describe, expect, it } from 'vitest'
import {
  holdsEverything,
  isFullPage,
  mayBeClampedSince,
  mayBeUnpaged,
  NO_PAGE_SIZES,
  rowsAPage,
  sawFullPage,
  sawLastPage,
} from '../../src/plan/pageSizes.ts'

describe('while nothing is known', () => {
  it('only an empty response holds everything, not one with more rows than were asked for', () => {
    expect([0, 1, 50, 51].map((rows) => holdsEverything(NO_PAGE_SIZES, rows, 50))).toEqual([true, false, false, false])
    expect(isFullPage(NO_PAGE_SIZES, 50)).toBe(false)
    expect(rowsAPage(NO_PAGE_SIZES, 50)).toBe(50)
  })
})

describe('after a short page that another one followed', () => {
  const known = sawFullPage(sawLastPage(NO_PAGE_SIZES, 40), 3)

  it('no response of as many rows is taken for the last', () => {
    expect([2, 3, 39].map((rows) => holdsEverything(known, rows, 50))).toEqual([true, false, false])
  })

  it('a page shorter than the longest is not cut finer before its next page was asked for', () => {
    expect([3, 39, 40].map((rows) => isFullPage(known, rows))).toEqual([false, false, true])
  })

  it('slices are planned for the longest page that came', () => {
    expect(rowsAPage(known, 50)).toBe(40)
  })
})

describe('after a page longer than was asked for that another one followed', () => {
  const known = sawFullPage(NO_PAGE_SIZES, 100)

  it('no response of as many rows as are asked for is taken for the last: the service may go back to that', () => {
    expect([49, 50, 99, 100, 101].map((rows) => holdsEverything(known, rows, 50))).toEqual([
      true,
      false,
      false,
      false,
      false,
    ])
  })

  it('only a longer one yet may be of a service that does not page, and slices are planned for what is asked', () => {
    expect([51, 100, 101].map((rows) => mayBeUnpaged(known, rows, 50))).toEqual([false, false, true])
    expect([50, 51].map((rows) => mayBeUnpaged(NO_PAGE_SIZES, rows, 50))).toEqual([false, true])
    expect(rowsAPage(known, 50)).toBe(50)
  })
})

it('what was learnt is doubted where no page of the run is longer, but not for a few rows', () => {
  const lengths = [
    [0, 0],
    [24, 24],
    [25, 25],
    [60, 60],
    [60, 61],
  ] as const
  const doubted = lengths.map(([rows, longest]) => mayBeClampedSince(rows, { asked: 500, longest }))
  expect(doubted).toEqual([false, false, true, true, false])
})

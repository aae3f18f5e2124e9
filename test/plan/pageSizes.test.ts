/**
 * What is learnt of a report's page sizes: it may cost requests when it is wrong, but never a row, and not for ever.
 */
import { describe, expect, it } from 'vitest'
import {
  holdsEverything,
  isFullPage,
  NO_PAGE_SIZES,
  rowsAPage,
  sawFullPage,
  sawLastPage,
} from '../../src/plan/pageSizes.ts'

describe('while nothing is known', () => {
  it('only an empty response, or one that was not cut, holds everything', () => {
    expect([0, 1, 50, 51].map((rows) => holdsEverything(NO_PAGE_SIZES, rows, 50))).toEqual([true, false, false, true])
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

/**
 * What is learnt of how the service pages a report: it may cost requests when it is wrong, but never a row, and not for ever.
 */
import { describe, expect, it } from 'vitest'
import {
  completenessOfPage1,
  isSurelyLastPage,
  isFullPage,
  mayBeUnpaged,
  UNKNOWN_PAGING,
  rowsAPage,
  withFullPage,
  withLastPage,
  withPage,
} from '../../src/plan/pagingProfile.ts'

describe('while nothing is known', () => {
  it('only an empty response holds everything, not one with more rows than were asked for', () => {
    expect([0, 1, 50, 51].map((rows) => isSurelyLastPage(UNKNOWN_PAGING, rows, 50))).toEqual([
      true,
      false,
      false,
      false,
    ])
    expect(isFullPage(UNKNOWN_PAGING, 50)).toBe(false)
    expect(rowsAPage(UNKNOWN_PAGING, 50)).toBe(50)
  })
})

describe('after a short page that another one followed', () => {
  const known = withFullPage(withLastPage(UNKNOWN_PAGING, 40), 3)

  it('no response of as many rows is taken for the last', () => {
    expect([2, 3, 39].map((rows) => isSurelyLastPage(known, rows, 50))).toEqual([true, false, false])
  })

  it('a page shorter than the longest is not cut finer before its next page was asked for', () => {
    expect([3, 39, 40].map((rows) => isFullPage(known, rows))).toEqual([false, false, true])
  })

  it('slices are planned for the longest page that came', () => {
    expect(rowsAPage(known, 50)).toBe(40)
  })

  it('a longer response that was whole before is no evidence that a response of as many rows is whole', () => {
    expect(withFullPage({ ...UNKNOWN_PAGING, longestProvenPageRows: 60 }, 3).longestProvenPageRows).toBe(3)
    expect(withFullPage({ ...UNKNOWN_PAGING, longestProvenPageRows: 2 }, 3).longestProvenPageRows).toBe(2)
  })
})

describe('after a page longer than was asked for that another one followed', () => {
  const known = withFullPage(UNKNOWN_PAGING, 100)

  it('no response of as many rows as are asked for is taken for the last: the service may go back to that', () => {
    expect([49, 50, 99, 100, 101].map((rows) => isSurelyLastPage(known, rows, 50))).toEqual([
      true,
      false,
      false,
      false,
      false,
    ])
  })

  it('only a longer one yet may be of a service that does not page, and slices are planned for what is asked', () => {
    expect([51, 100, 101].map((rows) => mayBeUnpaged(known, rows, 50))).toEqual([false, false, true])
    expect([50, 51].map((rows) => mayBeUnpaged(UNKNOWN_PAGING, rows, 50))).toEqual([false, true])
    expect(rowsAPage(known, 50)).toBe(50)
  })
})

it('what was learnt is checked where no page of the run is longer, but not for a few rows', () => {
  const lengths = [
    [0, 0],
    [24, 24],
    [25, 25],
    [60, 60],
    [60, 61],
  ] as const
  const claims = lengths.map(([rows, longest]) => {
    const profile = withPage(withFullPage(UNKNOWN_PAGING, 100), longest)
    return completenessOfPage1(profile, { rows, rowsSent: rows, rowsAsked: 500 }, true)
  })
  expect(claims).toEqual(['certain', 'certain', 'unless clamped', 'unless clamped', 'certain'])
})

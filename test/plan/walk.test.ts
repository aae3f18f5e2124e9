/** What a walk has seen: which pages are called for, and whether its rows add up (product contract §5.4). */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  isSurelyLastPage,
  UNKNOWN_PAGING,
  withFullPage,
  withLastPage,
  lastPageLimit,
} from '../../src/plan/pagingProfile.ts'
import { Walk } from '../../src/plan/walk.ts'

interface Envelope {
  readonly totalCount?: number
  readonly pageSize?: number
}

const aWalk = (keyed: boolean) => new Walk({ keyed, rowsAsked: 500, usualPageSize: 500 })

/** A walk that saw these keys page by page, in this order of pages. */
function walked(pages: readonly (readonly number[])[], envelope: Envelope = {}): Walk {
  const state = aWalk(true)
  for (const [n, keys] of pages.entries()) state.saw({ pageNumber: n + 1, rowCount: keys.length, keys, ...envelope })
  return state
}

const somePages = fc.tuple(fc.nat(40), fc.integer({ min: 1, max: 9 })).map(([rows, size]) => {
  const keys = Array.from({ length: rows }, (_, n) => n)
  const pages = Array.from({ length: Math.max(1, Math.ceil(rows / size)) }, (_, n) =>
    keys.slice(n * size, (n + 1) * size),
  )
  return { pages, rows, size }
})

describe('a walk', () => {
  it('of an envelope calls for just the pages that its total needs, and meets it', () => {
    fc.assert(
      fc.property(somePages, ({ pages, rows, size }) => {
        const envelope = { totalCount: rows, pageSize: size }
        expect(walked(pages.slice(0, 1), envelope).lastPageByTotal).toBe(pages.length)
        const whole = walked(pages, envelope)
        expect([whole.meetsTotal, whole.rows, whole.distinct, whole.repeats]).toEqual([true, rows, rows, 0])
        expect(whole.isLastPageFull).toBe(rows > 0 && rows % size === 0)
      }),
    )
  })

  it('counts by the rows that came when the service clamps its page size without saying so', () => {
    expect(walked([[1, 2, 3]], { totalCount: 10, pageSize: 500 }).lastPageByTotal).toBe(4)
    expect(walked([[1, 2, 3]], { totalCount: 10, pageSize: 2 }).lastPageByTotal).toBe(5)
    expect(walked([[]], { totalCount: 10, pageSize: 5 }).lastPageByTotal).toBe(1)
  })

  it('does not agree with another one that has a row without a key twice in place of another row', () => {
    const whole = aWalk(true)
    whole.saw({ pageNumber: 1, rowCount: 4, keys: [1, 2], keyless: ['{"a":1}', '{"a":2}'] })
    const [lacksKey, lacksKeyless, same] = [aWalk(true), aWalk(true), aWalk(true)]
    lacksKey.saw({ pageNumber: 1, rowCount: 3, keys: [1], keyless: ['{"a":1}', '{"a":2}'] })
    lacksKey.saw({ pageNumber: 2, rowCount: 1, keys: [], keyless: ['{"a":1}'] })
    lacksKeyless.saw({ pageNumber: 1, rowCount: 3, keys: [1, 2], keyless: ['{"a":1}'] })
    lacksKeyless.saw({ pageNumber: 2, rowCount: 1, keys: [], keyless: ['{"a":1}'] })
    same.saw({ pageNumber: 1, rowCount: 4, keys: [2, 1], keyless: ['{"a":2}', '{"a":1}'] })
    expect([lacksKey, lacksKeyless, same].map((walk) => walk.agreesWith(whole))).toEqual([false, false, true])
    expect([lacksKey, lacksKeyless, same].map((walk) => whole.agreesWith(walk))).toEqual([false, false, true])
  })

  it('does not agree with another one if both have the same row without a key on two pages, and these pages have other rows', () => {
    const [one, other, sameOrder] = [aWalk(true), aWalk(true), aWalk(true)]
    for (const [walk, second] of [
      [one, 2],
      [other, 3],
      [sameOrder, 2],
    ] as const) {
      walk.saw({ pageNumber: 1, rowCount: 2, keys: [5 - second], keyless: ['{}'] })
      walk.saw({ pageNumber: 2, rowCount: 2, keys: [second], keyless: ['{}'] })
    }
    expect([other, sameOrder].map((walk) => walk.agreesWith(one))).toEqual([false, true])
  })

  it('does not add up when a row without a key may have come on two pages, in the place of one that never came', () => {
    const envelope = { totalCount: 4, pageSize: 2 }
    const state = aWalk(true)
    state.saw({ pageNumber: 1, rowCount: 2, keys: [1], keyless: ['{}'], ...envelope })
    state.saw({ pageNumber: 2, rowCount: 2, keys: [2], keyless: ['{}'], ...envelope })
    expect([state.distinct, state.meetsTotal]).toEqual([4, false])
    const other = aWalk(true)
    other.saw({ pageNumber: 1, rowCount: 2, keys: [1], keyless: ['{}'], ...envelope })
    other.saw({ pageNumber: 2, rowCount: 2, keys: [2], keyless: ['{"id":null}'], ...envelope })
    expect(other.meetsTotal).toBe(true)
  })

  it('does not add up when a row is missing, comes twice, or the total changed between pages', () => {
    const envelope = { totalCount: 4, pageSize: 2 }
    expect(walked([[1, 2], [3]], envelope).meetsTotal).toBe(false)
    expect(
      walked(
        [
          [1, 2],
          [2, 3],
        ],
        envelope,
      ).meetsTotal,
    ).toBe(false)
    expect(walked([[1, 2], [3, 4], [4]], envelope).meetsTotal).toBe(false)
    const state = aWalk(true)
    state.saw({ pageNumber: 1, rowCount: 2, keys: [1, 2], totalCount: 3 })
    state.saw({ pageNumber: 2, rowCount: 2, keys: [3, 4], totalCount: 4 })
    expect([state.totalCount, state.meetsTotal]).toEqual([undefined, false])
    expect(walked([[1, 2]]).meetsTotal, 'the response has no total').toBe(false)
  })

  it('counts rows without a key one by one', () => {
    const state = aWalk(true)
    state.saw({ pageNumber: 1, rowCount: 3, keys: [1], totalCount: 3 })
    expect([state.distinct, state.meetsTotal, state.latestNewRows]).toEqual([3, true, 3])
    const keyless = aWalk(false)
    keyless.saw({ pageNumber: 1, rowCount: 3, keys: [], totalCount: 3 })
    expect([keyless.distinct, keyless.meetsTotal, keyless.latestNewRows]).toEqual([3, true, 3])
  })

  it('knows how much of the last page was new, whatever order pages come in', () => {
    const state = aWalk(true)
    state.saw({ pageNumber: 1, rowCount: 2, keys: [1, 2] })
    state.saw({ pageNumber: 3, rowCount: 1, keys: [5] })
    state.saw({ pageNumber: 2, rowCount: 2, keys: [2, 4] })
    expect([state.latestNewRows, state.repeats, state.lastPageRows, state.firstPageRows]).toEqual([1, 1, 1, 2])
    state.saw({ pageNumber: 4, rowCount: 0, keys: [] })
    expect([state.latestNewRows, state.lastPageRows]).toEqual([0, 0])
  })

  it('agrees with another that brought the same keys, in any order and cut in any way, and with no other', () => {
    const keys = fc.uniqueArray(fc.nat(30), { maxLength: 10 })
    fc.assert(
      fc.property(keys, keys, fc.nat(10), (one, other, cut) => {
        const agrees = walked([one]).agreesWith(walked([other.slice(0, cut), other.slice(cut)]))
        expect(agrees).toBe(new Set([...one, ...other]).size === one.length && one.length === other.length)
        expect(walked([one]).agreesWith(walked([one.toReversed()]))).toBe(true)
      }),
    )
  })
})

describe('the page sizes seen', () => {
  it('say that an answer is whole only if it is shorter than any page ever followed by another', () => {
    expect(isSurelyLastPage(UNKNOWN_PAGING, 0, 500)).toBe(true)
    expect(isSurelyLastPage(UNKNOWN_PAGING, 5, 500)).toBe(false)
    expect(isSurelyLastPage(UNKNOWN_PAGING, 501, 500)).toBe(false)
    const full = withFullPage(UNKNOWN_PAGING, 100)
    expect([isSurelyLastPage(full, 99, 500), isSurelyLastPage(full, 100, 500)]).toEqual([true, false])
    const shorter = withFullPage(full, 40)
    expect([isSurelyLastPage(shorter, 39, 500), isSurelyLastPage(shorter, 40, 500)]).toEqual([true, false])
  })

  it('learn from pages, and trust a page that was followed more than the largest one seen', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat(500)), { maxLength: 20 }), (pages) => {
        const known = pages.reduce(
          (sizes, [followed, rows]) => (followed ? withFullPage : withLastPage)(sizes, rows),
          UNKNOWN_PAGING,
        )
        const followed = pages.filter(([isFollowed]) => isFollowed).map(([, rows]) => rows)
        const largest = Math.max(0, ...pages.map(([, rows]) => rows))
        expect(lastPageLimit(known)).toBe(followed.length === 0 ? largest : Math.min(...followed))
      }),
    )
  })
})

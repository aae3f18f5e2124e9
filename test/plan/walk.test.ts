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
import { afterPage, beginWalk, totalOf, type Walk, type WalkPage } from '../../src/plan/walk.ts'
import { hasMoved, haveSameRows, isLastPageFull, lastPageByTotal, meetsTotal } from '../../src/plan/walkFacts.ts'

interface Envelope {
  readonly totalCount?: number
  readonly pageSize?: number
}

const walkOver = (...pages: readonly WalkPage[]): Walk =>
  pages.reduce((walk, page) => afterPage(walk, page), beginWalk(500))

/** A walk that saw these keys page by page, in this order of pages. */
const walked = (pages: readonly (readonly number[])[], envelope: Envelope = {}): Walk =>
  walkOver(...pages.map((keys, n) => ({ pageNumber: n + 1, rowCount: keys.length, keys, ...envelope })))

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
        expect(lastPageByTotal(walked(pages.slice(0, 1), envelope))).toBe(pages.length)
        const whole = walked(pages, envelope)
        expect([meetsTotal(whole), whole.rows, whole.distinct, whole.repeats]).toEqual([true, rows, rows, 0])
        expect(isLastPageFull(whole)).toBe(rows > 0 && rows % size === 0)
      }),
    )
  })

  it('counts by the rows that came when the service clamps its page size without saying so', () => {
    expect(lastPageByTotal(walked([[1, 2, 3]], { totalCount: 10, pageSize: 500 }))).toBe(4)
    expect(lastPageByTotal(walked([[1, 2, 3]], { totalCount: 10, pageSize: 2 }))).toBe(5)
    expect(lastPageByTotal(walked([[]], { totalCount: 10, pageSize: 5 }))).toBe(1)
  })

  it('does not agree with another one that has a row without a key twice in place of another row', () => {
    const whole = walkOver({ pageNumber: 1, rowCount: 4, keys: [1, 2], keyless: ['{"a":1}', '{"a":2}'] })
    const again = { pageNumber: 2, rowCount: 1, keys: [], keyless: ['{"a":1}'] }
    const lacksKey = walkOver({ pageNumber: 1, rowCount: 3, keys: [1], keyless: ['{"a":1}', '{"a":2}'] }, again)
    const lacksKeyless = walkOver({ pageNumber: 1, rowCount: 3, keys: [1, 2], keyless: ['{"a":1}'] }, again)
    const same = walkOver({ pageNumber: 1, rowCount: 4, keys: [2, 1], keyless: ['{"a":2}', '{"a":1}'] })
    expect([lacksKey, lacksKeyless, same].map((walk) => haveSameRows(walk, whole))).toEqual([false, false, true])
    expect([lacksKey, lacksKeyless, same].map((walk) => haveSameRows(whole, walk))).toEqual([false, false, true])
  })

  it('does not agree with another one if both have the same row without a key on two pages, and these pages have other rows', () => {
    const [one, other, sameOrder] = [2, 3, 2].map((second) =>
      walkOver(
        { pageNumber: 1, rowCount: 2, keys: [5 - second], keyless: ['{}'] },
        { pageNumber: 2, rowCount: 2, keys: [second], keyless: ['{}'] },
      ),
    ) as [Walk, Walk, Walk]
    expect([other, sameOrder].map((walk) => haveSameRows(walk, one))).toEqual([false, true])
  })

  it('does not add up when a row without a key may have come on two pages, in the place of one that never came', () => {
    const envelope = { totalCount: 4, pageSize: 2 }
    const first = { pageNumber: 1, rowCount: 2, keys: [1], keyless: ['{}'], ...envelope }
    const second = { pageNumber: 2, rowCount: 2, keys: [2], ...envelope }
    const walk = walkOver(first, { ...second, keyless: ['{}'] })
    expect([walk.distinct, meetsTotal(walk)]).toEqual([4, false])
    expect(meetsTotal(walkOver(first, { ...second, keyless: ['{"id":null}'] }))).toBe(true)
  })

  it('does not add up when a row is missing, comes twice, or the total changed between pages', () => {
    const envelope = { totalCount: 4, pageSize: 2 }
    for (const pages of [
      [[1, 2], [3]],
      [
        [1, 2],
        [2, 3],
      ],
      [[1, 2], [3, 4], [4]],
    ])
      expect(meetsTotal(walked(pages, envelope))).toBe(false)
    const walk = walkOver(
      { pageNumber: 1, rowCount: 2, keys: [1, 2], totalCount: 3 },
      { pageNumber: 2, rowCount: 2, keys: [3, 4], totalCount: 4 },
    )
    expect([totalOf(walk), meetsTotal(walk), hasMoved(walk)]).toEqual([undefined, false, true])
    expect(meetsTotal(walked([[1, 2]])), 'the response has no total').toBe(false)
  })

  it('counts rows without a key one by one', () => {
    const walks = [[1], []].map((keys) => walkOver({ pageNumber: 1, rowCount: 3, keys, totalCount: 3 }))
    for (const walk of walks) expect([walk.distinct, meetsTotal(walk), walk.latest.newRows]).toEqual([3, true, 3])
  })

  it('knows how much of the last page was new, whatever order pages come in', () => {
    const walk = walkOver(
      { pageNumber: 1, rowCount: 2, keys: [1, 2] },
      { pageNumber: 3, rowCount: 1, keys: [5] },
      { pageNumber: 2, rowCount: 2, keys: [2, 4] },
    )
    expect([walk.latest.newRows, walk.repeats, walk.last.rows, walk.first.rows]).toEqual([1, 1, 1, 2])
    const ended = afterPage(walk, { pageNumber: 4, rowCount: 0, keys: [] })
    expect([ended.latest.newRows, ended.last.rows]).toEqual([0, 0])
  })

  it('agrees with another that brought the same keys, in any order and cut in any way, and with no other', () => {
    const keys = fc.uniqueArray(fc.nat(30), { maxLength: 10 })
    fc.assert(
      fc.property(keys, keys, fc.nat(10), (one, other, cut) => {
        const agrees = haveSameRows(walked([one]), walked([other.slice(0, cut), other.slice(cut)]))
        expect(agrees).toBe(new Set([...one, ...other]).size === one.length && one.length === other.length)
        expect(haveSameRows(walked([one]), walked([one.toReversed()]))).toBe(true)
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

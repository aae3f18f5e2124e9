/** Where a later page begins in time: only where its rows come after those of the first page. */
import { array, assert, integer, property } from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Instant } from '../../src/instant.ts'
import { beginningOf, type RowStamps } from '../../src/plan/stampSample.ts'

const at = (...stamps: (number | undefined)[]): RowStamps => stamps as RowStamps
const span = { since: 0 as Instant, until: 1_000 as Instant }

describe('a page begins', () => {
  it('at the earliest stamp of its rows, in whatever order they stand on it', () => {
    expect(beginningOf([at(1), at(5), at(3)], [at(90), at(70), at(80)], span)).toBe(70)
  })

  it('by whichever of two stamps the pages follow', () => {
    expect(beginningOf([at(5, 1), at(600, 2)], [at(7, 50), at(9, 40)], span)).toBe(40)
  })

  it('nowhere where pages run back in time, have no order, share their time, or have rows without a stamp', () => {
    expect(beginningOf([at(80), at(90)], [at(10), at(20)], span)).toBeUndefined()
    expect(beginningOf([at(1), at(90)], [at(50), at(200)], span)).toBeUndefined()
    expect(beginningOf([at(1), at(50)], [at(50), at(60)], span)).toBeUndefined()
    expect(beginningOf([at(1), at(undefined)], [at(50), at(60)], span)).toBeUndefined()
    expect(beginningOf([at(1)], [at(undefined)], span)).toBeUndefined()
    expect(beginningOf([at()], [at()], span)).toBeUndefined()
    expect(beginningOf([], [], span)).toBeUndefined()
  })

  it('nowhere at an edge of the span or outside, where nothing would be cut off', () => {
    expect(beginningOf([at(1)], [at(1_000)], span)).toBeUndefined()
    expect(beginningOf([at(-9)], [at(0)], span)).toBeUndefined()
    expect(beginningOf([at(-9)], [at(0)], { since: undefined, until: span.until })).toBe(0)
  })

  it('behind all of the first page and before none of its own rows', () => {
    const stamps = array(integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 20 })
    assert(
      property(stamps, stamps, (first, later) => {
        const found = beginningOf(
          first.map((stamp) => at(stamp)),
          later.map((stamp) => at(stamp)),
          span,
        )
        const isAfter = Math.min(...later) > Math.max(...first)
        expect(found).toBe(isAfter ? Math.min(...later) : undefined)
      }),
    )
  })
})

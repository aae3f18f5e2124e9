/** Windows of a backfill cover its range without a gap, whatever is known of where its rows stand. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Instant } from '../../src/instant.ts'
import {
  BACKFILL_WINDOWS_MAX,
  type CountedRange,
  type WindowRange,
  requestsFor,
  rowsAWindow,
  rowsIn,
  windowsByRows,
  windowsByTime,
} from '../../src/plan/backfillWindows.ts'
import type { BoundedSpan } from '../../src/plan/spans.ts'

const HOUR = 3_600_000_000
const DAY = 24 * HOUR

const dayOf = (n: number): Instant => (n * DAY) as Instant

/** Parts that touch each other, with any number of rows on one or two axes. */
const parts = fc
  .tuple(
    fc.integer({ min: 0, max: 2 ** 50 }),
    fc.integer({ min: 1, max: 2 }),
    fc.array(
      fc.tuple(fc.integer({ min: 1, max: 900 * DAY }), fc.array(fc.nat(3_000_000), { minLength: 2, maxLength: 2 })),
      {
        minLength: 1,
        maxLength: 40,
      },
    ),
  )
  .map(([from, axes, lengths]) => {
    let at = from
    return lengths.map(([length, rows]): CountedRange => {
      const since = at as Instant
      at += length
      return { since, until: at as Instant, rows: rows.slice(0, axes) }
    })
  })

function checkCover(windows: readonly WindowRange[], range: BoundedSpan): void {
  expect(windows.length).toBeGreaterThan(0)
  expect(windows.length).toBeLessThanOrEqual(BACKFILL_WINDOWS_MAX)
  expect(windows[0]?.since).toBe(range.since)
  expect(windows.at(-1)?.until).toBe(range.until)
  for (const [index, { since, until }] of windows.entries()) {
    if (index > 0) expect(since).toBe(windows[index - 1]?.until)
    if (range.until > range.since) expect(until).toBeGreaterThan(since)
  }
}

describe('windows by rows', () => {
  it('cover the range, touch each other and are of a bounded number', { tags: 'long' }, () => {
    fc.assert(
      fc.property(parts, fc.integer({ min: 1, max: 500_000 }), (known, rowsEach) => {
        const range = { since: known[0]?.since as Instant, until: known.at(-1)?.until as Instant }
        checkCover(windowsByRows(known, rowsEach), range)
      }),
    )
  })

  it('lose no rows but what rounding takes', () => {
    fc.assert(
      fc.property(parts, fc.integer({ min: 1_000, max: 500_000 }), (known, rowsEach) => {
        const windows = windowsByRows(known, rowsEach)
        const planned = windows.reduce((sum, { rows }) => sum + rowsIn({ rows: rows ?? [] }), 0)
        const total = known.reduce((sum, part) => sum + rowsIn(part), 0)
        const pieces = known.reduce((sum, part) => sum + Math.ceil(rowsIn(part) / rowsEach) + 1, 0)
        expect(Math.abs(planned - total)).toBeLessThanOrEqual(2 * pieces)
      }),
    )
  })

  it('hold about as many rows as wanted, when that gives few enough', () => {
    const known = [{ since: 0 as Instant, until: (100 * DAY) as Instant, rows: [1_000_000] }]
    const windows = windowsByRows(known, rowsAWindow(1_000_000, { pageRows: 500, loadRowsMax: 200_000 }))
    expect(windows).toHaveLength(32)
    for (const { rows } of windows) expect(rows).toEqual([31_250])
  })

  it('join what is nearly empty, and cut where rows stand close', () => {
    const known = [0, 1, 2, 3].map((n) => ({ since: dayOf(n), until: dayOf(n + 1), rows: [n === 3 ? 900 : 2] }))
    const windows = windowsByRows(known, 300)
    expect(windows.map(({ since }) => since / DAY)).toEqual([0, 3, 3 + 1 / 3, 3 + 2 / 3])
  })

  it('of one instant is that instant', () => {
    const known = [{ since: 5 as Instant, until: 5 as Instant, rows: [700_000] }]
    expect(windowsByRows(known, 1_000)).toEqual(known)
    expect(windowsByTime({ since: 5 as Instant, until: 5 as Instant })).toHaveLength(1)
  })
})

describe('windows by time', () => {
  it('cover the range, touch each other and are few', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 50 }), fc.nat(40 * 365 * DAY), (since, length) => {
        const range = { since: since as Instant, until: (since + length) as Instant }
        const windows = windowsByTime(range)
        checkCover(windows, range)
        expect(windows.length).toBeLessThanOrEqual(32)
      }),
    )
  })
})

describe('rows that a window should hold', () => {
  it('are never more than one load takes, nor so few that pages end half-empty', () => {
    const sizes = { pageRows: 500, loadRowsMax: 200_000 }
    expect(rowsAWindow(0, sizes)).toBe(2_000)
    expect(rowsAWindow(20_000, sizes)).toBe(2_000)
    expect(rowsAWindow(3_200_000, sizes)).toBe(100_000)
    expect(rowsAWindow(50_000_000, sizes)).toBe(200_000)
    expect(rowsAWindow(50_000, { pageRows: 500, loadRowsMax: 100 })).toBe(100)
  })
})

describe('requests that a window costs', () => {
  const costs = { pageRows: 100, answer: 'envelope', readsTwice: false } as const

  it('are its pages on each axis, at least one each', () => {
    expect(requestsFor([250, 0], costs)).toBe(3 + 1)
    expect(requestsFor(undefined, costs)).toBe(1)
  })

  it('are more for a bare array of several pages, and double where keys are read again', () => {
    expect(requestsFor([1_000], { ...costs, answer: 'array' })).toBeGreaterThan(10)
    expect(requestsFor([50], { ...costs, answer: 'array' })).toBe(1)
    expect(requestsFor([50], { ...costs, answer: 'array', readsTwice: true })).toBe(2)
  })
})

/** What page numbers count from, as services of both kinds answer, in any order and with rows that come and go. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Instant } from '../../src/instant.ts'
import { loneStamp, type PageRows, sharedRows, shownBy } from '../../src/plan/firstNumber.ts'

const rowsOf = (keys: readonly number[]): PageRows => ({ rowCount: keys.length, keys })
const EMPTY = rowsOf([])
const upTo = (rows: number): number[] => Array.from({ length: rows }, (_, n) => n)

/** The page with this number of a service that counts from `first`. */
const pageOf = (rows: number, { number, size, first }: { number: number; size: number; first: 0 | 1 }): PageRows =>
  number < first ? EMPTY : rowsOf(upTo(rows).slice((number - first) * size, (number - first + 1) * size))

const at = (micros: number) => micros as Instant
const sizes = fc.integer({ min: 1, max: 20 })

describe('page 0 between two answers for page 1', () => {
  it('shows what a service that doesn’t move counts from, wherever it has rows', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 100 }), sizes, fc.constantFrom(0, 1), (rows, size, first) => {
        const page = (number: number) => pageOf(rows, { number, size, first })
        expect(shownBy(page(1), page(0), page(1))).toBe(rows === 0 ? 'no rows' : first)
      }),
    )
  })

  it('is the first one under another number where it shows the rows of page 1', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), sizes, (rows, size) => {
        const one = pageOf(rows, { number: 1, size, first: 1 })
        expect(shownBy(one, one, one)).toBe(1)
        expect(shownBy(EMPTY, one, one)).toBe(1)
      }),
    )
  })

  it('says nothing where some rows moved between them, or came', () => {
    expect(shownBy(rowsOf([5, 6, 7, 8]), rowsOf([1, 2, 3, 5]), rowsOf([6, 7, 8, 9]))).toBe('moved')
    expect(shownBy(rowsOf([5, 6, 7]), rowsOf([1, 2]), rowsOf([5, 6, 7]))).toBe('moved')
    expect(shownBy(EMPTY, EMPTY, rowsOf([1]))).toBe('moved')
    expect(shownBy(rowsOf([1]), EMPTY, EMPTY)).toBe('moved')
  })
})

it('rows that two pages share are counted by their keys', () => {
  expect(sharedRows(rowsOf([1, 2, 3]), rowsOf([3, 4, 1]))).toBe(2)
})

describe('a lone stamp', () => {
  it('is one that no other row has, nor one near it', () => {
    expect(loneStamp([[at(1)], [at(1)], [at(50)]], 1)).toBe(50)
    expect(loneStamp([[at(1)], [at(2)], [at(3)]], 1)).toBeUndefined()
    expect(loneStamp([[undefined], []], 1)).toBeUndefined()
  })

  it('may stand twice in its own row', () => {
    expect(loneStamp([[at(7), at(7)]], 1)).toBe(7)
    expect(loneStamp([[at(7), at(8)]], 5)).toBe(7)
  })

  it('is always one that keeps its distance from all other rows', () => {
    const stamps = fc.integer({ min: 0, max: 60 }).map(at)
    fc.assert(
      fc.property(
        fc.array(fc.tuple(stamps, stamps), { maxLength: 8 }),
        fc.integer({ min: 1, max: 9 }),
        (rows, near) => {
          const found = loneStamp(rows, near)
          const isLone = (one: Instant) =>
            rows.filter((row) => row.some((each) => Math.abs(each - one) <= near)).length === 1
          if (found === undefined) expect(rows.flat().some(isLone)).toBe(false)
          else expect(isLone(found)).toBe(true)
        },
      ),
    )
  })
})

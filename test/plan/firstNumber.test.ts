/** What tells what page numbers count from: a row of page 1 that can be asked for by itself. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Instant } from '../../src/instant.ts'
import { isolatedStamp, type PageRows, sharedRows } from '../../src/plan/firstNumber.ts'

const rowsOf = (keys: readonly number[]): PageRows => ({ rowCount: keys.length, keys })
const at = (micros: number) => micros as Instant

it('rows that two pages share are counted by their keys', () => {
  expect(sharedRows(rowsOf([1, 2, 3]), rowsOf([3, 4, 1]))).toBe(2)
})

describe('a lone stamp', () => {
  it('is one that no other row has, nor one near it', () => {
    expect(isolatedStamp([[at(1)], [at(1)], [at(50)]], 1)).toBe(50)
    expect(isolatedStamp([[at(1)], [at(2)], [at(3)]], 1)).toBeUndefined()
    expect(isolatedStamp([[undefined], []], 1)).toBeUndefined()
  })

  it('may stand twice in its own row', () => {
    expect(isolatedStamp([[at(7), at(7)]], 1)).toBe(7)
    expect(isolatedStamp([[at(7), at(8)]], 5)).toBe(7)
  })

  it('is always one that keeps its distance from all other rows', () => {
    const stamps = fc.integer({ min: 0, max: 60 }).map(at)
    fc.assert(
      fc.property(
        fc.array(fc.tuple(stamps, stamps), { maxLength: 8 }),
        fc.integer({ min: 1, max: 9 }),
        (rows, near) => {
          const found = isolatedStamp(rows, near)
          const isLone = (one: Instant) =>
            rows.filter((row) => row.some((each) => Math.abs(each - one) <= near)).length === 1
          if (found === undefined) expect(rows.flat().some(isLone)).toBe(false)
          else expect(isLone(found)).toBe(true)
        },
      ),
    )
  })
})

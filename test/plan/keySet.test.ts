/** A KeySet holds what a Set of the same keys would. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { KeySet } from '../../src/plan/keySet.ts'

const aKey = fc.oneof(
  fc.integer({ min: -5, max: 5 }),
  fc.maxSafeInteger(),
  fc.constantFrom(0, -0, 2 ** 32, 2 ** 32 + 1, -(2 ** 31), Number.MAX_SAFE_INTEGER),
  fc.string({ maxLength: 3 }),
)

describe('a KeySet', () => {
  it('agrees with a Set on every key added, in whatever order', () => {
    fc.assert(
      fc.property(fc.array(aKey, { maxLength: 200 }), aKey, (keys, other) => {
        const ours = new KeySet()
        const theirs = new Set<number | string>()
        for (const key of keys) {
          expect(ours.add(key)).toBe(!theirs.has(key))
          theirs.add(key)
          expect(ours.size).toBe(theirs.size)
        }
        for (const key of [...keys, other]) expect(ours.has(key)).toBe(theirs.has(key))
        expect(new Set(ours)).toEqual(theirs)
      }),
      { numRuns: 300 },
    )
  })

  it.each([
    ['that follow each other', (n: number) => n],
    ['a thousand apart', (n: number) => n * 1_024],
    ['that differ only in their upper half', (n: number) => n * 2 ** 32],
    ['below zero', (n: number) => -n],
  ])('keeps a hundred thousand keys %s', (_, key) => {
    const keys = new KeySet()
    for (let n = 1; n <= 100_000; n += 1) keys.add(key(n))
    for (let n = 1; n <= 100_000; n += 1) if (!keys.has(key(n))) expect.fail(`lost ${key(n)}`)
    expect([keys.size, keys.has(key(100_001)), keys.add(key(1))]).toEqual([100_000, false, false])
  })
})

/**
 * The seeds of the tests: the first 40 with the short tests, 460 more in shares of equal size with the long ones. They
 * are the same each time, so that a failure can be repeated.
 */
import { describe, expect, it } from 'vitest'
import { failureText } from './failure.ts'
import { simulate } from './simulate.ts'

const SHORT_SEEDS = 40
const SEEDS = 500
/** Long test files in seeds/. */
const SHARES = 5
export const TEST_MS_MAX = 10 * 60_000
/** Few enough that a failed test names a short range to look at. */
const SEEDS_A_TEST = 20

export async function pass(seed: number): Promise<void> {
  const result = await simulate(seed, { historyLines: 60 })
  expect(result.broken, failureText(result)).toEqual([])
}

export const runShortSeeds = (): void => runSeeds(1, SHORT_SEEDS + 1)

/** Runs one share of the long seeds; `share` counts from 1. */
export function runShare(share: number): void {
  runSeeds(firstSeedOf(share), firstSeedOf(share + 1))
}

const firstSeedOf = (share: number): number =>
  SHORT_SEEDS + 1 + Math.round(((share - 1) * (SEEDS - SHORT_SEEDS)) / SHARES)

/** `end` is the first seed that is not run. */
function runSeeds(from: number, end: number): void {
  const groups = Array.from({ length: Math.ceil((end - from) / SEEDS_A_TEST) }, (_, group) => {
    const first = from + group * SEEDS_A_TEST
    return { first, last: Math.min(first + SEEDS_A_TEST, end) - 1 }
  })
  describe('the warehouse keeps its promises in the simulated world', () => {
    it.each(groups)('of seeds $first to $last', { timeout: TEST_MS_MAX }, async ({ first, last }) => {
      for (let seed = first; seed <= last; seed += 1) await pass(seed)
    })
  })
}

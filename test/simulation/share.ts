/**
 * The seeds of the test command, in shares of equal size. `SIMULATE_SEEDS` says how many there are, `SIMULATE_FIRST`
 * where they begin: not other ones each time, since nobody could repeat a red test.
 */
import { describe, expect, it } from 'vitest'
import { failureText } from './failure.ts'
import { simulate } from './simulate.ts'

const SEEDS = Number(process.env['SIMULATE_SEEDS'] ?? 500)
const FIRST = Number(process.env['SIMULATE_FIRST'] ?? 1)
/** Files in seeds/. */
const SHARES = 5
export const TEST_MS_MAX = 10 * 60_000
/** So many seeds a test: a red one then says in which of them to look. */
const SEEDS_A_TEST = 20

export async function pass(seed: number): Promise<void> {
  const result = await simulate(seed, { historyLines: 60 })
  expect(result.broken, failureText(result)).toEqual([])
}

/** `share` counts from 1. */
export function runShare(share: number): void {
  const [from, end] = [share - 1, share].map((part) => FIRST + Math.round((part * SEEDS) / SHARES)) as [number, number]
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

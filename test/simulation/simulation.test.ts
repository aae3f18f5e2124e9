/**
 * The real engine in seeded worlds where everything goes wrong (`npm run simulate` runs more of them). `SIMULATE_SEEDS`
 * says how many, `SIMULATE_FIRST` where they begin: not other ones each time, since nobody could repeat a red test.
 */
import { describe, expect, it } from 'vitest'
import { CORPUS } from './corpus.ts'
import { failureText } from './failure.ts'
import { faultNames } from './faults.ts'
import { drawScenario } from './scenario.ts'
import { simulate } from './simulate.ts'

const SEEDS = Number(process.env['SIMULATE_SEEDS'] ?? 60)
const FIRST = Number(process.env['SIMULATE_FIRST'] ?? 1)
const TEST_MS_MAX = 10 * 60_000
/** So many seeds a test: a red one then says in which of them to look. */
const SEEDS_A_TEST = 20

const groups = Array.from({ length: Math.ceil(SEEDS / SEEDS_A_TEST) }, (_, group) => {
  const from = FIRST + group * SEEDS_A_TEST
  return { from, to: Math.min(from + SEEDS_A_TEST, FIRST + SEEDS) - 1 }
})

async function pass(seed: number): Promise<void> {
  const result = await simulate(seed, { historyLines: 60 })
  expect(result.broken, failureText(result)).toEqual([])
}

describe('the warehouse keeps its promises in the simulated world', () => {
  it.each(CORPUS)('of seed $seed, which found: $found', { timeout: TEST_MS_MAX }, ({ seed }) => pass(seed))

  it.each(groups)('of seeds $from to $to', { timeout: TEST_MS_MAX }, async ({ from, to }) => {
    for (let seed = from; seed <= to; seed += 1) await pass(seed)
  })
})

it('the same seed has the same history', { timeout: TEST_MS_MAX }, async () => {
  const [first, again] = [await simulate(7, { historyLines: 400 }), await simulate(7, { historyLines: 400 })]
  expect(again.history).toEqual(first.history)
  expect(again.figures).toEqual(first.figures)
})

it('every kind of fault is drawn sooner or later', () => {
  const drawn = new Set(Array.from({ length: 300 }, (_, seed) => [...drawScenario(seed).faults]).flat())
  expect(faultNames.filter((fault) => !drawn.has(fault))).toEqual([])
})

/**
 * The real engine in seeded worlds where everything goes wrong: seeds that once found something, and what a seed has to
 * be. The other seeds are in seeds/; `npm run simulate` runs more of them.
 */
import { describe, expect, it } from 'vitest'
import { CORPUS } from './corpus.ts'
import { faultNames } from './faults.ts'
import { drawScenario } from './scenario.ts'
import { pass, TEST_MS_MAX } from './share.ts'
import { simulate } from './simulate.ts'

describe('the warehouse keeps its promises in the simulated world', () => {
  it.each(CORPUS)('of seed $seed, which found: $found', { timeout: TEST_MS_MAX }, ({ seed }) => pass(seed))
})

it.each([7, 64])('seed %i has the same history each time', { timeout: TEST_MS_MAX }, async (seed) => {
  const [first, again] = [await simulate(seed, { historyLines: 400 }), await simulate(seed, { historyLines: 400 })]
  expect(again.history).toEqual(first.history)
  expect(again.figures).toEqual(first.figures)
  expect([...again.tally.counts]).toEqual([...first.tally.counts])
})

it('every kind of fault is drawn sooner or later', () => {
  const drawn = new Set(Array.from({ length: 300 }, (_, seed) => [...drawScenario(seed).faults]).flat())
  expect(faultNames.filter((fault) => !drawn.has(fault))).toEqual([])
})

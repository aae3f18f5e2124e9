/**
 * The real engine in seeded worlds where everything goes wrong: seeds that once found something, and what a seed has to
 * be. The other seeds are in seeds/; `npm run simulate` runs more of them.
 */
import { expect, it } from 'vitest'
import { faultNames } from './faults.ts'
import { drawScenario } from './scenario.ts'
import { repeatsItself, runShortCorpus } from './share.ts'

runShortCorpus()

repeatsItself(7)

it('every kind of fault is drawn sooner or later', () => {
  const drawn = new Set(Array.from({ length: 300 }, (_, seed) => [...drawScenario(seed).faults]).flat())
  expect(faultNames.filter((fault) => !drawn.has(fault))).toEqual([])
})

/**
 * The real engine in seeded worlds where everything goes wrong: seeds that once found something, and what a seed has to
 * be. The other seeds are in seeds/; `npm run simulate` runs more of them.
 */
import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { faultNames } from './faults.ts'
import { WRITES_MARKS } from './machine.ts'
import { drawScenario } from './scenario.ts'
import { repeatsItself, runShortCorpus } from './share.ts'
import { simulate } from './simulate.ts'

runShortCorpus()

repeatsItself(7)

it('every kind of fault is drawn sooner or later', () => {
  const drawn = new Set(Array.from({ length: 300 }, (_, seed) => [...drawScenario(seed).faults]).flat())
  expect(faultNames.filter((fault) => !drawn.has(fault))).toEqual([])
})

it('a statement that writes marks is recognised, so that its COMMIT is checked', async () => {
  expect(await readFile('src/warehouse/books/windows.ts', 'utf8')).toMatch(WRITES_MARKS)
})

it('marks are checked too when no row is written', { timeout: 60_000 }, async () => {
  // This seed draws no fault, and its service never has a row. So all commits move only marks.
  const { figures, broken } = await simulate(4_586)
  expect(broken).toEqual([])
  expect(figures).toMatchObject({ rows: 0, changes: 0 })
  expect(figures.looks).toBeGreaterThan(0)
})

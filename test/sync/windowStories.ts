/** Stories of windows.test.ts that windows.long.test.ts repeats with more reports and styles. */
import { expect } from 'vitest'
import type { World, WorldReport } from '../../src/sandbox/server.ts'
import { NEVER } from '../../src/sandbox/ticks.ts'
import { aTideWithoutCollections as aTide } from '../support/tide.ts'
import { bodiesOf, differencesOf } from './stories.ts'

const SMALL_PAGES = { currencies: ['EUR'], defaults: { page_size: 20 } }

function neverEdited(world: World, report: WorldReport): number {
  return world.keys(report).filter((key) => world.stampsOf(report, key).modified === NEVER).length
}

export async function neverEditedInOne(report: WorldReport): Promise<void> {
  await using tide = await aTide({ sandbox: { rows: 60 }, settings: { currencies: ['EUR'] } })
  await tide.sync(report)
  expect(neverEdited(tide.sandbox.world, report)).toBeGreaterThan(5)
  expect(await differencesOf(tide, report)).toEqual([])
  expect(bodiesOf(tide, report).filter((body) => 'modifiedSince' in body || 'createdSince' in body)).toHaveLength(1)
}

export async function neverEditedByCreation(report: WorldReport): Promise<void> {
  await using tide = await aTide({ sandbox: { rows: 120, collections: false }, settings: SMALL_PAGES })
  await tide.sync(report)
  expect(await differencesOf(tide, report)).toEqual([])
  const bodies = bodiesOf(tide, report)
  expect(bodies.filter(({ createdUntil }) => createdUntil !== undefined).length).toBeGreaterThan(3)
  expect(
    bodies.filter((body) => !('createdUntil' in body) && !('modifiedSince' in body) && body.pageNumber !== 1),
  ).toEqual([])
}

export async function neverEditedByWalking(report: WorldReport): Promise<void> {
  const settings = { ...SMALL_PAGES, reports: { [report]: { ask_created: false } } }
  await using tide = await aTide({ sandbox: { rows: 120, collections: false }, settings })
  await tide.sync(report)
  expect(await differencesOf(tide, report)).toEqual([])
  expect(bodiesOf(tide, report).filter((body) => 'createdSince' in body || 'createdUntil' in body)).toEqual([])
}

export async function stampsOfStyle(timeStyle: 'zulu' | 'offset' | 'bare' | 'mixed'): Promise<void> {
  await using tide = await aTide({ sandbox: { rows: 16, timeStyle } })
  await tide.sync('events', 'budgets')
  const { world } = tide.sandbox
  for (const report of ['events', 'budgets'] as const) world.edit(report, world.liveKeys(report)[1] as number)
  await tide.sync('events', 'budgets')
  expect(await differencesOf(tide, 'events', 'budgets')).toEqual([])
}

/**
 * A service that refuses page numbers behind the last page, as functions of a report and a size. beyond.test.ts calls
 * them for each kind of answer, and beyond.long.test.ts for more reports and sizes.
 */
import { expect } from 'vitest'
import type { WorldReport } from '../../src/sandbox/server.ts'
import { aTide, type Tide } from '../support/tide.ts'
import { differencesOf, failureOf, spread, stampAlike } from './stories.ts'

const REQUESTS_MAX = 700
const PAGE_ROWS = 20

const aLeanTide = (rows: number, faults: string[]): Promise<Tide> =>
  aTide({
    sandbox: { rows, collections: false, faults },
    settings: { currencies: ['EUR'], defaults: { page_size: PAGE_ROWS } },
  })

export async function refusedBehindLast(report: WorldReport, rows: number): Promise<void> {
  await using tide = await aLeanTide(rows, ['beyond:404'])
  await tide.sync(report)
  expect(await differencesOf(tide, report)).toEqual([])
  spread(tide, report, { rows: 45, minutes: 3 })
  await tide.sync(report)
  const { world } = tide.sandbox
  for (const key of world.liveKeys(report).slice(0, PAGE_ROWS)) world.edit(report, key)
  await tide.sync(report)
  expect(await differencesOf(tide, report)).toEqual([])
  expect(tide.sandbox.requests.total).toBeLessThan(REQUESTS_MAX)
}

export async function refusedAtOneInstant(report: WorldReport, rows: number): Promise<void> {
  await using tide = await aLeanTide(60, ['beyond:404'])
  await tide.sync(report)
  stampAlike(tide, report, tide.sandbox.world.liveKeys(report).slice(0, rows - 1))
  await tide.sync(report)
  expect(await differencesOf(tide, report)).toEqual([])
}

export async function refusedBehindCap(report: WorldReport, cap: number): Promise<void> {
  await using tide = await aLeanTide(243, [`cap:${cap}`, 'beyond'])
  await tide.sync(report)
  expect(await differencesOf(tide, report)).toEqual([])
  spread(tide, report, { rows: 45, minutes: 3 })
  await tide.sync(report)
  expect(await differencesOf(tide, report)).toEqual([])
  expect(tide.sandbox.requests.total).toBeLessThan(REQUESTS_MAX)
}

export async function moreAtOneInstantThanCap(report: WorldReport): Promise<void> {
  await using tide = await aLeanTide(60, [])
  await tide.sync(report)
  tide.sandbox.setFaults(['cap:20', 'beyond:404'])
  stampAlike(tide, report, tide.sandbox.world.liveKeys(report).slice(0, 50))
  const failed = failureOf(await tide.attempt(report), report)
  expect(failed).toMatchObject({ code: 'WALK_UNSTABLE', message: expect.stringContaining('404') })
  tide.sandbox.setFaults([])
  await tide.sync(report)
  expect(await differencesOf(tide, report)).toEqual([])
}

/** The rows that the service returns fill pages of 20 rows as well as pages of 19. */
export async function capOfTwoPageSizes(report: WorldReport): Promise<void> {
  await using tide = await aLeanTide(410, [])
  await tide.sync(report)
  tide.sandbox.setFaults(['cap:380', 'beyond:404'])
  stampAlike(tide, report, tide.sandbox.world.liveKeys(report).slice(0, 400))
  expect(failureOf(await tide.attempt(report), report).code).toBe('WALK_UNSTABLE')
}

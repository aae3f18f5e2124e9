/**
 * A service that refuses page numbers behind the last page, as many do, or behind what it pages to: no row is missed for
 * it, and no run fails where the end can be told.
 */
import { describe, expect, it } from 'vitest'
import { aTide, type Tide } from '../support/tide.ts'
import { differencesOf, failureOf, spread, stampAlike, WORLD_REPORTS } from './stories.ts'

const REQUESTS_MAX = 700
const PAGE_ROWS = 20

const aLeanTide = (rows: number, faults: string[]): Promise<Tide> =>
  aTide({
    sandbox: { rows, collections: false, faults },
    settings: { currencies: ['EUR'], defaults: { page_size: PAGE_ROWS } },
  })

describe.each(WORLD_REPORTS)('%s, from a service that refuses the page behind the last one,', (report) => {
  it.each([3, 19, 20, 21, 40, 243])('arrive whole: %i rows at first, more later', async (rows) => {
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
  })

  it.each([20, 30, 40])('arrive whole where %i rows stand at one instant', async (rows) => {
    await using tide = await aLeanTide(60, ['beyond:404'])
    await tide.sync(report)
    stampAlike(tide, report, tide.sandbox.world.liveKeys(report).slice(0, rows - 1))
    await tide.sync(report)
    expect(await differencesOf(tide, report)).toEqual([])
  })

  it.each([20, 50, 100])(
    'arrive whole where it pages to %i of 243 rows and refuses pages that go beyond',
    async (cap) => {
      await using tide = await aLeanTide(243, [`cap:${cap}`, 'beyond'])
      await tide.sync(report)
      expect(await differencesOf(tide, report)).toEqual([])
      spread(tide, report, { rows: 45, minutes: 3 })
      await tide.sync(report)
      expect(await differencesOf(tide, report)).toEqual([])
      expect(tide.sandbox.requests.total).toBeLessThan(REQUESTS_MAX)
    },
  )

  it('fail with what is refused where rows at one instant are more than it pages to', async () => {
    await using tide = await aLeanTide(60, [])
    await tide.sync(report)
    tide.sandbox.setFaults(['cap:20', 'beyond:404'])
    stampAlike(tide, report, tide.sandbox.world.liveKeys(report).slice(0, 50))
    const failed = failureOf(await tide.attempt(report), report)
    expect(failed).toMatchObject({ code: 'WALK_UNSTABLE', message: expect.stringContaining('404') })
    tide.sandbox.setFaults([])
    await tide.sync(report)
    expect(await differencesOf(tide, report)).toEqual([])
  })
})

it.each(['events', 'budgets'] as const)(
  '%s of one instant are not taken for whole because those that a service gives fill pages of 20 rows as well as of 19',
  async (report) => {
    await using tide = await aLeanTide(410, [])
    await tide.sync(report)
    tide.sandbox.setFaults(['cap:380', 'beyond:404'])
    stampAlike(tide, report, tide.sandbox.world.liveKeys(report).slice(0, 400))
    expect(failureOf(await tide.attempt(report), report).code).toBe('WALK_UNSTABLE')
  },
)

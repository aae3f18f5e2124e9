/**
 * Counts are compared after each run (product contract §4, §5.1). A row that no window brought is found by the next run, and
 * a deletion within two runs, at the cost of a search by totals. A total that is wrong deletes nothing.
 */
import { describe, expect, it } from 'vitest'
import { standingsText } from '../../src/cli/standingText.ts'
import { DAY_MS } from '../../src/instant.ts'
import type { WorldReport } from '../../src/sandbox/server.ts'
import { standingsOf } from '../../src/status/standing.ts'
import { aTide, type Tide } from '../support/tide.ts'
import { bodiesOf, differencesOf } from './stories.ts'

const COUNTED = ['enquiries', 'automated_bookings', 'office_reservations', 'merf_submissions'] as const

const aCountedTide = (rows: number, more: Record<string, unknown> = {}): Promise<Tide> =>
  aTide({
    sandbox: { rows, collections: false },
    settings: { currencies: ['EUR'], defaults: { page_size: 20, settle: '0s', ...more } },
  })

const deletedOf = (tide: Tide, report: WorldReport) =>
  tide.warehouse.rows<{ n: number }>(
    `SELECT count(*) AS n FROM ${report} WHERE is_deleted AND _delete_evidence = 'absence'`,
  )

/** Passes to the next second of the clock: what was read in the second of a change may be older than it. */
const nextSecond = (tide: Tide) => tide.clock.pass(1_050)

/** Requests of totals in the last run. */
const countsOf = (tide: Tide): number => bodiesOf(tide, 'enquiries').filter(({ pageSize }) => pageSize === 1).length

async function syncAfter(tide: Tide, report: WorldReport): Promise<number> {
  nextSecond(tide)
  tide.sandbox.requests.clear()
  await tide.sync(report)
  return bodiesOf(tide, report).length
}

for (const report of COUNTED) {
  // The other reports are counted in the same way.
  const options = report === 'enquiries' ? {} : { tags: 'long' }
  it(`${report} that are deleted are marked within two runs, and later at the cost of a search`, options, async () => {
    await using tide = await aCountedTide(200)
    const { world } = tide.sandbox
    await tide.sync(report)
    await tide.sync(report)
    const gone = (): number => world.liveKeys(report)[70] as number
    world.softDelete(report, gone())
    await syncAfter(tide, report)
    expect(await deletedOf(tide, report), 'absent once').toEqual([{ n: 0 }])
    await syncAfter(tide, report)
    expect(await deletedOf(tide, report)).toEqual([{ n: 1 }])
    expect(await differencesOf(tide, report)).toEqual([])
    expect(await syncAfter(tide, report), 'nothing new').toBe(3)
    world.softDelete(report, gone())
    const costs = [await syncAfter(tide, report), await syncAfter(tide, report)]
    expect(Math.max(...costs)).toBeLessThanOrEqual(20)
    expect(await deletedOf(tide, report)).toEqual([{ n: 2 }])
    expect(await differencesOf(tide, report)).toEqual([])
  })

  it(
    `${report} that no window brings are found by the next run, counted as late, and move no mark`,
    options,
    async () => {
      await using tide = await aCountedTide(200)
      await tide.sync(report)
      await tide.sync(report)
      tide.sandbox.world.lateCommit(report, 40 * DAY_MS)
      nextSecond(tide)
      const [outcome] = await tide.sync(report)
      expect(outcome?.figures).toMatchObject({ inserted: 1, deleted: 0, late: 1 })
      // A lower bound: each request for older rows doubles the age.
      expect(outcome?.figures.latenessMs).toBeGreaterThan(20 * DAY_MS)
      expect(outcome?.figures.latenessMs).toBeLessThanOrEqual(40 * DAY_MS)
      expect(await differencesOf(tide, report)).toEqual([])
      const [mark] = await tide.warehouse.rows<{ at: number }>(
        `SELECT epoch_us(max(value)) AS at FROM tidemark.marks WHERE report = '${report}'`,
      )
      expect(mark?.at).toBeLessThanOrEqual(tide.clock.now())
      const late = await tide.warehouse.rows(`SELECT late_rows FROM tidemark.freshness WHERE report = '${report}'`)
      expect(late).toEqual([{ late_rows: 1 }])
      expect(await syncAfter(tide, report), 'nothing new').toBe(3)
    },
  )
}

it('new rows do not make the next deletion cost a read of the whole report', async () => {
  await using tide = await aCountedTide(300)
  const { world } = tide.sandbox
  const gone = (): number => world.liveKeys('enquiries')[70] as number
  await tide.sync('enquiries')
  world.softDelete('enquiries', gone())
  for (let run = 0; run < 2; run += 1) await syncAfter(tide, 'enquiries')
  world.insert('enquiries')
  await syncAfter(tide, 'enquiries')
  // The next window no longer contains the new row.
  tide.clock.pass(3_600_000)
  await syncAfter(tide, 'enquiries')
  await syncAfter(tide, 'enquiries')
  world.softDelete('enquiries', gone())
  expect(await syncAfter(tide, 'enquiries')).toBeLessThanOrEqual(20)
  await syncAfter(tide, 'enquiries')
  expect(await deletedOf(tide, 'enquiries')).toEqual([{ n: 2 }])
})

describe('nothing is deleted and nothing is read', () => {
  it('where rows come between the window and the total', { tags: 'long' }, async () => {
    await using tide = await aCountedTide(60)
    await tide.sync('enquiries')
    tide.sandbox.setFaults(['drift*40@enquiries:1'])
    for (let run = 0; run < 3; run += 1) await tide.sync('enquiries')
    expect(await deletedOf(tide, 'enquiries')).toEqual([{ n: 0 }])
  })

  it('where rows are filtered, or counting is switched off', { tags: 'long' }, async () => {
    const settings = { currencies: ['EUR'], reports: { enquiries: { filters: { companyId: 1 } } } }
    await using tide = await aTide({ sandbox: { rows: 40, collections: false }, settings })
    await tide.sync('enquiries')
    expect(await syncAfter(tide, 'enquiries')).toBe(2)
    await using off = await aCountedTide(40, { deletes_every: 'never' })
    await off.sync('enquiries')
    expect(await syncAfter(off, 'enquiries')).toBe(2)
  })

  it.each([3, -3])(
    'where the total is wrong, and a wrong one that changes ends it (%i)',
    { tags: 'long' },
    async (lie) => {
      await using tide = await aCountedTide(60)
      await tide.sync('enquiries')
      await tide.sync('enquiries')
      tide.sandbox.setFaults([`total-lies@enquiries:${lie}`])
      for (let run = 0; run < 2; run += 1) await syncAfter(tide, 'enquiries')
      await syncAfter(tide, 'enquiries')
      expect(countsOf(tide), 'a difference that stays').toBe(1)
      for (const other of [5, 1, 6, 2]) {
        tide.sandbox.setFaults([`total-lies@enquiries:${other}`])
        await syncAfter(tide, 'enquiries')
      }
      const [state] = await tide.warehouse.rows<{ stopped: string }>('SELECT stopped FROM tidemark.countings')
      expect(state?.stopped).toMatch(/the service counts \d+ rows, the table has \d+/)
      await syncAfter(tide, 'enquiries')
      expect(countsOf(tide)).toBe(0)
      expect(await deletedOf(tide, 'enquiries')).toEqual([{ n: 0 }])
      const [fresh] = await tide.warehouse.rows<{ explained: string }>(
        `SELECT explained FROM tidemark.freshness WHERE report = 'enquiries'`,
      )
      expect(fresh?.explained).toMatch(
        /Deletions show only when two reconciles .* Rows are not counted for a day, .*: /,
      )
    },
  )
})

it('a row without a time of creation that can be requested ends the comparison, with a word', {
  tags: 'long',
}, async () => {
  await using tide = await aCountedTide(60)
  await tide.sync('enquiries')
  await tide.sync('enquiries')
  tide.sandbox.world.lateCommit('enquiries', -40 * 86_400_000)
  await syncAfter(tide, 'enquiries')
  const state = await tide.warehouse.rows<{ stopped: string }>('SELECT stopped FROM tidemark.countings')
  expect(state[0]?.stopped).toMatch(/^rows without a time of creation: the service counts 31 rows, the table has 30/)
  expect(await deletedOf(tide, 'enquiries')).toEqual([{ n: 0 }])
})

it('a mass deletion is stopped by the brake, and not read again at each run', async () => {
  await using tide = await aCountedTide(60)
  await tide.sync('enquiries')
  const { world } = tide.sandbox
  for (const key of world.liveKeys('enquiries').slice(0, 20)) world.softDelete('enquiries', key)
  await syncAfter(tide, 'enquiries')
  nextSecond(tide)
  const [stopped] = await tide.attempt('enquiries')
  expect(stopped?.error?.code).toBe('MASS_DELETE_STOPPED')
  expect(await deletedOf(tide, 'enquiries')).toEqual([{ n: 0 }])
  expect(await syncAfter(tide, 'enquiries')).toBe(2)
  const { config } = tide
  expect(standingsText(await standingsOf(tide.warehouse, config), config.reports, Infinity)).toMatch(
    /enquiries: rows are not counted for a day, so late rows and deletions wait for a reconcile: .* at once/,
  )
})

/**
 * Services that hide rows without a sign (product contract §5.4): every page number brings the same rows, and a response ends at
 * a limit that nobody names. And services that count pages from 0 and refuse a page that is not there.
 */
import { describe, expect, it } from 'vitest'
import type { WorldReport } from '../../src/sandbox/server.ts'
import { aTide, type Tide } from '../support/tide.ts'
import { aTideAnsweredBy } from './answering.ts'
import { bodiesOf, differencesOf, failureOf, spread, stampAlike } from './stories.ts'

const ARRAYS = ['events', 'budgets'] as const

const aLeanTide = (rows: number, faults: string[], page_size = 500): Promise<Tide> =>
  aTide({ sandbox: { rows, collections: false, faults }, settings: { currencies: ['EUR'], defaults: { page_size } } })

const asked = (tide: Tide, report: WorldReport): number =>
  bodiesOf(tide, report).filter(({ includeDeleted }) => includeDeleted !== false).length

describe.each(ARRAYS)('%s', (report) => {
  // Budgets are read in the same way.
  const options = report === 'events' ? {} : { tags: 'long' }

  it.each([
    ['ignores page numbers and cuts every response to 30 rows', ['ignore-page', 'clamp-silent:30'], 130],
    ['does not page and ends at its 100th row', ['ignore-page', 'clamp-silent:100'], 243],
    ['ends at its 100th row and has nothing behind', ['cap:100'], 243],
  ] as const)('arrive whole from a service that %s, old rows and young ones', options, async (_, faults, rows) => {
    await using tide = await aLeanTide(rows, [...faults])
    await tide.sync(report)
    expect(await differencesOf(tide, report)).toEqual([])
    spread(tide, report, { rows: rows - 3, minutes: 6 })
    await tide.sync(report)
    expect(await differencesOf(tide, report)).toEqual([])
    expect(tide.sandbox.requests.total).toBeLessThan(150)
  })

  it.each([['clamp-silent:30'], ['raise:500', 'clamp-silent:30'], ['clamp-silent:2']])(
    'that are all at one instant are not taken for whole in a first run (%s)',
    options,
    async (...limits) => {
      await using tide = await aLeanTide(40, ['ignore-page', ...limits])
      stampAlike(tide, report, tide.sandbox.world.liveKeys(report))
      const { code, message } = failureOf(await tide.attempt(report), report)
      expect(code).toBe('WALK_UNSTABLE')
      expect(message).toContain('the service ignores pageNumber')
      tide.sandbox.setFaults([])
      await tide.sync(report)
      expect(await differencesOf(tide, report)).toEqual([])
    },
  )

  it('that fit one response cost two requests more once, and none in the runs afterwards', {
    tags: 'long',
  }, async () => {
    await using tide = await aLeanTide(60, [])
    await tide.sync(report)
    expect(await tide.warehouse.rows('SELECT whole_max FROM tidemark.page_sizes')).toEqual([{ whole_max: 60 }])
    spread(tide, report, { rows: 20, minutes: 3 })
    tide.sandbox.requests.clear()
    await tide.sync(report)
    expect(asked(tide, report)).toBe(1)
    expect(await differencesOf(tide, report)).toEqual([])
  })

  it(
    'arrive whole when page numbers are ignored and responses are cut after a longer one was whole',
    options,
    async () => {
      await using tide = await aLeanTide(60, [])
      await tide.sync(report)
      spread(tide, report, { rows: 40, minutes: 3 })
      tide.sandbox.setFaults(['ignore-page', 'clamp-silent:30'])
      await tide.sync(report)
      expect(await differencesOf(tide, report)).toEqual([])
    },
  )

  it('at one instant that a limit hides end in WALK_UNSTABLE, and arrive afterwards', { tags: 'long' }, async () => {
    await using tide = await aLeanTide(100, ['ignore-page', 'clamp-silent:30'])
    await tide.sync(report)
    stampAlike(tide, report, tide.sandbox.world.liveKeys(report).slice(0, 40))
    expect(failureOf(await tide.attempt(report), report).code).toBe('WALK_UNSTABLE')
    tide.sandbox.setFaults([])
    await tide.sync(report)
    expect(await differencesOf(tide, report)).toEqual([])
  })
})

it('a row without a key that a limit hides is among the rejected rows', async () => {
  const stamps = ['04', '03', '02', '01'].map((day) => `2026-01-${day}T00:00:00Z`)
  const rows = stamps.map((at, n) => ({ at, text: `{"budgetId":${n === 3 ? 'null' : n},"modifiedAt":"${at}"}` }))
  await using tide = await aTideAnsweredBy(
    ({ body }) => {
      const [since, until] = [body.modifiedSince, body.modifiedUntil].map((bound) => Date.parse(String(bound)))
      const own = rows.filter(({ at }) => Date.parse(at) >= Number(since) && Date.parse(at) <= Number(until))
      const texts = own.map(({ text }) => text)
      return `[${texts.slice(0, 3).join(',')}]`
    },
    { currencies: ['EUR'], defaults: { page_size: 3 } },
  )
  await tide.sync('budgets')
  expect(await tide.warehouse.rows('SELECT budget_id AS id FROM budgets ORDER BY id')).toEqual(
    [0, 1, 2].map((id) => ({ id })),
  )
  expect(await tide.warehouse.rows("SELECT row ->> 'modifiedAt' AS at FROM tidemark.rejected_rows")).toEqual([
    { at: stamps[3] },
  ])
})

describe('a service that counts pages from 0 and refuses a page that is not there', () => {
  const READ = ['events', 'budgets', 'enquiries'] as const

  const isRead = async (beyond: string, pageSize: number) => {
    await using tide = await aLeanTide(12, ['from-zero', beyond], pageSize)
    for (let run = 0; run < 2; run += 1) {
      await tide.sync(...READ, 'enquiry_audit_entries')
      expect(await differencesOf(tide, ...READ)).toEqual([])
      for (const report of READ) spread(tide, report, { rows: 1, minutes: 3 })
    }
  }

  it('is read where it has one page (beyond:404, 500 rows a page)', () => isRead('beyond:404', 500))

  it.each([
    ['one page', 'beyond:400', 500],
    ['several pages', 'beyond:404', 5],
  ])('is read where it has %s (%s, %i rows a page)', { tags: 'long' }, (_, beyond, pageSize) =>
    isRead(beyond, pageSize),
  )
})

/**
 * Proven walks (product contract §5.4): what they cost on a quiet service, and that no fault of paging makes a window
 * close that isn't whole. Where the data can't be had, the run ends in a clear error after a bounded number of
 * requests.
 */
import { describe, expect, it } from 'vitest'
import { aTideWithoutCollections as aTide } from '../support/tide.ts'
import {
  aLeanTide,
  cappedService,
  EUR,
  firstPageThatLosesRows,
  firstSyncOfArray,
  firstSyncOfEnvelope,
  oneInstantAgreed,
  oneInstantInLargerPage,
  oneInstantUnstable,
  stampTogether,
  underFault,
  youngWindow,
} from './proofStories.ts'
import { bodiesOf, differencesOf, spread, stampAlike, WORLD_REPORTS } from './stories.ts'

const LONG = { tags: 'long' }

describe('on a quiet service', () => {
  it('a first sync of an envelope report costs at most a tenth more than its pages', () =>
    firstSyncOfEnvelope({ pageSize: 20, pages: 40 }))

  it('an incremental run without a change costs one request, or three where creation is asked for and rows are counted', async () => {
    await using tide = await aTide({ sandbox: { rows: 40 } })
    await tide.sync(...WORLD_REPORTS)
    tide.sandbox.requests.clear()
    await tide.sync(...WORLD_REPORTS)
    const counts = Object.fromEntries(WORLD_REPORTS.map((report) => [report, bodiesOf(tide, report).length]))
    expect(counts).toMatchObject({ events: 1, enquiries: 3, office_reservations: 3, merf_submissions: 3 })
    // Two currencies.
    expect(counts['automated_bookings']).toBe(6)
    expect(counts['budgets']).toBeLessThanOrEqual(4)
  })

  it('a first sync of a bare array costs at most 1.4 times its pages (events)', () =>
    firstSyncOfArray('events', { pageSize: 20, pages: 60 }))

  it('a first sync of a bare array costs at most 1.4 times its pages (budgets)', LONG, () =>
    firstSyncOfArray('budgets', { pageSize: 20, pages: 60 }),
  )

  it('a young window of merf_submissions costs at most 1.4 times its pages', () =>
    youngWindow('merf_submissions', { pageSize: 50, pages: 60 }))

  it('a young window of events costs at most 1.4 times its pages', LONG, () =>
    youngWindow('events', { pageSize: 20, pages: 20 }),
  )

  it('closed windows say how they were proven, and touch each other in time', async () => {
    await using tide = await aLeanTide(300, 20)
    for (let run = 0; run < 3; run += 1) {
      spread(tide, 'events', { rows: 60, minutes: 8 })
      await tide.sync('events', 'budgets', 'enquiries')
    }
    const windows = await tide.warehouse.rows<{
      report: string
      since: number | null
      until: number
      proof: string
      pages: number
      rows: number
    }>(`SELECT report, epoch_us(since) AS since, epoch_us(until) AS until, proof, pages, rows FROM tidemark.windows`)
    for (const report of ['events', 'budgets', 'enquiries']) {
      const own = windows.filter((each) => each.report === report)
      expect(own.length).toBeGreaterThanOrEqual(3)
      let reached = own[0]?.until ?? 0
      for (const { since, until, proof, pages } of own.slice(1)) {
        expect(since).toBeLessThanOrEqual(reached)
        expect(proof).toMatch(/^(single|total|agreed)(\+(single|total))*$/)
        expect(pages).toBeGreaterThan(0)
        reached = Math.max(reached, until)
      }
    }
  })
})

describe.each([
  ['events', ['drift:3', 'clamp:15', 'ignore-page'], {}],
  ['events', ['unordered', 'short-page', 'duplicate-row'], LONG],
  // Each window of budgets is read twice and once more for what moved: three changes a page outrun that.
  ['budgets', ['drift:1', 'unordered'], LONG],
  [
    'enquiries',
    ['drift:3', 'clamp-silent:15', 'ignore-page:echo', 'short-page', 'total-lies:3', 'total-lies:-3'],
    LONG,
  ],
] as const)('%s', (report, faults, options) => {
  it.each(faults)('with the fault %s arrive whole, or the run reports an error', options, (fault) =>
    underFault(report, fault, 2),
  )
})

it('events arrive whole from a service that pages to 110 of 243 rows and then is silent', () =>
  cappedService('events', 110))

it('events arrive whole when rows leave the first page while the last one is looked for', () =>
  firstPageThatLosesRows('events'))

it('a first page with more rows than its total tells is not the last one because it comes again', async () => {
  await using tide = await aLeanTide(30, 3)
  await tide.sync('merf_submissions')
  // Four rows; the service tells two of them, and shows its first page of three for every number.
  spread(tide, 'merf_submissions', { rows: 3, minutes: 3 })
  tide.sandbox.setFaults(['ignore-page', 'total-lies:-2'])
  const [outcome] = await tide.attempt('merf_submissions')
  if (outcome?.error === undefined) expect(await differencesOf(tide, 'merf_submissions')).toEqual([])
  tide.sandbox.setFaults([])
  await tide.sync('merf_submissions')
  expect(await differencesOf(tide, 'merf_submissions')).toEqual([])
})

it('a row that the total leaves out arrives, from a service whose pages are shorter than they say', async () => {
  await using tide = await aLeanTide(40, 20, ['clamp-silent:15'])
  await tide.sync('enquiries')
  const { world } = tide.sandbox
  spread(tide, 'enquiries', { rows: 16, minutes: 3 })
  world.softDelete('enquiries', world.liveKeys('enquiries').at(-1) as number)
  tide.sandbox.setFaults(['clamp-silent:15', 'total-lies:-1'])
  await tide.sync('enquiries')
  expect(await differencesOf(tide, 'enquiries')).toEqual([])
})

it('a full page that comes again is not the last one because the total leaves out the next row', async () => {
  await using tide = await aLeanTide(20, 9, ['ignore-page', 'total-lies:-1'])
  expect(tide.sandbox.world.liveKeys('enquiries')).toHaveLength(10)
  await tide.attempt('enquiries')
  tide.sandbox.setFaults([])
  await tide.sync('enquiries')
  expect(await differencesOf(tide, 'enquiries')).toEqual([])
})

it('a row without a key that comes on every page ends a walk', async () => {
  await using tide = await aLeanTide(1, 20, ['ignore-page'])
  const { world } = tide.sandbox
  world.putRow('events', world.liveKeys('events')[0] as number, { eventId: 'null' })
  const [outcome] = await tide.sync('events')
  expect(outcome?.figures).toMatchObject({ rejected: 1 })
  expect(tide.sandbox.requests.total).toBeLessThan(20)
})

describe('more rows at one instant than a page holds', () => {
  it.each(['events', 'enquiries'] as const)('arrive by walks that agree (%s)', oneInstantAgreed)

  it('arrive in one larger page with the fault unordered', () => oneInstantInLargerPage('unordered'))

  it('are cut off at their instant at once when some of them move while they are walked', async () => {
    await using tide = await aLeanTide(600, 20)
    await tide.sync('events')
    stampTogether(tide, 'events', 400)
    // 20 pages: a walk that is broken off by changes, then two that agree on the instant alone.
    tide.sandbox.setFaults(['drift*12:2'])
    tide.sandbox.requests.clear()
    await tide.sync('events')
    expect(await differencesOf(tide, 'events')).toEqual([])
    expect(tide.sandbox.requests.total).toBeLessThan(110)
  })

  it('end in WALK_UNSTABLE with the fault ignore-page where no larger page is to be had, and arrive afterwards', () =>
    oneInstantUnstable('ignore-page'))
})

describe('a load smaller than a window', () => {
  it('never takes deleted budgets for live ones, nor closes a window that is not all there', async () => {
    const settings = { ...EUR, defaults: { page_size: 20 }, limits: { load_rows_max: 25 } }
    await using tide = await aTide({ sandbox: { rows: 150, collections: false }, settings })
    await tide.sync('budgets')
    const { world } = tide.sandbox
    for (const key of world.liveKeys('budgets').slice(0, 12)) world.softDelete('budgets', key)
    stampAlike(tide, 'budgets', world.keys('budgets').slice(40))
    await tide.sync('budgets')
    expect(await differencesOf(tide, 'budgets')).toEqual([])
  })

  it('holds the audit entries of each record whole', async () => {
    await using tide = await aTide({ sandbox: { rows: 24 }, settings: { ...EUR, limits: { load_rows_max: 10 } } })
    const { world } = tide.sandbox
    for (let run = 0; run < 2; run += 1) {
      for (const key of world.liveKeys('events').slice(0, 12)) world.edit('events', key)
      await tide.sync('events', 'enquiries', 'audit_entries', 'enquiry_audit_entries')
      // An entry whose aggregates have changed since is replaced and gets a new number, so numbers may have gaps.
      const held = await tide.warehouse.rows<{ key: number; n: number; numbers: number }>(
        `SELECT entity_record_id AS key, count(*) AS n, count(DISTINCT entry_number) AS numbers FROM audit_entries GROUP BY 1 ORDER BY 1`,
      )
      const keys = world.keys('events').toSorted((a, b) => a - b)
      const sent = keys.map((key) => [key, world.auditEntries(3, key).length] as const)
      expect(held.map(({ key, n, numbers }) => [key, n, numbers])).toEqual(sent.map(([key, n]) => [key, n, n]))
    }
  })
})

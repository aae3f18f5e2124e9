/**
 * Proven walks (product contract §5.4): what they cost on a quiet service, and that no fault of paging makes a window
 * close that isn't whole. Where the data can't be had, the run ends in a clear error after a bounded number of
 * requests.
 */
import { describe, expect, it } from 'vitest'
import type { WorldReport } from '../../src/sandbox/server.ts'
import { aTide, type Tide } from '../support/tide.ts'
import {
  bodiesOf,
  differencesButAbsence,
  differencesOf,
  failureOf,
  spread,
  stampAlike,
  WORLD_REPORTS,
} from './stories.ts'

const EUR = { currencies: ['EUR'] }
const DAY_MS = 86_400_000

/** A Tidemark on a service with lean rows. */
const aLeanTide = (rows: number, page_size: number, faults: string[] = []): Promise<Tide> =>
  aTide({ sandbox: { rows, collections: false, faults }, settings: { ...EUR, defaults: { page_size } } })

/** Requests of a report's latest run by modification, without those for a difference or by creation. */
const asked = (tide: Tide, report: WorldReport): number =>
  bodiesOf(tide, report).filter((body) => body.includeDeleted !== false && !('createdSince' in body)).length

/** Requests for a span's keys without deleted rows, to tell which are deleted; not those for what moved meanwhile. */
const secondReads = (tide: Tide, report: WorldReport) =>
  bodiesOf(tide, report).filter(
    ({ includeDeleted, modifiedUntil = '' }) =>
      includeDeleted === false && Date.parse(modifiedUntil) < Date.now() + DAY_MS,
  )

describe('on a quiet service', () => {
  it('a first sync of an envelope report costs at most a tenth more than its pages', async () => {
    await using tide = await aLeanTide(5_000, 50)
    await tide.sync('merf_submissions')
    expect(tide.sandbox.requests.total).toBeLessThanOrEqual(1.1 * 100)
  })

  it('an incremental run without a change costs one request, or two where creation is asked for too', async () => {
    await using tide = await aTide({ sandbox: { rows: 40 } })
    await tide.sync(...WORLD_REPORTS)
    tide.sandbox.requests.clear()
    await tide.sync(...WORLD_REPORTS)
    const counts = Object.fromEntries(WORLD_REPORTS.map((report) => [report, bodiesOf(tide, report).length]))
    expect(counts).toMatchObject({ events: 1, enquiries: 2, office_reservations: 2, merf_submissions: 2 })
    // Two currencies.
    expect(counts['automated_bookings']).toBe(4)
    expect(counts['budgets']).toBeLessThanOrEqual(4)
  })

  it('a first sync of an envelope report costs at most a tenth more than its pages, with forty of them too', async () => {
    await using tide = await aLeanTide(40 * 300 - 7, 300)
    await tide.sync('merf_submissions')
    expect(bodiesOf(tide, 'merf_submissions').length).toBeLessThanOrEqual(1.1 * 40)
  })

  it.each([
    ['events', 500, 40],
    ['budgets', 500, 40],
    ['events', 300, 30],
    ['budgets', 300, 30],
    ['events', 50, 60],
    ['budgets', 50, 60],
  ] as const)(
    'a first sync of a bare array costs at most 1.4 times its pages (%s, %i rows, %i pages)',
    async (...size) => {
      const [report, pageSize, pages] = size
      await using tide = await aLeanTide(pages * pageSize - 7, pageSize)
      await tide.sync(report)
      expect(await differencesOf(tide, report)).toEqual([])
      // Two more tell what pages count from, once and for all.
      expect(asked(tide, report)).toBeLessThanOrEqual(1.4 * pages + 2)
      // The second read knows about how many rows will come, so it finds the last page at once.
      expect(secondReads(tide, report).length).toBeLessThanOrEqual(1.2 * pages)
    },
  )

  it.each([50, 500])(
    'a first sync of events costs at most 1.15 times its pages where they are many, each row once (%i)',
    async (rows) => {
      const pages = 150
      await using tide = await aLeanTide(pages * rows - 7, rows)
      await tide.sync('events')
      expect(asked(tide, 'events')).toBeLessThanOrEqual(1.15 * pages)
      const [brought] = await tide.warehouse.rows(
        `SELECT sum(rows)::INTEGER AS rows FROM tidemark.windows WHERE report = 'events'`,
      )
      expect(brought).toEqual({ rows: pages * rows - 7 })
    },
  )

  it.each([
    ['events', 50, 60],
    ['events', 300, 20],
    ['events', 500, 20],
    ['budgets', 300, 20],
    ['merf_submissions', 50, 60],
    ['merf_submissions', 300, 20],
    ['merf_submissions', 300, 40],
    ['events', 300, 40],
    ['budgets', 300, 40],
  ] as const)('a young window of %s costs at most 1.4 times its pages (%i rows a page, %i pages)', async (...size) => {
    const [report, pageSize, pages] = size
    await using tide = await aLeanTide(pageSize * pages, pageSize)
    await tide.sync(report)
    const rows = Math.floor((pages * pageSize * 5) / 6)
    spread(tide, report, { rows, minutes: 9 })
    tide.sandbox.requests.clear()
    await tide.sync(report)
    expect(await differencesOf(tide, report)).toEqual([])
    const least = Math.ceil(rows / pageSize)
    expect(asked(tide, report)).toBeLessThanOrEqual(1.4 * least)
    expect(secondReads(tide, report).length).toBeLessThanOrEqual(1.4 * least)
  })

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

const FAULTS = [
  'unordered',
  'clamp:15',
  'clamp-silent:15',
  'ignore-page',
  'ignore-page:echo',
  'short-page',
  'total-lies:3',
  'total-lies:-3',
  'duplicate-row',
]

/** A run that can't end because rows keep moving: it may say so, but not for ever, and not with a window closed. */
const mayFail = (fault: string): boolean => fault.startsWith('drift')
const REQUESTS_MAX = 700

describe.each(['events', 'budgets', 'enquiries'] as const)('%s', (report) => {
  // Each window of budgets is read twice and once more for what moved: three changes a page outrun that.
  it.each([report === 'budgets' ? 'drift:1' : 'drift:3', ...FAULTS])(
    'with the fault %s arrive whole, or the run reports an error',
    async (fault) => {
      await using tide = await aLeanTide(240, 20, [fault])
      for (let run = 0; run < 3; run += 1) {
        tide.sandbox.requests.clear()
        const outcomes = await tide.attempt(report)
        if (outcomes[0]?.state === 'failed' && mayFail(fault))
          expect(failureOf(outcomes, report).code).toBe('WALK_UNSTABLE')
        else {
          expect(outcomes[0]?.error?.message).toBeUndefined()
          if (!mayFail(fault)) expect(await differencesOf(tide, report), `run ${run + 1}`).toEqual([])
        }
        expect(tide.sandbox.requests.total).toBeLessThan(REQUESTS_MAX)
        spread(tide, report, { rows: 45, minutes: 3 })
      }
      tide.sandbox.setFaults([])
      await tide.sync(report)
      expect(await differencesButAbsence(tide, report)).toEqual([])
    },
  )
})

describe.each(['events', 'budgets'] as const)('%s', (report) => {
  it.each([100, 110, 230])(
    'arrive whole from a service that pages to %i of 243 rows and then is silent',
    async (cap) => {
      await using tide = await aLeanTide(243, 20, [`cap:${cap}`])
      await tide.sync(report)
      expect(await differencesOf(tide, report)).toEqual([])
      expect(tide.sandbox.requests.total).toBeLessThan(REQUESTS_MAX)
    },
  )
})

it.each(['events', 'budgets'] as const)(
  '%s arrive whole when rows leave the first page while the last one is looked for',
  async (report) => {
    // 12 pages: of 60 changes behind the first answer, some take rows off its page, and others move up to it.
    await using tide = await aLeanTide(240, 20, [`drift*1@${report}:60`])
    await tide.sync(report)
    await tide.sync(report)
    expect(await differencesButAbsence(tide, report)).toEqual([])
  },
)

it('a first page with more rows than its total tells is not the last one because it comes again', async () => {
  await using tide = await aLeanTide(30, 3)
  await tide.sync('merf_submissions')
  // Four rows; the service tells two of them, and shows its first page of three for every number.
  spread(tide, 'merf_submissions', { rows: 3, minutes: 3 })
  tide.sandbox.setFaults(['ignore-page', 'total-lies:-2'])
  await tide.attempt('merf_submissions')
  tide.sandbox.setFaults([])
  await tide.sync('merf_submissions')
  expect(await differencesOf(tide, 'merf_submissions')).toEqual([])
  const walked = await tide.warehouse.rows(
    `SELECT proof, rows FROM tidemark.windows WHERE rows = 3 AND proof = 'agreed'`,
  )
  expect(walked).toEqual([])
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

/** Edits so many rows, and gives all of them one stamp. */
function stampTogether(tide: Tide, report: WorldReport, rows: number): void {
  const { world } = tide.sandbox
  const keys = world.liveKeys(report).slice(0, rows)
  for (const key of keys) world.edit(report, key)
  stampAlike(tide, report, keys)
}

describe('more rows at one instant than a page holds', () => {
  it.each(['events', 'budgets', 'enquiries'] as const)('arrive by walks that agree (%s)', async (report) => {
    await using tide = await aLeanTide(200, 20)
    await tide.sync(report)
    stampTogether(tide, report, 70)
    await tide.sync(report)
    expect(await differencesOf(tide, report)).toEqual([])
    const proofs = await tide.warehouse.rows<{ proof: string }>('SELECT DISTINCT proof FROM tidemark.windows')
    expect(proofs.map(({ proof }) => proof)).toContain('agreed')
  })

  it.each(['unordered', 'ignore-page'])('arrive in one larger page with the fault %s', async (fault) => {
    await using tide = await aLeanTide(200, 20)
    await tide.sync('events')
    stampTogether(tide, 'events', 70)
    tide.sandbox.setFaults([fault])
    tide.sandbox.requests.clear()
    await tide.sync('events')
    expect(await differencesOf(tide, 'events')).toEqual([])
    expect(tide.sandbox.requests.total).toBeLessThan(150)
  })

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

  // No bound of time separates these rows, no page holds them all, and their pages can't be told apart.
  it.each(['unordered', 'ignore-page'])(
    'end in WALK_UNSTABLE with the fault %s where no larger page is to be had, and arrive afterwards',
    async (fault) => {
      await using tide = await aLeanTide(200, 20)
      await tide.sync('events')
      stampTogether(tide, 'events', 70)
      tide.sandbox.setFaults([fault, 'clamp-silent:20'])
      tide.sandbox.requests.clear()
      const failed = failureOf(await tide.attempt('events'), 'events')
      expect(failed.code).toBe('WALK_UNSTABLE')
      expect(failed.message).toMatch(/walks over .* did not agree/)
      expect(failed.cure).toMatch(/larger page_size/)
      expect(tide.sandbox.requests.total).toBeLessThan(150)
      tide.sandbox.setFaults([])
      await tide.sync('events')
      expect(await differencesOf(tide, 'events')).toEqual([])
    },
  )
})

describe('a load smaller than a window', () => {
  it.each([
    // Events match by either of two stamps, so some stand in two parts.
    ['events', 1.6],
    ['budgets', 1.3],
  ] as const)(
    'is cut off at the stamp of the page behind it, so that a first sync of %s in many loads costs at most %f times its pages',
    async (report, times) => {
      const pages = 150
      const settings = { ...EUR, defaults: { page_size: 50 }, limits: { load_rows_max: 3_000 } }
      await using tide = await aTide({ sandbox: { rows: pages * 50 - 7, collections: false }, settings })
      await tide.sync(report)
      expect(await differencesOf(tide, report)).toEqual([])
      expect(asked(tide, report)).toBeLessThanOrEqual(times * pages)
    },
  )

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
    await using tide = await aTide({ sandbox: { rows: 60 }, settings: { ...EUR, limits: { load_rows_max: 10 } } })
    const { world } = tide.sandbox
    for (let run = 0; run < 2; run += 1) {
      for (const key of world.liveKeys('events').slice(0, 20)) world.edit('events', key)
      await tide.sync('events', 'enquiries', 'audit_entries', 'enquiry_audit_entries')
      const held = await tide.warehouse.rows<{ key: number; n: number; last: number }>(
        `SELECT entity_record_id AS key, count(*) AS n, max(entry_number) AS last FROM audit_entries GROUP BY 1 ORDER BY 1`,
      )
      const keys = world.keys('events').toSorted((a, b) => a - b)
      const sent = keys.map((key) => [key, world.auditEntries(3, key).length] as const)
      expect(held.map(({ key, n, last }) => [key, n, last])).toEqual(sent.map(([key, n]) => [key, n, n]))
    }
  })
})

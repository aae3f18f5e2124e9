/** Every documented filter, alone and together, against the rows themselves (spec §4, common rules 1 and 3). */
import { describe, expect, it } from 'vitest'
import { formatTicks } from '../../src/sandbox/ticks.ts'
import type { WorldReport } from '../../src/sandbox/server.ts'
import { aCaller, sorted, type Caller, type Row } from './caller.ts'
import { KEYS } from './specification.ts'

/** Filter, the field of the row that it compares with, and the field's value in some row. */
const EQUAL: [WorldReport, string, string][] = [
  ['events', 'companyId', 'companyId'],
  ['events', 'affiliateGroupId', 'affiliateId'],
  ['events', 'eventId', 'eventId'],
  ['budgets', 'companyId', 'companyId'],
  ['budgets', 'affiliateGroupId', 'affiliateGroupId'],
  ['budgets', 'eventId', 'eventId'],
  ['enquiries', 'enquiryId', 'enquiryId'],
  ['enquiries', 'bookerEmail', 'bookerEmail'],
  ['enquiries', 'bookerCompany', 'bookerCompany'],
  ['enquiries', 'bookerName', 'bookerName'],
  ['enquiries', 'companyId', 'companyId'],
  ['enquiries', 'affiliateGroupId', 'affiliateGroupId'],
  ['automated_bookings', 'reservationId', 'reservationId'],
  ['automated_bookings', 'bookerEmail', 'bookerEmail'],
  ['automated_bookings', 'bookerCompany', 'bookerCompany'],
  ['automated_bookings', 'bookerName', 'bookerName'],
  ['office_reservations', 'officeReservationId', 'officeReservationId'],
  ['office_reservations', 'bookerEmail', 'bookerEmail'],
  ['office_reservations', 'bookerCompany', 'bookerCompany'],
  ['office_reservations', 'bookerName', 'bookerName'],
  ['merf_submissions', 'companyId', 'companyId'],
  ['merf_submissions', 'affiliateId', 'affiliateId'],
  ['merf_submissions', 'formId', 'formId'],
  ['merf_submissions', 'eventId', 'eventId'],
]

const ANY_OF: [WorldReport, string, string][] = [
  ['enquiries', 'status', 'status'],
  ['automated_bookings', 'status', 'status'],
  ['automated_bookings', 'bookingTypes', 'bookingType'],
  ['office_reservations', 'status', 'status'],
  ['office_reservations', 'bookingTypes', 'bookingType'],
]

const keysOf = (report: WorldReport, rows: readonly Row[]): number[] =>
  sorted(rows.map((row) => Number(row[KEYS[report]])))

/** A date-time without zone is UTC. */
const timeOf = (text: unknown): number =>
  Date.parse(/(Z|[+-]\d\d:\d\d)$/.test(String(text)) ? String(text) : `${String(text)}Z`)

async function expectRows(
  caller: Caller,
  report: WorldReport,
  asked: { body: Row; matches: (row: Row) => boolean },
): Promise<void> {
  const wanted = (await caller.rows(report)).filter(asked.matches)
  expect(wanted.length).toBeGreaterThan(0)
  expect(sorted(await caller.keys(report, asked.body))).toEqual(keysOf(report, wanted))
}

describe('a filter', () => {
  it.each(EQUAL)(
    'of %s on %s returns exactly the rows with that %s',
    { tags: 'long' },
    async (report, filter, field) => {
      await using caller = await aCaller()
      const value = (await caller.rows(report))
        .map((row) => row[field])
        .find((each) => each !== null && each !== undefined)
      await expectRows(caller, report, { body: { [filter]: value }, matches: (row) => row[field] === value })
    },
  )

  it.each(ANY_OF)('of %s on %s returns the rows that have any of the values', async (report, filter, field) => {
    await using caller = await aCaller()
    await expectRows(caller, report, {
      body: { [filter]: [1, 3] },
      matches: (row) => row[field] === 1 || row[field] === 3,
    })
    expect(await caller.keys(report, { [filter]: [] })).toHaveLength((await caller.rows(report)).length)
  })

  it('of budgets on onlyDefaultBudget leaves the others out, and false leaves none out', async () => {
    await using caller = await aCaller()
    await expectRows(caller, 'budgets', {
      body: { onlyDefaultBudget: true },
      matches: (row) => row['isDefault'] === true,
    })
    await expectRows(caller, 'budgets', { body: { onlyDefaultBudget: false }, matches: () => true })
  })

  it.each([
    ['enquiries', 'createdAt'],
    ['automated_bookings', 'createdAt'],
    ['office_reservations', 'createdAt'],
    ['merf_submissions', 'submittedAt'],
  ] as const)('of %s on the creation time has inclusive bounds', async (report, field) => {
    await using caller = await aCaller()
    const stamps = (await caller.rows(report)).map((row) => String(row[field])).sort((a, b) => timeOf(a) - timeOf(b))
    const [since, until] = [stamps[10], stamps[30]]
    await expectRows(caller, report, {
      body: { createdSince: since, createdUntil: until },
      matches: (row) => timeOf(row[field]) >= timeOf(since) && timeOf(row[field]) <= timeOf(until),
    })
  })

  it.each([
    ['enquiries', 'arrivalDate', 'departureDate'],
    ['automated_bookings', 'startDate', 'endDate'],
    ['office_reservations', 'startDate', 'endDate'],
  ] as const)('of %s on startDate and endDate keeps rows that lie between them', async (report, start, end) => {
    await using caller = await aCaller()
    const rows = (await caller.rows(report)).sort((a, b) => timeOf(a[start]) - timeOf(b[start]))
    const [from, to] = [rows[5]?.[start], rows[40]?.[end]]
    await expectRows(caller, report, {
      body: { startDate: from, endDate: to },
      matches: (row) => timeOf(row[start]) >= timeOf(from) && timeOf(row[end]) <= timeOf(to),
    })
  })

  it('compares text without regard to case', async () => {
    await using caller = await aCaller()
    const [row] = await caller.rows('enquiries')
    const found = await caller.rows('enquiries', { bookerEmail: String(row?.['bookerEmail']).toUpperCase() })
    expect(found.map((each) => each['enquiryId'])).toContain(row?.['enquiryId'])
  })

  it('sees a value that an edit has changed', async () => {
    await using caller = await aCaller()
    const [key = 0] = caller.world.liveKeys('enquiries')
    expect(await caller.keys('enquiries', { status: [77] })).toEqual([])
    caller.world.putRow('enquiries', key, { status: '77' })
    expect(await caller.keys('enquiries', { status: [77] })).toEqual([key])
  })
})

describe('a filter by key', () => {
  it('keeps to the window, with both bounds, and to deleted rows', async () => {
    await using caller = await aCaller()
    const [eventId = 0] = caller.world.liveKeys('events')
    const at = caller.world.stampsOf('events', eventId).aggregate
    const find = (since: number, until: number, includeDeleted = false) => {
      const window = { modifiedSince: formatTicks(since), modifiedUntil: formatTicks(until) }
      return caller.keys('events', { eventId, includeDeleted, ...window })
    }
    expect(await find(at, at)).toEqual([eventId])
    expect(await find(at + 1, at + 9)).toEqual([])
    caller.world.softDelete('events', eventId)
    expect([await find(at, 8e15), await find(at, 8e15, true)]).toEqual([[], [eventId]])
  })

  it('finds a row that was never edited', async () => {
    await using caller = await aCaller()
    const edited = new Set(await caller.keys('enquiries', { modifiedSince: '2000-01-01' }))
    const enquiryId = caller.world.keys('enquiries').find((each) => !edited.has(each))
    expect(await caller.keys('enquiries', { enquiryId })).toEqual([enquiryId])
    expect(await caller.keys('enquiries', { enquiryId, modifiedSince: '2000-01-01' })).toEqual([])
  })
})

describe('filters', () => {
  it('combine', async () => {
    await using caller = await aCaller({ rows: 400 })
    const [first] = (await caller.rows('enquiries')).filter((row) => row['affiliateGroupId'] !== null)
    const body = {
      companyId: first?.['companyId'],
      affiliateGroupId: first?.['affiliateGroupId'],
      status: [first?.['status'], 99],
    }
    await expectRows(caller, 'enquiries', {
      body,
      matches: (row) =>
        (['companyId', 'affiliateGroupId', 'status'] as const).every((field) => row[field] === first?.[field]),
    })
  })

  it('that fit nothing give an empty result and no error', async () => {
    await using caller = await aCaller()
    const reports: WorldReport[] = ['events', 'budgets', 'merf_submissions']
    for (const report of reports) {
      const response = await caller.report(report, { eventId: 1, companyId: 999 })
      expect([response.status, await caller.rows(report, { eventId: 1, companyId: 999 })]).toEqual([200, []])
    }
    expect((await caller.envelope('enquiries', { enquiryId: 1 })).totalCount).toBe(0)
  })
})

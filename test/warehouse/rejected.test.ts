/** Rows that can't be stored are set aside whole, once, with the reason; the load goes on (product contract §4). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { automatedBookings } from '../../schema/reports/automatedBookings.ts'
import { budgets } from '../../schema/reports/budgets.ts'
import { enquiries } from '../../schema/reports/enquiries.ts'
import { enquiryAuditEntries } from '../../schema/reports/enquiryAuditEntries.ts'
import { events } from '../../schema/reports/events.ts'
import { plusMs } from '../../src/instant.ts'
import { aWarehouse, loadPages, loadRows, NOON, ODD, type OpenWarehouse, texts, withOdd } from '../support/warehouse.ts'

let opened: OpenWarehouse
beforeAll(async () => {
  opened = await aWarehouse()
})
afterAll(() => opened[Symbol.asyncDispose]())

const rejected = (where = 'true') =>
  texts(opened, 'tidemark.rejected_rows', { columns: ['report', 'scope', 'key', 'reason', 'row'], where })

describe('a rejected row', () => {
  it.each([
    ['without its key', '{"name":"x"}', null, 'no key: eventId is missing or null'],
    ['with a null key', '{"eventId":null}', null, 'no key: eventId is missing or null'],
    ['that is no object', '"text"', null, 'the row is no object'],
    ['that names a field twice', '{"eventId":90,"town":"a","town":"b"}', '90', 'the field town is there twice'],
    ['with text in its key', '{"eventId":"abc"}', 'abc', 'eventId is no 64-bit integer: abc'],
    ['with a fraction in its key', '{"eventId":1.5}', '1.5', 'eventId is no 64-bit integer: 1.5'],
    ['with an object in its key', '{"eventId":{"id":1}}', '{"id":1}', 'eventId is no 64-bit integer: {"id":1}'],
    [
      'with a key beyond 64 bits',
      '{"eventId":9223372036854775808}',
      '9223372036854775808',
      'eventId is no 64-bit integer: 9223372036854775808',
    ],
    ['with an empty key', '{"eventId":""}', '', 'eventId is no 64-bit integer: '],
    ['with half a character', '{"name":"a\\ud800"}', null, 'no key: eventId is missing or null'],
  ])('%s goes to rejected_rows and leaves its neighbours alone', async (_, row, key, reason) => {
    const neighbour = { eventId: 7_000, town: 'Bath' }
    const load = await loadRows(opened, events, `[${JSON.stringify(neighbour)},${row},{"eventId":7001}]`)
    expect(load).toMatchObject({ rows: expect.any(Number), rejected: 1 })
    expect(await texts(opened, 'main.events', { columns: ['event_id', 'town'] })).toEqual([
      { event_id: '7000', town: 'Bath' },
      { event_id: '7001', town: null },
    ])
    const kept = (await rejected()).at(-1)
    const all = await rejected(key === null ? `key IS NULL AND reason = '${reason}'` : `key = '${key}'`)
    expect(kept).toBeDefined()
    expect(all.map((each) => [each['reason'], JSON.parse(each['row'] ?? '') as unknown])).toContainEqual([
      reason,
      JSON.parse(row.replace('\\ud800', '\\\\ud800')) as unknown,
    ])
  })

  it('may be the only rows of a load', async () => {
    expect(await loadRows(opened, budgets, '[{"x":1},5]')).toMatchObject({ rejected: 2, inserted: 0 })
    expect(await loadRows(opened, budgets, '[{"budgetId":"x"}]')).toMatchObject({ rejected: 1, inserted: 0 })
    expect(
      await loadRows(opened, enquiryAuditEntries, `[5,{${ODD}}]`, { kind: 'audit', entryWindows: [] }),
    ).toMatchObject({
      rejected: 2,
    })
  })

  it('keeps all digits, line breaks and odd characters of what was sent', async () => {
    const row = String.raw`{"eventId":99,"odd":1,"odd":"x\n\u0001é\u0000,\"'|","n":[1234567890123456789012.5,1e400],"m":0.10}`
    await loadRows(opened, events, `[\n${row.replaceAll(',"', ',\n "')}\n]`)
    const [kept] = await rejected(`key = '99'`)
    expect(kept?.['row']?.replaceAll(/,\s+"/g, ',"')).toBe(row)
  })

  it('comes once, however often it is sent: twice in a load, on two pages, or in a replay', async () => {
    const row = { eventId: 100, odd: 'twice' }
    const keyless = { town: 'nowhere' }
    const pages = [{ rows: [row, row, keyless] }, { rows: [keyless, row] }]
    for (const minute of [0, 1, 2]) {
      await loadPages(opened, events, {
        pages: pages.map((page) => ({ rows: withOdd(page.rows), observedAt: plusMs(NOON, minute * 60_000) })),
      })
    }
    expect(await rejected(`key = '100'`)).toHaveLength(1)
    expect(await rejected(`row::VARCHAR LIKE '%nowhere%'`)).toHaveLength(1)
    await loadRows(opened, events, withOdd([{ ...row, attendees: 5 }]))
    expect(await rejected(`key = '100'`)).toHaveLength(2)
  })

  it('has the scope of its request, and is kept once in each', async () => {
    const row = withOdd([{ reservationId: 5, odd: 'twice' }])
    for (const currency of ['EUR', 'USD', 'EUR']) {
      await loadRows(opened, automatedBookings, row, { asked: { target_currency: currency } })
    }
    expect((await rejected(`report = 'automated_bookings'`)).map((each) => each['scope'])).toEqual(['EUR', 'USD'])
  })

  it('does not touch the version of its key that is there', async () => {
    await loadRows(opened, enquiries, [{ enquiryId: 2, status: 1, taxes: [{ id: 1 }] }])
    await loadRows(opened, enquiries, withOdd([{ enquiryId: 2, odd: 'twice', taxes: [] }]), {
      observedAt: plusMs(NOON, 60_000),
    })
    expect(await texts(opened, 'main.enquiries', { columns: ['status'], where: 'enquiry_id = 2' })).toEqual([
      { status: '1' },
    ])
    expect(await texts(opened, 'main.enquiries__taxes', { columns: ['is_deleted'] })).toEqual([{ is_deleted: 'false' }])
  })

  it('is kept whole, with the items of its collections', async () => {
    const row =
      '{"eventId":"bad","meetingRooms":[{"id":1,"price":1234567890.123456789,"text":"a\\tb"},{"id":2}],"assignments":[],"commission":{"id":7},"permissions":null}'
    await loadRows(opened, events, `[{"eventId":4711,"meetingRooms":[{"id":9}]},${row}]`)
    expect(await rejected("key = 'bad'")).toMatchObject([{ row }])
  })
})

const day = (n: number) => plusMs(NOON, n * 86_400_000)

it('leaves the list when it did not come for a time, stays counted, and is listed when it comes again', async () => {
  await using tide = await aWarehouse()
  const load = (n: number, rows: string) => loadRows(tide, budgets, rows, { observedAt: day(n) })
  const dismissed = async () =>
    (await texts(tide, 'tidemark.rejected_rows', { columns: ['row', 'dismissed_at'] }))
      .toSorted((a, b) => String(a['row']).localeCompare(String(b['row'])))
      .map((each) => each['dismissed_at'] !== null)
  await load(0, '[1,2,3]')
  await tide.warehouse.dismissRejected({ report: 'budgets', keys: ['x'] }, day(0))
  await load(5, '[2]')
  expect(await tide.warehouse.dismissRejected({ lastSeenBefore: day(4) }, day(9))).toBe(2)
  expect(await dismissed()).toEqual([true, false, true])
  await load(10, '[3]')
  expect(await dismissed()).toEqual([true, false, false])
  await tide.warehouse.dismissRejected({ report: 'budgets', keys: undefined }, day(11))
  await load(12, '[2]')
  expect(await dismissed()).toEqual([true, true, true])
})

/** Audit trails that take more than one page: entries have no key, so their walks are never cut. */
import { expect, it } from 'vitest'
import { aTide, type Tide } from '../support/tide.ts'
import { type Asked, aTideAnsweredBy } from './answering.ts'
import { failureOf } from './stories.ts'

it('reads a trail of several pages whole, and numbers new entries on', async () => {
  const settings = { reports: { audit_entries: { page_size: 2, entities: [{ entity_id: 3, follows: 'events' }] } } }
  await using tide = await aTide({ sandbox: { rows: 12 }, settings })
  await tide.sync('events', 'audit_entries')
  const { world } = tide.sandbox
  const sent = () =>
    world
      .keys('events')
      .toSorted((a, b) => a - b)
      .map((key) => world.auditEntries(3, key).length)
  const held = async () => {
    const rows = await tide.warehouse.rows<{ n: number; last: number }>(
      'SELECT count(*) AS n, max(entry_number) AS last FROM audit_entries GROUP BY entity_record_id ORDER BY entity_record_id',
    )
    for (const { n, last } of rows) expect(last).toBe(n)
    return rows.map((row) => row.n)
  }
  expect(Math.max(...sent())).toBeGreaterThan(2)
  expect(await held()).toEqual(sent())
  const [event] = world.liveKeys('events') as [number]
  for (let n = 0; n < 5; n += 1) world.edit('events', event)
  await tide.sync('events', 'audit_entries')
  expect(await held()).toEqual(sent())
})

/** Answers with pages of ten at most: one old enquiry, and `entries` as its trail. */
const inTens =
  (entries: readonly string[], { ignoresNumber = false } = {}) =>
  ({ path, body }: Asked): string => {
    const rows = path.endsWith('/Audit') ? entries : ['{"enquiryId":1}']
    const number = ignoresNumber ? 1 : Number(body.pageNumber)
    const items = rows.slice((number - 1) * 10, number * 10).join(',')
    return `{"items":[${items}],"pageNumber":${number},"pageSize":10,"totalCount":${rows.length}}`
  }

const entry = (userId: number) => `{"timestamp":"2026-01-01T00:00:00Z","userId":${userId},"action":"Updated"}`
const heldEntries = ({ warehouse }: Pick<Tide, 'warehouse'>) =>
  warehouse.rows('SELECT count(*) AS n, max(entry_number) AS last FROM enquiry_audit_entries')

it.each([20, 25, 30])('%i entries that are all alike arrive, each of them, where a page holds ten', async (count) => {
  await using tide = await aTideAnsweredBy(inTens(Array.from({ length: count }, () => entry(7))))
  await tide.sync('enquiries', 'enquiry_audit_entries')
  expect(await heldEntries(tide)).toEqual([{ n: count, last: count }])
  await tide.sync('enquiries', 'enquiry_audit_entries')
  expect(await heldEntries(tide)).toEqual([{ n: count, last: count }])
})

it('a trail of which every page is the first one, full, is not taken for whole', async () => {
  const entries = Array.from({ length: 20 }, (_, n) => entry(n))
  await using tide = await aTideAnsweredBy(inTens(entries, { ignoresNumber: true }))
  await tide.sync('enquiries')
  expect(failureOf(await tide.attempt('enquiry_audit_entries'), 'enquiry_audit_entries').code).toBe('WALK_UNSTABLE')
  expect(await tide.warehouse.rows(`SELECT 1 FROM tidemark.marks WHERE report = 'enquiry_audit_entries'`)).toEqual([])
})

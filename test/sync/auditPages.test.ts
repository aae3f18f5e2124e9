/** Audit trails that take more than one page: entries have no key, so their walks are never cut. */
import { expect, it } from 'vitest'
import { aTideWithoutCollections as aTide, type Tide } from '../support/tide.ts'
import { type Asked, aTideAnsweredBy } from './answering.ts'
import { failureOf } from './stories.ts'

it('reads a trail of several pages whole, and numbers new entries on', { tags: 'long' }, async () => {
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

interface Pages {
  readonly ignoresNumber?: boolean
  readonly showsLastAgain?: boolean
  /** The page size that answers tell. */
  readonly told?: number
  /** Entries that can be paged to. */
  readonly reach?: number
  /** Added to the trail's total. */
  readonly lie?: number
}

/** Answers with pages of ten at most: one old enquiry, and `entries` as its trail. */
const inTens =
  (entries: readonly string[], { ignoresNumber, showsLastAgain, told = 10, reach = Infinity, lie = 0 }: Pages = {}) =>
  ({ path, body }: Asked): string => {
    const isTrail = path.endsWith('/Audit')
    const [since, until] = [Date.parse(String(body.since)), Date.parse(String(body.until))]
    const inTime = entries.filter((text) => {
      const at = Date.parse(/"timestamp":"([^"]+)"/.exec(text)?.[1] ?? '')
      return at >= since && at <= until
    })
    const rows = isTrail ? inTime : ['{"enquiryId":1}']
    const size = Math.min(10, Number(body.pageSize))
    const last = Math.max(1, Math.ceil(rows.length / size))
    const asked = Number(body.pageNumber)
    const number = ignoresNumber === true ? 1 : showsLastAgain === true ? Math.min(asked, last) : asked
    const items = rows.slice((number - 1) * size, Math.min(number * size, reach)).join(',')
    const total = rows.length + (isTrail ? lie : 0)
    return `{"items":[${items}],"pageNumber":${number},"pageSize":${told},"totalCount":${total}}`
  }

const entry = (userId: number) => `{"timestamp":"2026-01-01T00:00:00Z","userId":${userId},"action":"Updated"}`
const heldEntries = ({ warehouse }: Pick<Tide, 'warehouse'>) =>
  warehouse.rows('SELECT count(*) AS n, max(entry_number) AS last FROM enquiry_audit_entries')

it.each([20, 25, 30])(
  '%i entries that are all alike arrive, each of them, where a page holds ten',
  { tags: 'long' },
  async (count) => {
    await using tide = await aTideAnsweredBy(inTens(Array.from({ length: count }, () => entry(7))))
    await tide.sync('enquiries', 'enquiry_audit_entries')
    expect(await heldEntries(tide)).toEqual([{ n: count, last: count }])
    await tide.sync('enquiries', 'enquiry_audit_entries')
    expect(await heldEntries(tide)).toEqual([{ n: count, last: count }])
  },
)

it('a trail of which every page is the first one, full, is not taken for whole', async () => {
  const entries = Array.from({ length: 20 }, (_, n) => entry(n))
  await using tide = await aTideAnsweredBy(inTens(entries, { ignoresNumber: true }))
  await tide.sync('enquiries')
  expect(failureOf(await tide.attempt('enquiry_audit_entries'), 'enquiry_audit_entries').code).toBe('WALK_UNSTABLE')
  expect(await tide.warehouse.rows(`SELECT 1 FROM tidemark.marks WHERE report = 'enquiry_audit_entries'`)).toEqual([])
})

const daily = (count: number) =>
  Array.from(
    { length: count },
    (_, n) => `{"timestamp":"2026-01-${String(n + 1).padStart(2, '0')}T00:00:00Z","userId":1}`,
  )

it.each([
  ['is the first one, which says that it has room', daily(20), { ignoresNumber: true, told: 500 }],
  ['is the first one, of the newest entries', daily(20).toReversed(), { ignoresNumber: true, told: 500 }],
  ['behind the second one is empty', daily(28), { reach: 20 }],
])(
  'a trail of which every page %s is not taken for whole where its total counts more',
  { tags: 'long' },
  async (_, entries, pages) => {
    await using tide = await aTideAnsweredBy(inTens(entries, pages))
    await tide.sync('enquiries')
    const failure = failureOf(await tide.attempt('enquiry_audit_entries'), 'enquiry_audit_entries')
    expect(failure).toMatchObject({ code: 'WALK_UNSTABLE', data: { total: entries.length } })
    expect(await tide.warehouse.rows(`SELECT 1 FROM tidemark.marks WHERE report = 'enquiry_audit_entries'`)).toEqual([])
  },
)

it.each([1, 2])(
  'a trail whose total is %i too high is believed where nothing stands before or behind it',
  { tags: 'long' },
  async (lie) => {
    await using tide = await aTideAnsweredBy(inTens(daily(5), { lie }))
    await tide.sync('enquiries', 'enquiry_audit_entries')
    expect(await heldEntries(tide)).toEqual([{ n: 5, last: 5 }])
  },
)

it.each([1, 2, 9])(
  'one entry whose page comes again is not taken for whole while the service counts %i more',
  { tags: 'long' },
  async (lie) => {
    await using tide = await aTideAnsweredBy(inTens([entry(7)], { showsLastAgain: true, lie }))
    await tide.sync('enquiries')
    const failure = failureOf(await tide.attempt('enquiry_audit_entries'), 'enquiry_audit_entries')
    expect(failure).toMatchObject({ code: 'WALK_UNSTABLE', data: { total: 1 + lie } })
  },
)

it('a page of as many entries as were asked for is followed, whatever size it tells', async () => {
  const settings = { reports: { enquiry_audit_entries: { page_size: 4 } } }
  await using tide = await aTideAnsweredBy(inTens(daily(5), { told: 500, lie: -1 }), settings)
  await tide.sync('enquiries', 'enquiry_audit_entries')
  expect(await heldEntries(tide)).toEqual([{ n: 5, last: 5 }])
})

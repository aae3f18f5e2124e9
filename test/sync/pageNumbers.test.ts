/**
 * What page numbers count from is not specified (spec §4, rule 2): a total shows that a page stands before page 1, and a
 * bare array is asked for it.
 */
import { describe, expect, it } from 'vitest'
import { openClient } from '../../src/client/reporting.ts'
import { systemClock } from '../../src/clock.ts'
import { syncAll } from '../../src/sync/syncAll.ts'
import type { Tide } from '../support/tide.ts'
import { type Asked, aTideAnsweredBy } from './answering.ts'

const HOUR_MS = 3_600_000

interface World {
  readonly now: number
  readonly count: number
  /** Size that the service cuts pages to. */
  readonly pageRows: number
  /** What is answered for page 0; undefined: it is the first one. */
  readonly zero?: (asked: Asked) => string | number
  /** Added to each total. */
  readonly lie?: number
  /** The last page is shown for every later number. */
  readonly showsLast?: boolean
  /** The actions of the first enquiry's trail. */
  readonly trail?: readonly string[]
}

const within = (at: number, since: unknown, until: unknown): boolean =>
  (typeof since !== 'string' || at >= Date.parse(since)) && (typeof until !== 'string' || at <= Date.parse(until))

/** Enquiries of the last hours, one an hour, and a trail for the first one. */
function answering({ now, count, pageRows, zero, lie = 0, showsLast = false, trail = ['a', 'b', 'c'] }: World) {
  const answer = ({ path, body, sent }: Asked): string | number => {
    if (body.pageNumber === 0 && zero !== undefined) return zero({ path, body, sent })
    const actions = path.endsWith('/1/Audit') ? trail : []
    const entries = actions.map((action) => `{"timestamp":"2026-01-01T00:00:00Z","userId":1,"action":"${action}"}`)
    const rows = Array.from({ length: count }, (_, n) => n + 1).filter((id) => {
      const at = now - id * HOUR_MS
      return within(at, body.createdSince, body.createdUntil) && within(at, body.modifiedSince, body.modifiedUntil)
    })
    const all = path.endsWith('/Audit') ? entries : rows.map((id) => `{"enquiryId":${id}}`)
    const place = Number(body.pageNumber) - (zero === undefined ? 0 : 1)
    const last = Math.max(0, Math.ceil(all.length / pageRows) - 1)
    const from = (showsLast ? Math.min(place, last) : place) * pageRows
    const items = all.slice(from, from + pageRows).join(',')
    const total = all.length + (all.length === 0 ? 0 : lie)
    return `{"items":[${items}],"pageNumber":${Number(body.pageNumber)},"pageSize":${pageRows},"totalCount":${total}}`
  }
  return answer
}

it.each([
  [3, 100],
  [100, 100],
  [43, 4],
])(
  '%i rows arrive from a service that counts pages of %i from 0, and so do trails',
  { tags: 'long' },
  async (count, pageRows) => {
    await using tide = await aTideAnsweredBy(answering({ now: Date.now(), count, pageRows }))
    await tide.sync('enquiries', 'enquiry_audit_entries')
    expect(await tide.warehouse.rows('SELECT count(*) AS n FROM enquiries')).toEqual([{ n: count }])
    const held = await tide.warehouse.rows('SELECT action FROM enquiry_audit_entries ORDER BY entry_number')
    expect(held).toEqual([{ action: 'a' }, { action: 'b' }, { action: 'c' }])
  },
)

it('a trail alone arrives, too, and a quiet run costs one request for each walk and one that counts', async () => {
  await using tide = await aTideAnsweredBy(answering({ now: Date.now(), count: 1, pageRows: 2 }))
  await tide.warehouse.rows('INSERT INTO enquiries BY NAME SELECT 1 AS enquiry_id, false AS is_deleted')
  await tide.sync('enquiry_audit_entries')
  expect(await tide.warehouse.rows('SELECT count(*) AS n FROM enquiry_audit_entries')).toEqual([{ n: 3 }])
  await tide.sync('enquiries')
  tide.asked.length = 0
  await tide.sync('enquiries')
  expect(tide.asked).toHaveLength(3)
})

describe('a service that counts pages from 0 and shows the last one for every later number', () => {
  it.each([
    ['of two pages', ['a', 'b', 'c']],
    ['of full pages', ['a', 'b', 'c', 'd', 'e', 'f']],
  ])('sends a trail %s whole', async (_, trail) => {
    const service = answering({ now: Date.now(), count: 1, pageRows: 2, showsLast: true, trail })
    await using tide = await aTideAnsweredBy(service)
    await tide.sync('enquiries', 'enquiry_audit_entries')
    const held = await tide.warehouse.rows('SELECT action FROM enquiry_audit_entries ORDER BY entry_number')
    expect(held).toEqual(trail.map((action) => ({ action })))
    expect(await tide.warehouse.rows('FROM tidemark.skipped_records')).toEqual([])
  })
})

it('an entry that comes while page 0 is tried does not end a walk that lacks that page', async () => {
  const trail = ['a']
  const service = answering({ now: Date.now(), count: 1, pageRows: 2, trail })
  await using tide = await aTideAnsweredBy((asked) => {
    if (asked.path.endsWith('/1/Audit') && asked.body.pageNumber === 0 && trail.length === 1) trail.push('b')
    return service(asked)
  })
  await tide.sync('enquiries', 'enquiry_audit_entries')
  const held = await tide.warehouse.rows('SELECT action FROM enquiry_audit_entries ORDER BY entry_number')
  expect(held).toEqual([{ action: 'a' }, { action: 'b' }])
})

it.each([
  ['refuses page 0', (): string | number => 400],
  ['has nothing on page 0', (): string | number => '{"items":[],"pageNumber":0,"pageSize":100,"totalCount":4}'],
] as const)('a service that counts from 1, %s and tells a total that lies is believed as before', async (_, zero) => {
  await using tide = await aTideAnsweredBy(answering({ now: Date.now(), count: 3, pageRows: 100, zero, lie: 1 }))
  await tide.sync('enquiries')
  expect(await tide.warehouse.rows('SELECT count(*) AS n FROM enquiries')).toEqual([{ n: 3 }])
  expect(tide.asked.filter(({ body }) => body.pageNumber === 0)).toHaveLength(1)
})

it('a service that shows page 1 for page 0 is not taken for one that counts from 0', async () => {
  const world = { now: Date.now(), count: 3, pageRows: 100, lie: 1 }
  const fromOne = answering({ ...world, zero: () => 400 })
  const zero = (asked: Asked) => fromOne({ ...asked, body: { ...asked.body, pageNumber: 1 } })
  await using tide = await aTideAnsweredBy(answering({ ...world, zero }))
  await tide.sync('enquiries')
  expect(await tide.warehouse.rows('SELECT count(*) AS n FROM enquiries')).toEqual([{ n: 3 }])
  expect(tide.asked.filter(({ body }) => body.pageNumber === 0)).toHaveLength(1)
})

const anEvent = (id: number, at: number): string => {
  const stamp = new Date(at).toISOString()
  return `{"eventId":${id},"recordModified":"${stamp}","aggregateRecordModified":"${stamp}","isDeleted":false}`
}

interface Arrays {
  readonly now: number
  readonly pageRows: number
  /** What is answered for page 0, from all rows of the question; undefined: it is the first one. */
  readonly zero?: (rows: readonly string[]) => string | number
  /** The service reads bounds in whole seconds. */
  readonly wholeSeconds?: boolean
  /** All rows have the same stamp. */
  readonly isHeap?: boolean
  /** What is shown for a number behind the last page. */
  readonly behind?: 'nothing' | 'the last page' | 'a refusal'
}

/** Events, one a minute up to now, in pages of `pageRows`. */
function arrays({ now, pageRows, zero, wholeSeconds = false, isHeap = false, behind = 'nothing' }: Arrays) {
  const events = new Map<number, number>()
  const bound = (at: unknown) => (typeof at === 'string' && wholeSeconds ? `${at.slice(0, 19)}Z` : at)
  const answer = ({ body }: Asked): string | number => {
    const rows = [...events]
      .filter(([, at]) => within(at, bound(body.modifiedSince), bound(body.modifiedUntil)))
      .map(([id, at]) => anEvent(id, at))
    if (body.pageNumber === 0 && zero !== undefined) return zero(rows)
    const size = Math.min(pageRows, Number(body.pageSize))
    const lastPlace = Math.max(0, Math.ceil(rows.length / size) - 1)
    const place = Number(body.pageNumber) - (zero === undefined ? 0 : 1)
    if (behind === 'a refusal' && place > lastPlace) return 404
    const from = (behind === 'the last page' ? Math.min(place, lastPlace) : place) * size
    return `[${rows.slice(from, from + size).join(',')}]`
  }
  const begun = now - (now % 60_000)
  let last = 0
  return {
    answer,
    add: (count: number) => {
      const next = last + 1
      last += count
      for (let id = next; id < next + count; id += 1)
        events.set(id, begun - (isHeap ? 30 : count - (id - next)) * 60_000)
    },
    edit: (id: number) => events.set(id, (events.get(id) ?? begun) + 1_000),
    remove: (id: number) => events.delete(id),
  }
}

const heldEvents = ({ warehouse }: Pick<Tide, 'warehouse'>) => warehouse.rows('SELECT count(*) AS n FROM events')

describe.each(['nothing', 'the last page'] as const)(
  'a service that counts pages from 0 and shows %s behind',
  (behind) => {
    it.each([
      [100, 100],
      [43, 4],
    ])(
      'the last one sends all of %i events in pages of %i, and later ones',
      { tags: 'long' },
      async (count, pageRows) => {
        const service = arrays({ now: Date.now(), pageRows, behind })
        await using tide = await aTideAnsweredBy(service.answer, { defaults: { page_size: pageRows } })
        service.add(count)
        await tide.sync('events')
        expect(await heldEvents(tide)).toEqual([{ n: count }])
        service.add(2)
        tide.asked.length = 0
        await tide.sync('events')
        expect(await heldEvents(tide)).toEqual([{ n: count + 2 }])
        const numbers = await tide.warehouse.rows('SELECT report, first_number FROM tidemark.page_sizes')
        expect(numbers).toEqual([{ report: 'events', first_number: 0 }])
      },
    )

    it('the last one sends all events of one instant', async () => {
      const service = arrays({ now: Date.now(), pageRows: 4, isHeap: true, behind })
      await using tide = await aTideAnsweredBy(service.answer, { defaults: { page_size: 4 } })
      service.add(11)
      await tide.sync('events')
      expect(await heldEvents(tide)).toEqual([{ n: 11 }])
    })

    it('the last one sends all events after a single one', async () => {
      const service = arrays({ now: Date.now(), pageRows: 4, behind })
      await using tide = await aTideAnsweredBy(service.answer, { defaults: { page_size: 4 } })
      for (const count of [1, 9]) {
        service.add(count)
        await tide.sync('events')
      }
      expect(await heldEvents(tide)).toEqual([{ n: 10 }])
    })
  },
)

const lengthMs = ({ modifiedSince, modifiedUntil }: Asked['body']): number =>
  Date.parse(String(modifiedUntil)) - Date.parse(String(modifiedSince))

/** Whether a request is for the surroundings of one row. */
const isNarrow = ({ body }: Asked): boolean => lengthMs(body) <= 1

it.each([
  ['is edited after the request for it', 1, isNarrow, 'edit'],
  ['leaves before the pages of one row are read', 1, ({ body }) => body.pageNumber === 2, 'remove'],
  [
    'leaves while the pages of one row are read',
    2,
    ({ body }) => body.pageSize === 1 && body.pageNumber === 0,
    'remove',
  ],
  [
    'leaves after the second page of one row is read',
    12,
    ({ body }) => body.pageSize === 1 && body.pageNumber === 1 && lengthMs(body) > 60_000,
    'remove',
  ],
] as const satisfies readonly (readonly [string, number, (asked: Asked) => boolean, 'edit' | 'remove'])[])(
  'a service that counts pages from 0 is not taken for one that counts from 1 because a row %s',
  async (_, count, isThen, changes) => {
    const service = arrays({ now: Date.now(), pageRows: 4, behind: 'the last page' })
    let isChanged = false
    const answer = (asked: Asked) => {
      const given = service.answer(asked)
      if (!isChanged && isThen(asked)) {
        isChanged = true
        service[changes](1)
      }
      return given
    }
    await using tide = await aTideAnsweredBy(answer, { defaults: { page_size: 4 } })
    service.add(count)
    await tide.sync('events')
    expect(isChanged).toBe(true)
    service.add(9)
    await tide.sync('events')
    expect(await tide.warehouse.rows('SELECT first_number FROM tidemark.page_sizes')).toEqual([{ first_number: 0 }])
    expect(await tide.warehouse.rows(`SELECT count(*) AS n FROM events WHERE event_id > ${count}`)).toEqual([{ n: 9 }])
  },
)

describe.each([
  ['the last page', { tags: 'long' }],
  ['a refusal', {}],
] as const)('where %s is behind', (behind, options) => {
  it('single rows are read although one row counted as a full page', options, async () => {
    const service = arrays({ now: Date.now(), pageRows: 10, behind, zero: () => '[]' })
    await using tide = await aTideAnsweredBy(service.answer, { defaults: { page_size: 10 } })
    service.add(3)
    await tide.sync('events')
    // This happens if page 1 has one row, and page 2 a row that was added meanwhile.
    await tide.warehouse.rows('UPDATE tidemark.page_sizes SET full_min = 1, seen_max = 1, whole_max = NULL')
    service.add(3)
    await tide.sync('events')
    expect(await heldEvents(tide)).toEqual([{ n: 6 }])
    const [full] = await tide.warehouse.rows<{ full_min: number }>('SELECT full_min FROM tidemark.page_sizes')
    expect(full?.full_min).toBeGreaterThan(1)
  })
})

it('what a service counts from is known to the next process, too', async () => {
  const service = arrays({ now: Date.now(), pageRows: 100 })
  await using tide = await aTideAnsweredBy(service.answer)
  service.add(3)
  await tide.sync('events')
  await using client = openClient(tide.config.service, { clock: systemClock })
  service.add(2)
  const [outcome] = await syncAll({ ...tide.context, client }, ['events'])
  expect(outcome?.error).toBeUndefined()
  expect(await heldEvents(tide)).toEqual([{ n: 5 }])
})

const refusesEachPage = ({ body }: Asked) => (Number(body.pageSize) > 1 ? 400 + Number(body.pageNumber) * 18 : '[]')

it('a service that refuses page 1 and page 0 fails the run with its answer to page 1', async () => {
  await using tide = await aTideAnsweredBy(refusesEachPage, { defaults: { page_size: 4 } })
  const [outcome] = await syncAll(tide.context, ['events'])
  expect(outcome?.error?.message).toContain('418')
  expect(tide.asked.map(({ body }) => body.pageNumber)).toContain(0)
})

it('a service that counted pages from 0 and refuses page 0 now is asked from page 1 on', async () => {
  const service = arrays({ now: Date.now(), pageRows: 4 })
  let first = 0
  const answer = (asked: Asked) => {
    const pageNumber = Number(asked.body.pageNumber) - first
    return pageNumber < 0 ? 400 : service.answer({ ...asked, body: { ...asked.body, pageNumber } })
  }
  await using tide = await aTideAnsweredBy(answer, { defaults: { page_size: 4 } })
  const numbers = () => tide.warehouse.rows('SELECT first_number FROM tidemark.page_sizes')
  service.add(3)
  await tide.sync('events')
  expect(await numbers()).toEqual([{ first_number: 0 }])
  first = 1
  service.add(9)
  await tide.sync('events')
  expect(await heldEvents(tide)).toEqual([{ n: 12 }])
  expect(await numbers()).toEqual([{ first_number: 1 }])
})

const ODD_PAGES_0: readonly (readonly [string, NonNullable<Arrays['zero']>])[] = [
  ['refuses page 0', () => 400],
  ['fails at page 0', () => 500],
  ['has nothing on page 0', () => '[]'],
  ['sends everything for page 0', (rows) => `[${rows.join(',')}]`],
  ['shows page 1 for page 0, too,', (rows) => `[${rows.slice(0, 4).join(',')}]`],
]

it.each(ODD_PAGES_0)(
  'a service of bare arrays that counts from 1 and %s is not asked for it where page 1 has rows',
  { tags: 'long' },
  async (_, zero) => {
    const service = arrays({ now: Date.now(), pageRows: 4, zero })
    await using tide = await aTideAnsweredBy(service.answer, { defaults: { page_size: 4 } })
    service.add(10)
    await tide.sync('events')
    service.add(3)
    await tide.sync('events')
    expect(await heldEvents(tide)).toEqual([{ n: 13 }])
    expect(tide.asked.filter(({ body }) => body.pageNumber === 0)).toEqual([])
    expect(await tide.warehouse.rows('SELECT first_number FROM tidemark.page_sizes')).toEqual([{ first_number: 1 }])
  },
)

it.each(ODD_PAGES_0)(
  'one that has no events yet and %s is not taken for one that counts from 0',
  { tags: 'long' },
  async (_, zero) => {
    const service = arrays({ now: Date.now(), pageRows: 100, zero })
    await using tide = await aTideAnsweredBy(service.answer)
    await tide.sync('events')
    service.add(3)
    await tide.sync('events')
    expect(await heldEvents(tide)).toEqual([{ n: 3 }])
    expect(await tide.warehouse.rows('SELECT first_number FROM tidemark.page_sizes')).toEqual([{ first_number: 1 }])
  },
)

it('a service of bare arrays that counts from 0 and knows whole seconds only is seen through', async () => {
  const service = arrays({ now: Date.now(), pageRows: 100, wholeSeconds: true })
  await using tide = await aTideAnsweredBy(service.answer)
  service.add(130)
  await tide.sync('events')
  expect(await heldEvents(tide)).toEqual([{ n: 130 }])
})

/**
 * Envelopes whose total counts rows that no page has. Either every page is the first one and ends at a hidden limit, or page
 * 1 is not the first page, or pages end at some depth. Rows are removed while pages are read.
 */
import { describe, expect, it } from 'vitest'
import { DAY_MS } from '../../src/instant.ts'
import { type Asked, aTideAnsweredBy } from './answering.ts'
import { failureOf } from './stories.ts'

const LIMIT = 4
const WALKED_TOO_FAR = 400

interface Service {
  readonly count: number
  /** Which rows a page has, of those that match, and which page is requested. */
  readonly pageOf: (ids: readonly number[], number: number) => readonly number[]
  /** Requests before which the last row may be removed: before each of the first `n`, or before number `n` only. */
  readonly removesIn?: (asked: Asked['body'], count: number) => boolean
  readonly removes?: 'each' | 'one'
  readonly n?: number
}

const within = (at: number, since: unknown, until: unknown): boolean =>
  (typeof since !== 'string' || at >= Date.parse(since)) && (typeof until !== 'string' || at <= Date.parse(until))

/** Enquiries of the last days, one a day, with the latest first. */
function answering({ count, pageOf, removesIn = () => false, removes = 'each', n = 0 }: Service) {
  const now = Date.now()
  let asked = 0
  const left = () => count - (removes === 'each' ? Math.min(asked, n) : Number(asked >= n))
  const answer = ({ body }: Asked): string => {
    if (removesIn(body, left())) asked += 1
    const ids = Array.from({ length: left() }, (_, n) => n + 1).filter((id) => {
      const at = now - id * DAY_MS
      return within(at, body.createdSince, body.createdUntil) && within(at, body.modifiedSince, body.modifiedUntil)
    })
    const items = (Number(body.pageSize) === 1 ? ids.slice(0, 1) : pageOf(ids, Number(body.pageNumber))).map(
      (id) => `{"enquiryId":${id}}`,
    )
    const { pageNumber, pageSize } = body
    return `{"items":[${items.join(',')}],"pageNumber":${Number(pageNumber)},"pageSize":${Number(pageSize)},"totalCount":${ids.length}}`
  }
  return { answer, living: () => Array.from({ length: left() }, (_, n) => ({ id: n + 1 })) }
}

const paged = (ids: readonly number[], page: number) => ids.slice((page - 1) * LIMIT, page * LIMIT)
const isLaterPage = ({ pageNumber, pageSize }: Asked['body']) => Number(pageNumber) > 1 && Number(pageSize) > 1
const isEmptyPage = ({ pageNumber, pageSize }: Asked['body'], count: number) =>
  Number(pageSize) > 1 && Number(pageNumber) * LIMIT >= count
/** Requests for the totals of parts are among these: they have both bounds. */
const isPart = ({ createdSince, pageNumber }: Asked['body']) => createdSince !== undefined && pageNumber === 1

describe.each([
  ['has the same first rows on every page', { pageOf: (ids) => ids.slice(0, LIMIT), removesIn: isLaterPage }],
  ['counts pages from 0', { pageOf: (ids, number) => paged(ids, number + 1), removesIn: isEmptyPage, removes: 'one' }],
  ['pages to two pages only', { pageOf: (ids, number) => (number > 2 ? [] : paged(ids, number)), removesIn: isPart }],
] as const satisfies [string, Omit<Service, 'count'>][])('a service that %s', (_, service) => {
  const arriveWhole = async (...moments: number[]) => {
    for (const n of moments) {
      const { answer, living } = answering({ ...service, count: 24, n })
      const defaults = { page_size: 9, deletes_every: 'never' }
      await using tide = await aTideAnsweredBy(answer, { defaults })
      await tide.sync('enquiries')
      const held = await tide.warehouse.rows<{ id: number }>(
        'SELECT enquiry_id::INTEGER AS id FROM enquiries ORDER BY 1',
      )
      expect(held, `n = ${n}`).toEqual(expect.arrayContaining(living()))
      expect(tide.asked.length).toBeLessThan(WALKED_TOO_FAR)
    }
  }

  it('sends all rows while rows are removed', () => arriveWhole(2, 5))
  it('sends all rows while rows are removed at other moments', { tags: 'long' }, () => arriveWhole(1, 3, 4, 6, 7, 8))
})

it('rows that no narrower request can bring end in WALK_UNSTABLE, which counts them', async () => {
  const { answer } = answering({ count: 24, pageOf: (ids) => ids.slice(0, LIMIT) })
  const settings = { defaults: { page_size: 9 }, reports: { enquiries: { ask_created: false } } }
  await using tide = await aTideAnsweredBy(answer, settings)
  const { code, message } = failureOf(await tide.attempt('enquiries'), 'enquiries')
  expect(code).toBe('WALK_UNSTABLE')
  expect(message).toContain('the service counts 24 rows, but its pages have 4')
})

it('rows that were created before `start` arrive, too', async () => {
  const { answer, living } = answering({ count: 24, pageOf: (ids) => ids.slice(0, LIMIT) })
  const start = new Date(Date.now() - DAY_MS / 2).toISOString()
  await using tide = await aTideAnsweredBy(answer, { defaults: { page_size: 9, start } })
  await tide.sync('enquiries')
  expect(await tide.warehouse.rows('SELECT enquiry_id::INTEGER AS id FROM enquiries ORDER BY 1')).toEqual(living())
})

it('rows that are all there are read where page numbers are ignored and the total counts more', async () => {
  const { answer, living } = answering({ count: 6, pageOf: (ids) => ids })
  const lying = (asked: Asked) =>
    answer(asked).replace(/"totalCount":(\d+)/, (_, total) => `"totalCount":${Number(total) + 3}`)
  await using tide = await aTideAnsweredBy(lying, { defaults: { page_size: 9 } })
  await tide.sync('enquiries')
  expect(await tide.warehouse.rows('SELECT enquiry_id::INTEGER AS id FROM enquiries ORDER BY 1')).toEqual(living())
  expect(tide.asked.length).toBeLessThan(WALKED_TOO_FAR)
})

it.each([2, 3, 30])(
  '%i rows of a bare array at one instant arrive where the last page comes again',
  { tags: 'long' },
  async (count) => {
    const at = new Date(Date.now() - DAY_MS).toISOString()
    const answer = ({ path, body }: Asked): string => {
      if (!path.endsWith('GetEventsReport') || !within(Date.parse(at), body.modifiedSince, body.modifiedUntil))
        return '[]'
      const ids = Array.from({ length: count }, (_, n) => n + 1)
      const size = Number(body.pageSize)
      const page = Math.min(Number(body.pageNumber), Math.ceil(count / size))
      const rows = page < 1 ? [] : ids.slice((page - 1) * size, page * size)
      return `[${rows.map((id) => `{"eventId":${id},"isDeleted":false,"recordModified":"${at}","aggregateRecordModified":"${at}"}`).join(',')}]`
    }
    await using tide = await aTideAnsweredBy(answer)
    await tide.sync('events')
    expect(await tide.warehouse.rows('SELECT count(*)::INTEGER AS n FROM events')).toEqual([{ n: count }])
  },
)

it('a page of repeated rows ends in WALK_UNSTABLE if the service refuses a larger page', async () => {
  const at = new Date(Math.floor(Date.now() / 1_000) * 1_000 - 2 * DAY_MS).toISOString()
  const rows = Array.from({ length: 6 }, (_, n) => `{"eventId":${n + 1},"aggregateRecordModified":"${at}"}`)
  let count = 0
  const answer = ({ body }: Asked): string | number => {
    count += 1
    if (count > WALKED_TOO_FAR) return 403
    if (Number(body.pageSize) > 6 || body.pageNumber === 0) return 400
    if (!within(Date.parse(at), body.modifiedSince, body.modifiedUntil)) return '[]'
    const pages = [rows, rows.slice(1, 4)]
    return `[${(pages[Number(body.pageNumber) - 1] ?? []).slice(0, Number(body.pageSize)).join(',')}]`
  }
  await using tide = await aTideAnsweredBy(answer, { defaults: { page_size: 6 } })
  expect(failureOf(await tide.attempt('events'), 'events').code).toBe('WALK_UNSTABLE')
})

/**
 * Services whose responses change form from request to request, as the specification allows. They send more rows in a page
 * without `expand`, a row twice, keys as numbers or as text, times of few digits, and short pages before long ones.
 */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { ReportName } from '../../schema/index.ts'
import { DAY_MS } from '../../src/instant.ts'
import { backfillReport } from '../../src/sync/backfill/backfill.ts'
import { pullHere } from '../../src/sync/backfill/handover.ts'
import { reconcileReport } from '../../src/sync/reconcile.ts'
import { at } from '../support/warehouse.ts'
import { type AnsweredTide, type Asked, aTideAnsweredBy } from './answering.ts'

type Body = Asked['body']

const PAGE = 10
const SETTINGS = { currencies: ['EUR'], defaults: { page_size: PAGE } }
const FIRST_MS = Date.UTC(2025, 0, 1)
const dayOf = (id: number): number => FIRST_MS + id * DAY_MS

const timeOf = (bound: unknown): number => Date.parse(typeof bound === 'string' ? bound : '')
const within = (time: number, since: unknown, until: unknown): boolean =>
  (since === undefined || time >= timeOf(since)) && (until === undefined || time <= timeOf(until))

const once: (id: number) => number = () => 1

/** Numbers from 1 to `count`, one a day, that match the request, as pages of at most `limit`. */
function idsFor(body: Body, count: number, { limit = PAGE, dayAt = dayOf, copies = once } = {}) {
  const { modifiedSince, modifiedUntil, createdSince, createdUntil, pageNumber, pageSize } = body
  const all = Array.from({ length: count }, (_, n) => n + 1)
    .filter((id) => within(dayAt(id), modifiedSince, modifiedUntil) && within(dayAt(id), createdSince, createdUntil))
    .flatMap((id) => Array<number>(copies(id)).fill(id))
  const size = Math.min(limit, Number(pageSize))
  return { all, page: all.slice((Number(pageNumber) - 1) * size, Number(pageNumber) * size) }
}

const budget = (id: number | string, day: number, name: string): string =>
  `{"budgetId":${id},"budgetName":"${name}","modifiedAt":"${new Date(day).toISOString()}"}`

const event = (id: number | string, day: number): string =>
  `{"eventId":${id},"recordModified":"${new Date(day).toISOString()}","isDeleted":false}`

async function backfill({ context, clock }: AnsweredTide, report: ReportName) {
  // Later by more than a second, so that the rows of the backfill are newer.
  clock.pass(2_000)
  const [from, to] = [at('2024-01-01T00:00:00Z'), at('2026-01-01T00:00:00Z')]
  const options = { backfillId: randomUUID(), report, from, to, lanes: 1, pull: pullHere(context) }
  expect(await backfillReport(context, options)).toMatchObject({ state: 'done' })
}

const namesOf = ({ warehouse }: AnsweredTide) =>
  warehouse.rows<{ name: string; rows: number }>(
    'SELECT budget_name AS name, count(*)::INTEGER AS rows FROM budgets GROUP BY ALL',
  )

describe('a backfill of budgets reads each row', () => {
  it('although the second read, without expand, has more rows in a page', async () => {
    let name = 'before'
    await using tide = await aTideAnsweredBy(
      ({ body }) =>
        `[${idsFor(body, 9, { limit: body['expand'] === undefined ? PAGE : 4 })
          .page.map((id) => budget(id, dayOf(id), name))
          .join(',')}]`,
      SETTINGS,
    )
    await tide.sync('budgets')
    name = 'after'
    await backfill(tide, 'budgets')
    expect(await namesOf(tide)).toEqual([{ name: 'after', rows: 9 }])
  })

  it('although a full page has one row twice', async () => {
    let copies = once
    let name = 'before'
    await using tide = await aTideAnsweredBy(
      ({ body }) =>
        `[${idsFor(body, 35, { copies })
          .page.map((id) => budget(id, dayOf(id), name))
          .join(',')}]`,
      SETTINGS,
    )
    await tide.sync('budgets')
    name = 'after'
    copies = (id) => (id % 8 === 3 ? 2 : 1)
    await backfill(tide, 'budgets')
    expect(await namesOf(tide)).toEqual([{ name: 'after', rows: 35 }])
  })
})

it('a backfill of budgets deletes no living one of a service that removes deleted ones from its pages', async () => {
  const gone = new Set([2, 6, 10, 14, 18, 22, 26, 30, 34])
  await using tide = await aTideAnsweredBy(
    ({ body }) =>
      `[${idsFor(body, 35)
        .page.filter((id) => body['includeDeleted'] === true || !gone.has(id))
        .map((id) => budget(id, dayOf(id), 'x'))
        .join(',')}]`,
    SETTINGS,
  )
  const deleted = () => tide.warehouse.rows('SELECT budget_id::INTEGER AS id FROM budgets WHERE is_deleted ORDER BY 1')
  const expected = [...gone].map((id) => ({ id }))
  await tide.sync('budgets')
  expect(await deleted()).toEqual(expected)
  await backfill(tide, 'budgets')
  expect(await deleted()).toEqual(expected)
})

it('a budget whose key is a number in one response and text in the next is not deleted', async () => {
  await using tide = await aTideAnsweredBy(({ body }) => {
    const quote = tide.asked.length % 2 === 0 ? '' : '"'
    return `[${idsFor(body, 5)
      .page.map((id) => budget(`${quote}${id}${quote}`, dayOf(id), 'x'))
      .join(',')}]`
  }, SETTINGS)
  await tide.sync('budgets')
  expect(await tide.warehouse.rows('SELECT DISTINCT is_deleted FROM budgets')).toEqual([{ is_deleted: false }])
})

/** Keys that are no short numbers. */
const KEYS = [
  ['a text', (id: number) => `"${id}"`],
  ['a number of 19 digits', (id: number) => `90000000000000000${id}`],
] as const

it.each(KEYS)('an event whose stamp went back before the start is not deleted, if its key is %s', async (_, keyOf) => {
  const start = new Date(dayOf(10)).toISOString()
  const days = new Map([[12, dayOf(12)]])
  const dayAt = (id: number) => days.get(id) ?? dayOf(id)
  await using tide = await aTideAnsweredBy(
    ({ body }) =>
      `[${idsFor(body, 15, { dayAt })
        .page.map((id) => event(keyOf(id), dayAt(id)))
        .join(',')}]`,
    { defaults: { page_size: PAGE, start } },
  )
  await tide.sync('events')
  days.set(12, dayOf(5))
  for (const absent of [1, 0]) {
    tide.clock.pass(2_000)
    const { found } = await reconcileReport(tide.context, 'events', { runId: randomUUID(), allowMassDelete: true })
    expect(found).toMatchObject({ absent, deleted: 0 })
  }
})

it('enquiries that each page has twice, and the total too, are read with few requests', async () => {
  const REQUESTS_MAX = 60
  let newest = dayOf(20)
  const dayAt = (id: number) => (id === 20 ? newest : dayOf(id))
  await using tide = await aTideAnsweredBy(({ body }) => {
    const { all, page } = idsFor(body, 20, { copies: () => 2, dayAt })
    const items = page.map((id) => `{"enquiryId":${id}}`).join(',')
    return `{"items":[${items}],"pageNumber":${Number(body['pageNumber'])},"pageSize":${PAGE},"totalCount":${all.length}}`
  }, SETTINGS)
  await tide.sync('enquiries')
  newest = Math.floor(tide.clock.now() / 1_000)
  await tide.sync('enquiries')
  expect(await tide.warehouse.rows('SELECT count(*)::INTEGER AS n FROM enquiries')).toEqual([{ n: 20 }])
  expect(tide.asked.length).toBeLessThan(REQUESTS_MAX)
})

/** A service may keep fewer digits of a time than a request names, and then cuts the bounds, too. */
describe.each([
  ['milliseconds', 1],
  ['seconds', 1_000],
] as const)('a service that cuts bounds to %s', (_, unitMs) => {
  const cutBound = (bound: unknown) => new Date(Math.floor(timeOf(bound) / unitMs) * unitMs).toISOString()

  it.each(['events', 'budgets'] as const)('sends all %s of one instant that fill several pages', async (report) => {
    const REQUESTS_MAX = 100
    let instant = 0
    await using tide = await aTideAnsweredBy(({ body }) => {
      const since = cutBound(body['modifiedSince'])
      const until = cutBound(body['modifiedUntil'])
      const { page } = idsFor({ ...body, modifiedSince: since, modifiedUntil: until }, 25, { dayAt: () => instant })
      return `[${page.map((id) => (report === 'events' ? event(id, instant) : budget(id, instant, 'x'))).join(',')}]`
    }, SETTINGS)
    instant = Math.floor(tide.clock.now() / 1_000_000) * 1_000 - 5_000
    await tide.sync(report)
    expect(await tide.warehouse.rows(`SELECT count(*)::INTEGER AS n FROM ${report}`)).toEqual([{ n: 25 }])
    expect(tide.asked.length).toBeLessThan(REQUESTS_MAX)
  })
})

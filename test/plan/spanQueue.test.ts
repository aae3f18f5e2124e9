/**
 * How spans are cut: whatever rows stand where and in whatever order they come, the slices cover the span without a
 * gap, come to an end, and cost a bounded number of requests. The service here is a list of stamps, without any
 * transport.
 */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Instant } from '../../src/instant.ts'
import { plannedRows } from '../../src/plan/density.ts'
import { SpanQueue } from '../../src/plan/spanQueue.ts'
import type { Span } from '../../src/plan/spans.ts'
import { aChance, densities, type Order, orders, rowsOf, type RowsWanted, type StampedRow } from './densities.ts'

const LENGTH = 1e13
const WHOLE = { since: 0 as Instant, until: LENGTH as Instant }

interface Service {
  readonly rows: readonly StampedRow[]
  readonly pageRows: number
  readonly order: Order
  readonly tellsTotal: boolean
  readonly hasStamps?: boolean
}

interface Asked {
  readonly slices: readonly Span[]
  readonly requests: number
  /** Pages that the proven slices' rows fill; twice for heaps, which are walked twice. */
  readonly least: number
}

/** Proves everything as the engine would, on a service that nobody changes. */
function readAll(service: Service): Asked {
  const { rows, pageRows, tellsTotal, hasStamps = true } = service
  const queue = new SpanQueue([WHOLE], { pageRows })
  const slices: Span[] = []
  let [requests, brought, heapPages, knowsPages] = [0, 0, 0, tellsTotal]
  for (let slice = queue.next(); slice !== undefined; slice = queue.next()) {
    const { span, crowdedInstant } = slice
    const { since = 0, until } = span
    const found = rows.filter(([a, b]) => (a >= since && a <= until) || (b >= since && b <= until))
    requests += 1
    expect(requests, 'it ends').toBeLessThan(5_000)
    if (found.length < pageRows) {
      queue.proven(span, found.length, true)
      slices.push(span)
      brought += found.length
      continue
    }
    const pages = Math.ceil(found.length / pageRows)
    if (crowdedInstant !== undefined || until - since < 2) {
      requests += 2 * pages + 1
      heapPages += 2 * pages
      queue.proven(span, found.length, false)
      slices.push(span)
      continue
    }
    if (!knowsPages) requests += 1
    const sample = found.slice(0, knowsPages ? pageRows : 2 * pageRows)
    knowsPages = true
    const told = tellsTotal ? { total: found.length } : hasStamps ? { stamps: sample } : {}
    queue.cut(span, { pageRows, ...told })
  }
  return { slices, requests, least: Math.ceil(brought / pageRows) + heapPages }
}

function expectCovered(slices: readonly Span[]): void {
  let reached: number = WHOLE.since
  for (const { since, until } of slices) {
    expect(since).toBe(reached)
    expect(until).toBeGreaterThan(reached)
    reached = until
  }
  expect(reached).toBe(WHOLE.until)
}

/** Requests for one page that is needed, on average over some services that differ by chance alone. */
function cost(service: Omit<Service, 'rows'>, density: keyof typeof densities, pages: number): number {
  const seeds = [1, 2, 3]
  const each = seeds.map((seed) => {
    const rows = rowsOf({ density, count: pages * service.pageRows - 7, length: LENGTH, order: service.order, seed })
    const { slices, requests, least } = readAll({ ...service, rows })
    expectCovered(slices)
    return requests / least
  })
  return each.reduce((sum, one) => sum + one, 0) / seeds.length
}

/** Proves a span with a total after rows have moved: in slices of 8 pages. Longer ones than 16 pages are cut. */
function readAfterMove({ density, count, pageRows }: Pick<RowsWanted, 'density' | 'count'> & { pageRows: number }) {
  const rows = rowsOf({ density, count, length: LENGTH, order: 'none', seed: count }).map(([at]) => at)
  const queue = new SpanQueue([WHOLE], { pageRows, wholeUntil: WHOLE.until })
  expect(queue.next()?.span).toEqual(WHOLE)
  queue.cut(WHOLE, { pageRows, total: count, pagesEach: 8 })
  const slices: Span[] = []
  let requests = 0
  for (let slice = queue.next(); slice !== undefined; slice = queue.next()) {
    const { span } = slice
    const { since = 0, until } = span
    const total = rows.filter((at) => at >= since && at <= until).length
    const isTooLong = total > 16 * pageRows
    requests += isTooLong ? 1 : Math.max(1, Math.ceil(total / pageRows))
    expect(requests, 'it ends').toBeLessThan(2_000)
    if (isTooLong) queue.cut(span, { pageRows, total })
    else {
      queue.proven(span, total, total < pageRows)
      slices.push(span)
    }
  }
  return { slices, requests }
}

describe('a span that is cut by what its slices hold', () => {
  it('is covered without a gap and in a bounded number of requests, wherever its rows stand', () => {
    const anInstant = fc.oneof(
      fc.integer({ min: 0, max: LENGTH }),
      fc.integer({ min: 0, max: 20 }).map((n) => Math.floor((n * LENGTH) / 20)),
      fc.integer({ min: 0, max: 40 }),
    )
    const someRows = fc.array(fc.tuple(anInstant, anInstant, fc.integer({ min: 1, max: 9 })), { maxLength: 40 })
    const aService = fc.record({
      pageRows: fc.integer({ min: 1, max: 12 }),
      tellsTotal: fc.boolean(),
      hasStamps: fc.boolean(),
      heaps: someRows,
    })
    fc.assert(
      fc.property(aService, ({ heaps, ...service }) => {
        const rows = heaps.flatMap(([a, b, times]) =>
          Array.from({ length: times }, (): StampedRow => [a as Instant, b as Instant]),
        )
        const { slices, requests } = readAll({ ...service, order: 'none', rows })
        expectCovered(slices)
        // Without stamps a heap is searched for down to its instant, by lengths alone; each row here may stand in two.
        const isSample = service.hasStamps && !service.tellsTotal && service.pageRows > 1
        const most = isSample ? 100 : 300
        expect(requests).toBeLessThan(100 + most * heaps.length)
      }),
      { numRuns: 200 },
    )
  })

  it.each([
    // Small pages scatter more: there the room left free, and now and then an overfull slice, weigh most.
    { pageRows: 50, pages: 60, most: 1.7 },
    { pageRows: 300, pages: 40, most: 1.4 },
    { pageRows: 500, pages: 20, most: 1.4 },
    { pageRows: 500, pages: 40, most: 1.3 },
  ])(
    'costs at most $most × its pages where rows stand evenly or by chance ($pageRows × $pages)',
    { tags: 'long' },
    (size) => {
      const { pageRows, pages, most } = size
      for (const density of ['even', 'byChance'] as const) {
        for (const order of orders.filter((each) => each !== 'descending')) {
          const found = cost({ pageRows, order, tellsTotal: false }, density, pages)
          expect(found, `${density}, ${order}`).toBeLessThanOrEqual(most)
        }
        expect(cost({ pageRows, order: 'none', tellsTotal: true }, density, pages), density).toBeLessThanOrEqual(most)
      }
    },
  )

  it.each(['growing', 'edited', 'twoStamps'] as const)(
    'costs at most 1.4 × its pages where rows stand as a report leaves them in years (%s)',
    { tags: 'long' },
    (density) => {
      for (const order of ['ascending', 'none'] as const) {
        expect(cost({ pageRows: 500, order, tellsTotal: false }, density, 60), order).toBeLessThanOrEqual(1.4)
      }
    },
  )

  it('costs a few requests for each heap and each burst, not a series down to an instant', () => {
    for (const density of ['heap', 'bursts'] as const) {
      const pageRows = 300
      expect(cost({ pageRows, order: 'ascending', tellsTotal: false }, density, 40)).toBeLessThanOrEqual(2.4)
      expect(cost({ pageRows, order: 'none', tellsTotal: false }, density, 40)).toBeLessThanOrEqual(4)
    }
  })

  it('is asked for whole first, and again whole where few rows came', () => {
    const queue = new SpanQueue([WHOLE], { pageRows: 100 })
    expect(queue.next()?.span).toEqual(WHOLE)
    queue.cut(WHOLE, { pageRows: 100, total: 150 })
    const first = queue.next()?.span
    queue.proven(first ?? WHOLE, 80, true)
    // 70 rows are left: they fit one response, however long the span is.
    expect(queue.next()?.span).toEqual({ since: first?.until, until: WHOLE.until })
  })

  it('is not cut where it can be read page by page', () => {
    const old = { since: 0 as Instant, until: 1_000 as Instant }
    const young = { since: 1_000 as Instant, until: 2_000 as Instant }
    const span = { since: 0 as Instant, until: 2_000 as Instant }
    const queue = new SpanQueue([span], { pageRows: 10, wholeUntil: old.until })
    queue.next()
    queue.cut(span, { pageRows: 10, total: 100, parts: [old, young] })
    expect(queue.next()?.span).toEqual(old)
    queue.proven(old, 95, false)
    // The total told of 100 rows: the five behind the old ones need no cut.
    expect(queue.next()?.span).toEqual(young)
  })

  it('is read in slices of several pages, without a gap, after rows have moved', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2_000, max: 20_000 }),
        fc.constantFrom('even', 'growing', 'bursts'),
        (count, density) => {
          const { slices, requests } = readAfterMove({ density, count, pageRows: 100 })
          expectCovered(slices)
          expect(requests).toBeLessThan(1.5 * (count / 100) + 20)
        },
      ),
      { numRuns: 12 },
    )
  })

  it.each([
    { pageRows: 500, pages: 100 },
    { pageRows: 500, pages: 60 },
    { pageRows: 100, pages: 200 },
  ])('fills the last page of each slice of several pages ($pageRows × $pages)', ({ pageRows, pages }) => {
    const { requests } = readAfterMove({ density: 'even', count: pages * pageRows, pageRows })
    expect(requests / pages).toBeLessThanOrEqual(1.06)
  })
})

describe('a slice', () => {
  it('is planned below a full page, the further the more counts scatter', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1e5 }),
        fc.double({ min: 0.1, max: 10, noNaN: true }),
        (pageRows, scatter) => {
          const planned = plannedRows(pageRows, scatter)
          expect(planned).toBeGreaterThanOrEqual(1)
          expect(planned).toBeLessThanOrEqual(Math.max(1, pageRows - 1))
          expect(plannedRows(pageRows, scatter * 2)).toBeLessThanOrEqual(planned)
          // A page more costs less than a slice more, so slices of several pages are planned fuller.
          expect(plannedRows(pageRows, scatter, 8)).toBeGreaterThanOrEqual(8 * (planned - 1))
        },
      ),
    )
  })
})

describe('rows by chance', () => {
  it('are the same for the same seed', () => {
    expect(Array.from({ length: 3 }, aChance(5))).toEqual(Array.from({ length: 3 }, aChance(5)))
  })
})

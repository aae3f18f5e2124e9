/**
 * Old rows of an envelope report that are deleted or move to another page while their pages are read, so that the rows
 * behind them move too. No row that stays may be lost, and the walk must not begin again for each row.
 */
import { expect, it } from 'vitest'
import { syncAll } from '../../src/sync/syncAll.ts'
import { type Asked, aTideAnsweredBy } from './answering.ts'

const LONG = { tags: 'long' }

const MINUTE_MS = 60_000
const PAGE_ROWS = 10
const PAGES = 100

interface Changes {
  /** One row changes after each time this number of requests. */
  readonly restRequests: number
  /** Where the row moves, as an edited row does if rows are in order of modification. Undefined: it is deleted. */
  readonly movesTo?: 'first' | 'last'
  /** Whether a row is created before the first total without bounds is answered. */
  readonly isCreated?: boolean
}

const isTotal = (body: Asked['body']): boolean =>
  body.pageSize === 1 && body.pageNumber === 1 && !('createdUntil' in body) && !('modifiedUntil' in body)

/** Enquiries that were created one a minute, up to an hour ago. */
function serviceOf({ restRequests, movesTo, isCreated = false }: Changes) {
  const count = PAGES * PAGE_ROWS - 3
  const begun = Date.now() - (count + 60) * MINUTE_MS
  const rows = Array.from({ length: count }, (_, n) => ({ id: n + 1, at: begun + n * MINUTE_MS }))
  let requests = 0
  const answer = ({ body }: Asked): string => {
    requests += 1
    // The step leaves no place of the report without a change.
    const place = rows.findIndex(({ id }) => id === 1 + ((requests * 379) % count))
    if (requests % restRequests === 0 && place >= 0) {
      const changed = rows.splice(place, 1)
      if (movesTo === 'first') rows.unshift(...changed)
      if (movesTo === 'last') rows.push(...changed)
    }
    if (isCreated && isTotal(body) && rows.length === count) rows.push({ id: count + 1, at: Date.now() })
    const { createdSince = '0001-01-01', createdUntil = '9999-01-01' } = body as Record<string, string | undefined>
    const [since, until] = [Date.parse(createdSince), Date.parse(createdUntil)]
    const isModified = 'modifiedSince' in body
    const found = rows.filter(({ at }) => at >= since && at <= until && !isModified)
    const [number, size] = [Number(body.pageNumber), Number(body.pageSize)]
    const items = found.slice((number - 1) * size, number * size).map(({ id }) => `{"enquiryId":${id}}`)
    return `{"items":[${items.join(',')}],"pageNumber":${number},"pageSize":${size},"totalCount":${found.length}}`
  }
  return { answer, rows }
}

async function firstRun(changes: Changes) {
  const { answer, rows } = serviceOf(changes)
  const start = new Date(Date.now() - 3 * PAGES * PAGE_ROWS * MINUTE_MS).toISOString()
  await using tide = await aTideAnsweredBy(answer, { defaults: { page_size: PAGE_ROWS, start } })
  const settings = { ...tide.context.settings, concurrency: 1 }
  const [outcome] = await syncAll({ ...tide.context, settings }, ['enquiries'])
  expect(outcome?.error).toBeUndefined()
  const held = new Set(
    (await tide.warehouse.rows<{ id: number }>('SELECT enquiry_id AS id FROM enquiries')).map(({ id }) => id),
  )
  return {
    lost: rows.map(({ id }) => id).filter((id) => !held.has(id)),
    requests: tide.asked.length,
    totals: tide.asked.filter(({ body }) => isTotal(body)).length,
  }
}

async function loseNothing(changes: Changes, mostPerPage: number): Promise<void> {
  const { lost, requests } = await firstRun(changes)
  expect(lost).toEqual([])
  expect(requests / PAGES).toBeLessThanOrEqual(mostPerPage)
}

it.each([
  ['no row is deleted', Infinity, 1.1],
  ['a row is deleted at every 10th request', 10, 1.7],
])('all rows that stay arrive, and pages are rarely read again, if %s', (_, restRequests, most) =>
  loseNothing({ restRequests }, most),
)

it.each([
  ['a row is deleted at every 40th request', 40],
  ['a row is deleted at every 5th request', 5],
])('the same holds if %s', LONG, (_, restRequests) => loseNothing({ restRequests }, 1.7))

it.each(['first', 'last'] as const)(
  'a row that moves to the %s page at every 10th request is noticed early',
  (movesTo) => loseNothing({ restRequests: 10, movesTo }, 1.5),
)

it.each([
  ['first', 40, 1.7],
  ['first', 5, 1.5],
  ['last', 40, 1.7],
  ['last', 5, 1.5],
] as const)('the same holds for the %s page and every %ith request', LONG, (movesTo, restRequests, most) =>
  loseNothing({ restRequests, movesTo }, most),
)

it('a total that has changed is the first of the three that are compared', async () => {
  const { totals } = await firstRun({ restRequests: Infinity, isCreated: true })
  expect(totals).toBe(2)
})

/**
 * Old rows of an envelope report that are deleted while their pages are read, so that the rows behind them move to the
 * page before. No row that stays may be lost, and the walk must not begin again for each deleted row.
 */
import { expect, it } from 'vitest'
import { syncAll } from '../../src/sync/syncAll.ts'
import { type Asked, aTideAnsweredBy } from './answering.ts'

const MINUTE_MS = 60_000
const PAGE_ROWS = 10
const PAGES = 100

/** Enquiries that were created one a minute, up to an hour ago. A deletion follows every `restRequests` requests. */
function serviceOf(restRequests: number) {
  const count = PAGES * PAGE_ROWS - 3
  const begun = Date.now() - (count + 60) * MINUTE_MS
  const rows = new Map(Array.from({ length: count }, (_, n) => [n + 1, begun + n * MINUTE_MS] as const))
  let requests = 0
  const answer = ({ body }: Asked): string => {
    requests += 1
    // The first requests find out about the service. The step leaves no place of the report without a deletion.
    if (requests % restRequests === 0) rows.delete(1 + ((requests * 379) % count))
    const { createdSince = '0001-01-01', createdUntil = '9999-01-01' } = body as Record<string, string | undefined>
    const [since, until] = [Date.parse(createdSince), Date.parse(createdUntil)]
    const isModified = 'modifiedSince' in body
    const found = [...rows].filter(([, at]) => at >= since && at <= until && !isModified)
    const [number, size] = [Number(body.pageNumber), Number(body.pageSize)]
    const items = found.slice((number - 1) * size, number * size).map(([id]) => `{"enquiryId":${id}}`)
    return `{"items":[${items.join(',')}],"pageNumber":${number},"pageSize":${size},"totalCount":${found.length}}`
  }
  return { answer, rows }
}

async function firstRun(restRequests: number) {
  const { answer, rows } = serviceOf(restRequests)
  const start = new Date(Date.now() - 3 * PAGES * PAGE_ROWS * MINUTE_MS).toISOString()
  await using tide = await aTideAnsweredBy(answer, { defaults: { page_size: PAGE_ROWS, start } })
  const settings = { ...tide.context.settings, concurrency: 1 }
  const [outcome] = await syncAll({ ...tide.context, settings }, ['enquiries'])
  expect(outcome?.error).toBeUndefined()
  const held = new Set(
    (await tide.warehouse.rows<{ id: number }>('SELECT enquiry_id AS id FROM enquiries')).map(({ id }) => id),
  )
  return { lost: [...rows.keys()].filter((id) => !held.has(id)), requests: tide.asked.length }
}

it.each([
  ['no row is deleted', Infinity, 1.1],
  ['a row is deleted at every 40th request', 40, 1.7],
  ['a row is deleted at every 10th request', 10, 1.7],
  ['a row is deleted at every 5th request', 5, 1.7],
])('all rows that stay arrive, and pages are rarely read again, if %s', async (_, restRequests, most) => {
  const { lost, requests } = await firstRun(restRequests)
  expect(lost).toEqual([])
  expect(requests / PAGES).toBeLessThanOrEqual(most)
})

/**
 * Old spans of bare arrays that a row enters, against assumption A3 of docs/PROOFS.md: its stamp goes back while the pages
 * are read. It moves other rows to pages that were read before.
 */
import { expect, it } from 'vitest'
import { syncAll } from '../../src/sync/syncAll.ts'
import { type Asked, aTideAnsweredBy } from './answering.ts'

const MINUTE_MS = 60_000
const PAGE_ROWS = 3
/** Of 11 or 12 rows, the page behind the last one, and the page before it. */
const BEHIND_LAST = 5
const BEFORE_LAST = 3

const anEvent = ([id, at]: readonly [number, number]): string => {
  const stamp = new Date(at).toISOString()
  return `{"eventId":${id},"recordModified":"${stamp}","aggregateRecordModified":"${stamp}","isDeleted":false}`
}

/** Events of hours ago, one a minute, in order of time. */
function serviceOf(count: number) {
  const begun = Date.now() - 300 * MINUTE_MS
  const events = new Map(Array.from({ length: count }, (_, n) => [n + 1, begun + n * MINUTE_MS] as const))
  const answer = ({ body }: Asked): string => {
    const since = Date.parse(String(body.modifiedSince))
    const until = Date.parse(String(body.modifiedUntil))
    const rows = [...events].filter(([, at]) => at >= since && at <= until).toSorted(([, a], [, b]) => a - b)
    const size = Number(body.pageSize)
    const from = (Number(body.pageNumber) - 1) * size
    return `[${rows
      .slice(from, from + size)
      .map(anEvent)
      .join(',')}]`
  }
  return { answer, enter: (id: number) => events.set(id, begun - MINUTE_MS) }
}

it.each([
  ['short', 11],
  ['full', 12],
] as const)('no event is lost when one enters while pages are read back from the %s last one', async (_, count) => {
  const service = serviceOf(count)
  let isCounted = false
  const answer = (asked: Asked) => {
    const given = service.answer(asked)
    const { pageNumber } = asked.body
    if (isCounted && pageNumber === BEFORE_LAST) service.enter(100)
    // The request that finds nothing behind the last page is the last one before the pages are read back.
    if (pageNumber === BEHIND_LAST) isCounted = true
    return given
  }
  await using tide = await aTideAnsweredBy(answer, { defaults: { page_size: PAGE_ROWS } })
  const settings = { ...tide.context.settings, concurrency: 1 }
  const [outcome] = await syncAll({ ...tide.context, settings }, ['events'])
  expect(outcome?.error).toBeUndefined()
  const held = await tide.warehouse.rows<{ id: number }>('SELECT event_id AS id FROM events ORDER BY id')
  expect(held.map(({ id }) => id)).toEqual([...Array.from({ length: count }, (_, n) => n + 1), 100])
})

/**
 * Old spans of bare arrays whose rows move while their pages are read. Against assumption A3 of docs/PROOFS.md, a row
 * enters the span, because its stamp goes back. Or a row leaves page 1, or the order of rows changes.
 */
import { expect, it } from 'vitest'
import { syncAll } from '../../src/sync/syncAll.ts'
import { type Asked, aTideAnsweredBy } from './answering.ts'

const MINUTE_MS = 60_000
const PAGE_ROWS = 3
/** Of 11 or 12 rows. The search for the last page ends with a request for this page. Then page 3 is read. */
const LAST = 4

const anEvent = ([id, at]: readonly [number, number]): string => {
  const stamp = new Date(at).toISOString()
  return `{"eventId":${id},"recordModified":"${stamp}","aggregateRecordModified":"${stamp}","isDeleted":false}`
}

/** Events of hours ago, one a minute, in order of time or of their identifiers. */
function serviceOf(count: number, order: 'time' | 'identifier' = 'time') {
  const begun = Date.now() - 300 * MINUTE_MS
  const minutes = (n: number) => (order === 'time' ? n : (n * 7) % count)
  const events = new Map(Array.from({ length: count }, (_, n) => [n + 1, begun + minutes(n) * MINUTE_MS] as const))
  const answer = ({ body }: Asked): string => {
    const since = Date.parse(String(body.modifiedSince))
    const until = Date.parse(String(body.modifiedUntil))
    const compared = order === 'time' ? 1 : 0
    const found = [...events].filter(([, at]) => at >= since && at <= until)
    const rows = found.toSorted((a, b) => a[compared] - b[compared])
    const size = Number(body.pageSize)
    const from = (Number(body.pageNumber) - 1) * size
    return `[${rows
      .slice(from, from + size)
      .map(anEvent)
      .join(',')}]`
  }
  return {
    answer,
    enter: (id: number) => events.set(id, begun - MINUTE_MS),
    edit: (id: number) => events.set(id, Date.now() - MINUTE_MS),
    /** Exchanges the places of two events, as a service without an order does. */
    exchange: (one: number, other: number) => {
      const [a, b] = [events.get(one) ?? 0, events.get(other) ?? 0]
      events.set(one, b).set(other, a)
    },
  }
}

/** Reads the events one request after the other, and returns their identifiers. */
async function idsAfterRun(answer: (asked: Asked) => string): Promise<readonly number[]> {
  await using tide = await aTideAnsweredBy(answer, { defaults: { page_size: PAGE_ROWS } })
  const settings = { ...tide.context.settings, concurrency: 1 }
  const [outcome] = await syncAll({ ...tide.context, settings }, ['events'])
  expect(outcome?.error).toBeUndefined()
  const held = await tide.warehouse.rows<{ id: number }>('SELECT event_id AS id FROM events ORDER BY id')
  return held.map(({ id }) => id)
}

const idsUpTo = (count: number): readonly number[] => Array.from({ length: count }, (_, n) => n + 1)

it.each([
  ['short', 11],
  ['full', 12],
] as const)('no event is lost when one enters while pages are read back from the %s last one', async (_, count) => {
  const service = serviceOf(count)
  let isCounted = false
  const answer = (asked: Asked) => {
    const given = service.answer(asked)
    const { pageNumber } = asked.body
    if (isCounted && pageNumber === LAST - 1) service.enter(100)
    if (pageNumber === LAST) isCounted = true
    return given
  }
  expect(await idsAfterRun(answer)).toEqual([...idsUpTo(count), 100])
})

it('no event is lost when one leaves page 1 while the last page is looked for', async () => {
  const service = serviceOf(11)
  let isEdited = false
  const answer = (asked: Asked) => {
    if (!isEdited && Number(asked.body.pageNumber) > 1) {
      isEdited = true
      service.edit(1)
    }
    return service.answer(asked)
  }
  expect(await idsAfterRun(answer)).toEqual(idsUpTo(11))
})

it('no event is lost when one leaves the last page between its read and the read of the page behind it', async () => {
  const service = serviceOf(16, 'identifier')
  const answer = (asked: Asked) => {
    // Page 5 was read before. Event 16 is alone on page 6, and moves to page 5.
    if (asked.body.pageNumber === 6) service.edit(13)
    return service.answer(asked)
  }
  expect(await idsAfterRun(answer)).toEqual(idsUpTo(16))
})

it('no event is lost when the order changes between two pages that are read back', async () => {
  const service = serviceOf(11)
  let isCounted = false
  const answer = (asked: Asked) => {
    const { pageNumber } = asked.body
    if (pageNumber === LAST) isCounted = true
    const isExchanged = isCounted && pageNumber === 2
    if (isExchanged) service.exchange(5, 8)
    const given = service.answer(asked)
    if (isExchanged) service.exchange(5, 8)
    return given
  }
  expect(await idsAfterRun(answer)).toEqual(idsUpTo(11))
})

/** A report of which rows come and go while it is compared: nothing of that keeps a reconcile from its end. */
import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { reconcileReport } from '../../src/sync/reconcile.ts'
import { type Asked, aTideAnsweredBy } from '../sync/answering.ts'

const HOUR_MS = 3_600_000
/** A row comes and one goes at each of so many requests. */
const REQUESTS_A_CHANGE = 6

const isWithin = (at: number, since: unknown, until: unknown): boolean =>
  (typeof since !== 'string' || at >= Date.parse(since)) && (typeof until !== 'string' || at <= Date.parse(until))

/** Enquiries that were never edited. */
class Enquiries {
  isBusy = false
  readonly created = new Map(Array.from({ length: 60 }, (_, n) => [n + 1, Date.now() - (60 - n) * HOUR_MS]))
  #requests = 0
  #next = 61

  readonly answer = ({ body }: Asked): string => {
    this.#requests += 1
    if (this.isBusy && this.#requests % REQUESTS_A_CHANGE === 0) this.#change()
    const { createdSince, createdUntil, modifiedSince, modifiedUntil } = body
    const isModified = modifiedSince === undefined && modifiedUntil === undefined
    const rows = [...this.created].filter(([, at]) => isModified && isWithin(at, createdSince, createdUntil))
    const [number, size] = [Number(body.pageNumber), Number(body.pageSize)]
    const items = rows.slice((number - 1) * size, number * size).map(([id]) => `{"enquiryId":${id}}`)
    return `{"items":[${items.join(',')}],"pageNumber":${number},"pageSize":${size},"totalCount":${rows.length}}`
  }

  #change(): void {
    const [oldest] = this.created.keys()
    if (oldest !== undefined) this.created.delete(oldest)
    this.created.set(this.#next, Date.now())
    this.#next += 1
  }
}

it('a reconcile ends while rows come and go, and two in a row find what is gone', async () => {
  const service = new Enquiries()
  await using tide = await aTideAnsweredBy(service.answer, { defaults: { page_size: 10 } })
  await tide.sync('enquiries')
  service.isBusy = true
  for (let n = 0; n < 3; n += 1) {
    if (n === 1) service.isBusy = false
    tide.clock.pass(1_050)
    await reconcileReport(tide.context, 'enquiries', { runId: randomUUID(), allowMassDelete: true })
  }
  const held = await tide.warehouse.rows<{ id: number }>('SELECT enquiry_id AS id FROM current.enquiries ORDER BY id')
  expect(held.map(({ id }) => id)).toEqual([...service.created.keys()])
})

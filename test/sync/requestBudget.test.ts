/** Requests are counted in the books, and scheduled work waits while a budget has no room for it. */
import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { backfillRun } from '../../jobs/backfill/backfillRun.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/instant.ts'
import { pullHere } from '../../src/sync/backfill/handover.ts'
import { mayBegin } from '../../src/sync/requestBudget.ts'
import { reconcileRun } from '../../src/sync/reconcile.ts'
import { aTideWithoutCollections as aTide, type Tide } from '../support/tide.ts'

const counted = (tide: Tide, kind: string) =>
  tide.warehouse
    .rows<{ n: number | null }>(`SELECT sum(requests) AS n FROM tidemark.requests WHERE kind = '${kind}'`)
    .then(([row]) => row?.n ?? 0)

const reported = ({ sandbox }: Tide): number =>
  sandbox.requests.list().filter(({ path }) => path.startsWith('/reportingapi')).length

/** The same warehouse with a budget. */
const within = (tide: Tide, requestsPerDay: number) => ({
  ...tide.context,
  settings: { ...tide.context.settings, requestsPerDay },
})

it('counts every request of runs, also those that the service answers with 429, and those of a failed run', async () => {
  await using tide = await aTide({
    sandbox: { rows: 30, faults: ['429*2@events:0'] },
    settings: { defaults: { page_size: 10 } },
  })
  await tide.sync('events', 'enquiries')
  // The request for the total comes after the load; a later load, or the end of a command, records it.
  const left = tide.client.takeRequests()
  await tide.warehouse.recordRequests(left, tide.clock.now())
  expect(left.length).toBeLessThan(reported(tide) / 2)
  expect(await counted(tide, 'incremental')).toBe(reported(tide))
  tide.sandbox.setFaults(['5xx@events'])
  await tide.attempt('events')
  tide.sandbox.setFaults([])
  await tide.sync('enquiries')
  await tide.warehouse.recordRequests(tide.client.takeRequests(), tide.clock.now())
  expect(await counted(tide, 'incremental')).toBe(reported(tide))
})

it('counts backfills and reconciles apart, since no incremental run has sent their requests', async () => {
  await using tide = await aTide({ sandbox: { rows: 30 }, settings: { defaults: { page_size: 10 } } })
  const { context, clock, config } = tide
  await tide.sync('enquiries')
  const before = reported(tide)
  const job = {
    backfillId: randomUUID(),
    report: 'enquiries',
    from: config.reports.enquiries.start,
    to: clock.now(),
  } as const
  await backfillRun(context, job, { lanes: 2, pull: pullHere(context) })
  expect(await counted(tide, 'backfill')).toBeGreaterThan(0)
  await reconcileRun(context, { report: 'enquiries', runId: randomUUID(), allowMassDelete: false })
  await tide.warehouse.recordRequests(tide.client.takeRequests(), clock.now())
  expect((await counted(tide, 'backfill')) + (await counted(tide, 'reconcile'))).toBe(reported(tide) - before)
  const [use] = (await tide.warehouse.books.requestUse(clock.now())).filter(({ report }) => report === 'enquiries')
  expect(use).toMatchObject({ used: reported(tide), others: reported(tide) - before })
  clock.pass(DAY_MS + MINUTE_MS)
  expect(await tide.warehouse.books.requestUse(clock.now())).toContainEqual(
    expect.objectContaining({ report: 'enquiries', used: 0, others: 0 }),
  )
})

it('skips a tick until its planned time, without a budget never, and a window waits while the budget is spent', async () => {
  await using tide = await aTide({ sandbox: { rows: 4 } })
  const { clock, context } = tide
  for (let run = 0; run < 3; run += 1) {
    await tide.sync('events')
    clock.pass(MINUTE_MS)
  }
  expect(await mayBegin(context, 'events', 'tick')).toBe(true)
  const [plenty, few] = [within(tide, 100_000), within(tide, 100)]
  expect(await mayBegin(plenty, 'events', 'tick')).toBe(true)
  expect(await mayBegin(plenty, 'events', 'window')).toBe(true)
  expect(await mayBegin(few, 'events', 'tick')).toBe(false)
  expect(await mayBegin(few, 'events', 'window')).toBe(true)
  expect(await mayBegin(within(tide, 2), 'events', 'window')).toBe(false)
  await tide.warehouse.rows("UPDATE tidemark.runs SET state = 'stopped' WHERE report = 'events'")
  expect(await mayBegin(few, 'events', 'tick')).toBe(true)
  await tide.warehouse.rows("UPDATE tidemark.runs SET state = 'done' WHERE report = 'events'")
  expect(await mayBegin(few, 'events', 'tick')).toBe(false)
  clock.pass(8 * HOUR_MS)
  expect(await mayBegin(few, 'events', 'tick')).toBe(true)
  const reports = { ...context.settings.reports, events: { ...context.settings.reports.events, requestsPerDay: 10 } }
  await tide.sync('events')
  expect(await mayBegin({ ...context, settings: { ...context.settings, reports } }, 'events', 'tick')).toBe(false)
})

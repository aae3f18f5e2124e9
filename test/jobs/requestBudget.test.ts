/** A worker with a small budget of requests: the schedule keeps it, people do not wait for it, and nothing is lost. */
import { expect, it } from 'vitest'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import type { Running } from '../cli/support.ts'
import { differences } from '../../src/cli/certify/compare.ts'
import { aWorkshop, hasSaid, held, linesOf, reportsOnly, stop, until, type Workshop } from './support.ts'

/** At these times, the schedule needs 86,400 runs per day and report. */
const SETTINGS = {
  defaults: { every: '1s', reconcile_every: 'never' },
  reports: reportsOnly({ events: {}, enquiries: {} }),
}

const TOKEN = 'marked-console-token-0123456789'

const aBusyWorkshop = () =>
  aWorkshop({
    store: 'embedded',
    settings: SETTINGS,
    env: { TIDEMARK_LOG_LEVEL: 'debug', TIDEMARK_CONSOLE_TOKEN: TOKEN },
  })

/** Starts a worker with this budget, or without one. */
async function workerWithin(shop: Workshop, requestsPerDay?: number): Promise<Running> {
  const service = { base_url: shop.sandbox.url, client_id: 'acme', requests_per_day: requestsPerDay }
  await shop.configure({ ...SETTINGS, service })
  return shop.worker()
}

const runsOf = (worker: Running, report: string): number =>
  linesOf(worker).filter((line) => line.report === report && line.state === 'done').length

const skippedOf = (worker: Running, report: string): number =>
  linesOf(worker).filter((line) => line.report === report && line.msg.includes('skipped a run')).length

/** The differences of both reports from the service, after the worker has ended. */
async function differencesIn({ folder, sandbox }: Workshop): Promise<string[]> {
  await using warehouse = await Warehouse.open({ path: `${folder}/data/warehouse.duckdb`, memory: '256MB' })
  const all = (['events', 'enquiries'] as const).map((report) => differences(warehouse, sandbox.world, { report }))
  return (await Promise.all(all)).flat()
}

it('skips ticks of a report that changes little, and none of the one that changes most', { tags: 'long' }, async () => {
  await using shop = await aBusyWorkshop()
  const { world } = shop.sandbox
  for (let round = 0; round < 4; round += 1) {
    for (const key of world.keys('events').slice(0, 20)) world.edit('events', key)
    expect(await shop.run('sync', '--quiet')).toMatchObject({ code: 0 })
  }
  const { reports } = JSON.parse((await shop.run('status', '--json')).stdout) as {
    reports: { report: string; requests: { needed: number } }[]
  }
  const needed = reports.find(({ report }) => report === 'events')?.requests.needed ?? 0
  // Scheduled runs get nine tenths of a budget.
  const worker = await workerWithin(shop, Math.round((needed * 1.05) / 0.9))
  await until(() => runsOf(worker, 'events') > 5 && skippedOf(worker, 'enquiries') > 2)
  expect(skippedOf(worker, 'events')).toBe(0)
  expect(await stop(worker)).toMatchObject({ code: 0 })
})

it('lets ticks and a backfill wait while the budget is spent, but no person, and then reads everything', {
  tags: 'long',
}, async () => {
  await using shop = await aBusyWorkshop()
  const { world } = shop.sandbox
  const insert = () => void (world.insert('events'), world.insert('enquiries'))
  expect(await shop.run('sync', '--quiet')).toMatchObject({ code: 0 })
  const spent = await workerWithin(shop, 1)
  await until(() => skippedOf(spent, 'events') > 0 && skippedOf(spent, 'enquiries') > 0)
  const { total } = shop.sandbox.requests
  const backfill = shop.start(['backfill', 'events', '--from', '2020-01-01'])
  await until(() => hasSaid(spent, 'events: the backfill waits until the budget of requests has room'))
  insert()
  const before = skippedOf(spent, 'events')
  await until(() => skippedOf(spent, 'events') > before)
  expect(shop.sandbox.requests.total).toBe(total)

  const [, address = ''] = /the console listens at (\S+?)"/.exec(spent.said()) ?? []
  const response = await fetch(`${address}/api/overview`, { headers: { authorization: `Bearer ${TOKEN}` } })
  const { figures } = (await response.json()) as { figures: string[] }
  expect(figures).toContain(
    'The schedule needs more than requests_per_day allows. Nothing is lost, but rows arrive later.',
  )
  const status = (await shop.run('status')).stdout
  for (const line of figures) expect(status).toContain(line)
  expect(status).toMatch(/^enquiries: next run in (7 d|6 d 23 h)/m)

  const synced = JSON.parse((await shop.run('sync', 'events', 'enquiries', '--json')).stdout) as { reports: object[] }
  for (const report of ['events', 'enquiries'])
    expect(synced.reports).toContainEqual(expect.objectContaining({ report, state: 'done', new: 1 }))
  insert()
  await stop(spent)
  await backfill.ended

  const free = await workerWithin(shop)
  await until(() => runsOf(free, 'enquiries') > 0 && runsOf(free, 'events') > 1 && hasSaid(free, 'events (backfill)'))
  expect(skippedOf(free, 'events')).toBe(0)
  expect(await stop(free)).toMatchObject({ code: 0 })
  expect(await differencesIn(shop)).toEqual([])
  expect(await held(shop, 'SELECT state FROM tidemark.backfills')).toEqual([{ state: 'done' }])
})

/**
 * Processes that stand still (SIGSTOP, as a machine that sleeps or swaps) and wake when others have done their work:
 * what they finish then is refused, and nothing is there twice. And a job that lost its lock is told so.
 * @module-tag long
 */
import { readdir } from 'node:fs/promises'
import { Redis } from 'ioredis'
import { expect, it } from 'vitest'
import { openStore } from '../../jobs/stores/openStore.ts'
import type { QueueStore } from '../../jobs/stores/store.ts'
import { systemClock } from '../../src/clock.ts'
import { aWorkshop, hasSaid, held, linesOf, stop, until, type Workshop } from './support.ts'

const RARELY = { defaults: { every: '1h', reconcile_every: 'never', page_size: 20 } }
const storeOf = ({ redis }: Workshop) => openStore(redis?.url ?? '', { directory: '', clock: systemClock })
const activeWindows = (store: QueueStore) => store.queue('windows').getActiveCount()
const PULLED = ['--roles', 'pull'] as const

async function workersAre(store: QueueStore, count: number): Promise<void> {
  await until(async () => (await store.workersOf('windows')) === count)
}

it('a puller that slept while others pulled its windows hands nothing over', async () => {
  await using shop = await aWorkshop({ store: 'redis', sandbox: { rows: 120 }, settings: RARELY })
  const owner = shop.worker('--roles', 'load,schedule')
  await until(() => hasSaid(owner, 'published'))
  await using store = await storeOf(shop)
  const sleeper = shop.worker(...PULLED)
  await workersAre(store, 1)
  shop.sandbox.setFaults(['slow@events:1000'])
  const filling = shop.start(['backfill', 'events', '--json'], { isTied: true })
  await until(async () => (await activeWindows(store)) === 2)
  sleeper.kill('SIGSTOP')
  shop.sandbox.setFaults([])
  const other = shop.worker(...PULLED)
  expect((await filling.ended).code).toBe(0)
  sleeper.kill('SIGCONT')
  expect(await stop(sleeper)).toMatchObject({ code: 0 })
  const jobs = await store.queue<{ ask: { number: number } }>('windows').getCompleted()
  expect(jobs.filter(({ stalledCounter }) => stalledCounter > 0)).toHaveLength(2)
  const numbers = jobs.map(({ data }) => data.ask.number)
  expect(new Set(numbers).size).toBe(numbers.length)
  await stop(other)
  await stop(owner)
  expect(await readdir(`${shop.folder}/data/warehouse.duckdb.staging`).catch(() => [])).toEqual([])
  await everythingOnce(shop)
  const [loads] = await held<{ n: number }>(
    shop,
    `SELECT count(*)::INTEGER AS n FROM tidemark.loads WHERE run_id IN (SELECT backfill_id FROM tidemark.backfills)`,
  )
  expect(loads?.n).toBe(numbers.length)
})

it('a caller that waits for a backfill whose owner was frozen gets its outcome, not that it was stopped', async () => {
  await using shop = await aWorkshop({ store: 'redis', sandbox: { rows: 120 }, settings: RARELY })
  const owner = shop.worker()
  await until(() => hasSaid(owner, 'published'))
  await using store = await storeOf(shop)
  shop.sandbox.setFaults(['slow@events:1000'])
  const filling = shop.start(['backfill', 'events', '--json'], { isTied: true })
  await until(async () => (await activeWindows(store)) > 0)
  const [{ id = '' } = {}] = await store.queue('backfill').getActive()
  owner.kill('SIGSTOP')
  await until(async () => !(await isLocked(shop, `backfill:${id}`)))
  shop.sandbox.setFaults([])
  owner.kill('SIGCONT')
  const { code, stdout } = await filling.ended
  expect(JSON.parse(stdout)).toMatchObject({ backfills: [{ report: 'events', state: 'done' }] })
  expect(code).toBe(0)
  expect(linesOf(owner).map(({ msg }) => msg)).toContainEqual(expect.stringContaining('the lock of the job was lost'))
})

async function everythingOnce(shop: Workshop): Promise<void> {
  const [counted] = await held<{ rows: number; keys: number }>(
    shop,
    'SELECT count(*)::INTEGER AS rows, count(DISTINCT event_id)::INTEGER AS keys FROM main.events',
  )
  expect(counted).toEqual({ rows: 120, keys: 120 })
}

async function isLocked({ redis }: Workshop, job: string): Promise<boolean> {
  const client = new Redis(redis?.url ?? '')
  const locks = await client.exists(`tidemark_queue:${job}:lock`)
  client.disconnect()
  return locks === 1
}

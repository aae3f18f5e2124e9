/**
 * Processes that stand still (SIGSTOP, as a machine that sleeps or swaps) and wake when others have done their work:
 * what they finish then is refused, and nothing is there twice. And a job that lost its lock is told so.
 */
import { Redis } from 'ioredis'
import { expect, it } from 'vitest'
import { JobConsumers } from '../../jobs/queue/consumers.ts'
import { IncrementalJob } from '../../jobs/queue/queues.ts'
import { openStore } from '../../jobs/stores/openStore.ts'
import { systemClock } from '../../src/clock.ts'
import { createLog } from '../../src/log.ts'
import type { Running } from '../cli/support.ts'
import { startRedis } from '../support/redisServer.ts'
import { aWorkshop, hasSaid, held, linesOf, OWNS, stop, until, type Workshop } from './support.ts'

const LONG = { timeout: 300_000 }
const storeOf = ({ redis }: Workshop) => openStore(redis?.url ?? '', { directory: '', clock: systemClock })

it('an owner that slept through the life of its locks does its run once when it wakes', {
  ...LONG,
  tags: 'long',
}, async () => {
  await using shop = await aWorkshop({ store: 'redis', sandbox: { rows: 120, faults: ['slow@events:1500'] } })
  const owner = shop.worker()
  await until(() => hasSaid(owner, OWNS))
  await using store = await storeOf(shop)
  await until(async () => (await shop.status()).running?.length === 1)
  owner.kill('SIGSTOP')
  // The sleeper holds the file, so the next in line waits for it.
  const heir = shop.worker()
  await until(() => hasSaid(heir, 'standing by'))
  const [{ id: runId = '' } = {}] = await store.queue('incremental').getActive()
  await until(async () => !(await isLocked(shop, `incremental:${runId}`)))
  expect(hasSaid(heir, OWNS)).toBe(false)
  shop.sandbox.setFaults([])
  owner.kill('SIGCONT')
  await until(() => done(owner) >= 2)
  await stop(owner)
  await until(() => done(heir) >= 1)
  await stop(heir)
  await everythingOnce(shop)
  const overlaps = await held(
    shop,
    `SELECT a.run_id FROM tidemark.runs a JOIN tidemark.runs b ON a.run_id < b.run_id AND a.kind = b.kind AND a.report = b.report
     WHERE a.started_at < b.ended_at AND b.started_at < a.ended_at`,
  )
  expect(overlaps).toEqual([])
})

const done = (worker: Running) => linesOf(worker).filter(({ state }) => state === 'done').length

async function everythingOnce(shop: Workshop): Promise<void> {
  const [counted] = await held<{ rows: number; keys: number }>(
    shop,
    'SELECT count(*)::INTEGER AS rows, count(DISTINCT event_id)::INTEGER AS keys FROM main.events',
  )
  expect(counted).toEqual({ rows: 120, keys: 120 })
}

it('a job whose lock is gone is called off through its signal, and comes back', LONG, async () => {
  await using redis = await startRedis()
  await using store = await openStore(redis.url, { directory: '', clock: systemClock, prefix: 'frozen' })
  const log = createLog({ level: 'silent' })
  const consumers = new JobConsumers({
    store,
    clock: systemClock,
    log,
    locks: { lockDuration: 900, stalledInterval: 300 },
  })
  const reasons: string[] = []
  const backAgain = Promise.withResolvers<void>()
  consumers.consume('incremental', {
    schema: IncrementalJob,
    process: async ({ signal, id, job }) => {
      if (job.stalledCounter > 0) return backAgain.resolve()
      await loseLock(redis.url, `frozen:incremental:${id}:lock`)
      await systemClock.sleep(60_000, signal).catch((error: Error) => reasons.push(error.message))
      return signal.throwIfAborted()
    },
  })
  await store.queue<IncrementalJob>('incremental').add('events', { report: 'events' })
  await backAgain.promise
  expect(reasons).toEqual(['the lock of the job was lost'])
  await consumers.stop()
})

async function loseLock(url: string, key: string): Promise<void> {
  const client = new Redis(url)
  expect(await client.del(key)).toBe(1)
  client.disconnect()
}

async function isLocked({ redis }: Workshop, job: string): Promise<boolean> {
  const client = new Redis(redis?.url ?? '')
  const locks = await client.exists(`tidemark_queue:${job}:lock`)
  client.disconnect()
  return locks === 1
}

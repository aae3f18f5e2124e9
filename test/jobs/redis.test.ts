/**
 * What only a store for several processes shows: many workers never run a report twice at once, the next in line takes
 * over from a dead owner, others pull the windows of its backfills, and a store that restarts, is away or was emptied
 * does not end the work.
 */
import { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { JobQueues } from '../../jobs/queue/jobQueues.ts'
import { openStore } from '../../jobs/stores/openStore.ts'
import { pullThroughQueue } from '../../jobs/backfill/windows.ts'
import { systemClock } from '../../src/clock.ts'
import type { SyncError } from '../../src/errors.ts'
import type { WindowRequest } from '../../src/sync/backfill/handover.ts'
import type { SyncContext } from '../../src/sync/context.ts'
import { startRedis } from '../support/redisServer.ts'
import { aWorkshop, hasSaid, held, linesOf, OWNS, stop, until, type Workshop } from './support.ts'

const LONG = { timeout: 300_000 }
const SEVERAL_LOOKS_MS = 1_000
const doneRuns = (said: ReturnType<typeof linesOf>) =>
  said.filter(({ report, state }) => report === 'events' && state === 'done').length

async function inRedis<T>({ redis }: Workshop, work: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(redis?.url ?? '')
  try {
    return await work(client)
  } finally {
    client.disconnect()
  }
}

describe('several workers on one Redis', () => {
  it('never run one report twice at once, and the next in line takes over when the owner is killed', LONG, async () => {
    await using shop = await aWorkshop({ store: 'redis', sandbox: { faults: ['slow@events:700'] } })
    const workers = [shop.worker(), shop.worker(), shop.worker()]
    await until(() => workers.some((worker) => hasSaid(worker, OWNS)))
    await until(() => workers.some((worker) => doneRuns(linesOf(worker)) >= 2))
    const owner = workers.find((worker) => hasSaid(worker, OWNS))
    const heirs = workers.filter((worker) => worker !== owner)
    await until(() => heirs.every((worker) => hasSaid(worker, 'standing by')))
    owner?.kill('SIGKILL')
    await until(() => heirs.some((worker) => doneRuns(linesOf(worker)) >= 2))
    for (const worker of heirs) expect(await stop(worker)).toMatchObject({ code: 0 })
    const overlaps = await held(
      shop,
      `SELECT a.run_id FROM tidemark.runs a JOIN tidemark.runs b ON a.run_id < b.run_id
       WHERE a.kind = b.kind AND a.report = b.report AND a.started_at < b.ended_at AND b.started_at < a.ended_at`,
    )
    expect(overlaps).toEqual([])
  })

  it('pull the windows of a backfill for the owner, who loads them', { ...LONG, tags: 'long' }, async () => {
    const settings = { defaults: { every: '1h', reconcile_every: 'never', page_size: 10 } }
    await using shop = await aWorkshop({ store: 'redis', sandbox: { rows: 200 }, settings })
    const owner = shop.worker('--roles', 'load,schedule')
    await until(() => hasSaid(owner, 'published'))
    const puller = shop.worker('--roles', 'pull')
    await using store = await openStore(shop.redis?.url ?? '', { directory: '', clock: systemClock })
    await until(async () => (await store.workersOf('windows')) === 1)
    const filled = await shop.run('backfill', 'events', '--json')
    expect(filled.code).toBe(0)
    await stop(puller)
    await stop(owner)
    expect(await store.queue('windows').getCompletedCount()).toBeGreaterThan(1)
    const windows = await held<{ state: string; n: number }>(
      shop,
      'SELECT state, count(*) AS n FROM tidemark.backfill_windows GROUP BY ALL',
    )
    expect(windows).toEqual([{ state: 'done', n: expect.any(Number) }])
  })

  it('pull the windows themselves when the only puller is killed in the middle of them', {
    ...LONG,
    tags: 'long',
  }, async () => {
    const settings = { defaults: { every: '1h', reconcile_every: 'never', page_size: 10 } }
    await using shop = await aWorkshop({ store: 'redis', sandbox: { rows: 40 }, settings })
    const owner = shop.worker('--roles', 'load,schedule')
    await until(() => hasSaid(owner, 'published'))
    const puller = shop.worker('--roles', 'pull')
    await using store = await openStore(shop.redis?.url ?? '', { directory: '', clock: systemClock })
    await until(async () => (await store.workersOf('windows')) === 1)
    // The service answers the puller long after this test.
    shop.sandbox.setFaults(['slow@events:900000'])
    const asked = shop.start(['backfill', 'events', '--json'])
    await until(async () => (await store.queue('windows').getActiveCount()) > 0)
    puller.kill('SIGKILL')
    shop.sandbox.setFaults([])
    expect(await asked.ended).toMatchObject({ code: 0 })
    await stop(owner)
  })
})

describe('a worker whose Redis', () => {
  it('is emptied, and later away for a while, sets its schedulers again and goes on', {
    ...LONG,
    tags: 'long',
  }, async () => {
    await using shop = await aWorkshop({ store: 'redis' })
    const worker = shop.worker()
    await until(() => doneRuns(linesOf(worker)) >= 2)
    await inRedis(shop, (client) => client.flushall())
    const emptied = doneRuns(linesOf(worker))
    await until(() => doneRuns(linesOf(worker)) >= emptied + 2)
    await shop.redis?.stop('SIGKILL')
    await new Promise((resolve) => void setTimeout(resolve, 3_000))
    await shop.redis?.restart()
    const before = doneRuns(linesOf(worker))
    await until(() => doneRuns(linesOf(worker)) >= before + 2)
    expect(await stop(worker)).toMatchObject({ code: 0 })
  })

  it('is frozen ends all the same when it is stopped', { ...LONG, tags: 'long' }, async () => {
    await using shop = await aWorkshop({ store: 'redis', sandbox: { faults: ['slow@events:60000'] } })
    const worker = shop.worker()
    await until(() => hasSaid(worker, OWNS))
    await until(async () => ((await shop.status()).running?.length ?? 0) > 0)
    shop.redis?.freeze()
    expect(await stop(worker)).toMatchObject({ code: 0 })
  })
})

it('who waits for a window that another process pulls goes on waiting while Redis is away', {
  ...LONG,
  tags: 'long',
}, async () => {
  await using redis = await startRedis()
  const store = await openStore(redis.url, { directory: '', clock: systemClock })
  const queue = store.queue<object>('windows')
  store.worker('windows', () => new Promise(() => undefined))
  const queues = new JobQueues(store)
  await until(async () => (await queues.workersOf('windows')) === 1)
  const context = { clock: systemClock } as SyncContext
  const ask = { backfillId: 'b', report: 'events', number: 1, fence: { epoch: 1 } } as WindowRequest
  const pulled = pullThroughQueue({ context, queues })(ask, new AbortController().signal)
  const ended = pulled.catch((error: unknown) => error as SyncError)
  await until(async () => (await queue.getActiveCount()) === 1)
  await redis.stop('SIGKILL')
  expect(await Promise.race([ended, systemClock.sleep(SEVERAL_LOOKS_MS)])).toBeUndefined()
  await redis.restart()
  expect(await ended, 'this Redis keeps nothing').toMatchObject({ code: 'STAGED_MISSING' })
  await store.close()
})

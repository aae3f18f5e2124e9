/**
 * A worker whose Redis goes away while it stops, and a configuration with other reports than the Redis has.
 * @module-tag long
 */
import { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { aWorkshop, hasSaid, OWNS, reportsOnly, stop, until, type Workshop } from './support.ts'

async function inRedis<T>({ redis }: Workshop, work: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(redis?.url ?? '')
  try {
    return await work(client)
  } finally {
    client.disconnect()
  }
}

describe('a worker whose Redis', () => {
  it('is away ends all the same when it is stopped', async () => {
    await using shop = await aWorkshop({ store: 'redis', sandbox: { faults: ['slow@events:60000'] } })
    const worker = shop.worker()
    await until(() => hasSaid(worker, OWNS))
    await until(async () => ((await shop.status()).running?.length ?? 0) > 0)
    await shop.redis?.stop('SIGKILL')
    expect(await stop(worker)).toMatchObject({ code: 0 })
  })

  it('goes away while it hands its jobs back ends all the same', async () => {
    await using shop = await aWorkshop({ store: 'redis', sandbox: { faults: ['slow@events:60000'] } })
    const worker = shop.worker()
    await until(async () => hasSaid(worker, OWNS) && ((await shop.status()).running?.length ?? 0) > 0)
    const ended = stop(worker)
    await shop.redis?.stop('SIGKILL')
    expect(await ended).toMatchObject({ code: 0 })
  })

  it('holds schedulers of reports that the configuration has no longer removes them', async () => {
    await using shop = await aWorkshop({
      store: 'redis',
      // Reports with the same interval share a scheduler.
      settings: { reports: reportsOnly({ enquiries: { every: '20m' }, events: {} }) },
    })
    const first = shop.worker()
    await until(() => hasSaid(first, 'published'))
    await stop(first)
    await shop.configure({ reports: reportsOnly({ events: {} }) })
    const second = shop.worker()
    await until(() => hasSaid(second, 'schedulers were removed'))
    const schedulers = await inRedis(shop, (client) => client.zrange('tidemark_queue:ticks:repeat', '0', '-1'))
    expect(schedulers).toContain('incremental-events')
    expect(schedulers).not.toContain('incremental-enquiries')
    await stop(second)
  })
})

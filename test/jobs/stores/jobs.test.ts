/** One suite of jobs over every store: what the worker relies on holds on each of them. */
import { WaitingError } from 'bullmq'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import type { QueueStore } from '../../../jobs/stores/store.ts'
import { systemClock } from '../../../src/clock.ts'
import { aGround, type Ground, grounds, until } from './support.ts'

const sleep = (ms: number) => systemClock.sleep(ms)

describe.each(grounds)('jobs on $title', ({ lay }) => {
  let ground: Ground
  let store: QueueStore
  let queueNumber = 0
  let name = ''

  beforeAll(async () => {
    ground = await lay()
    store = await ground.open()
  })
  afterAll(async () => {
    await store.close()
    await ground[Symbol.asyncDispose]()
  })
  beforeEach(() => {
    queueNumber += 1
    name = `queue${queueNumber}`
  })

  it('are processed in the order they came, each once, and keep their result', async () => {
    const queue = store.queue<{ number: number }>(name)
    const numbers: number[] = []
    await using worker = closing(
      store.worker<{ number: number }, number>(name, async ({ data }) => {
        numbers.push(data.number)
        return data.number * 2
      }),
    )
    const ids: (string | undefined)[] = []
    for (const number of [1, 2, 3, 4, 5]) ids.push((await queue.add('number', { number })).id)
    await until(() => numbers.length >= 5)
    expect(worker.worker.name).toBe(name)
    expect(numbers).toEqual([1, 2, 3, 4, 5])
    await until(async () => (await queue.getCompletedCount()) === 5)
    expect((await queue.getJob(ids[2] ?? ''))?.returnvalue).toBe(6)
  })

  it('of one report wait for each other: requests during a run become one more run, as requested last', async () => {
    const queue = store.queue<{ wish: number }>(name)
    const begun: number[] = []
    let atOnce = 0
    let atOnceMax = 0
    const gate = Promise.withResolvers<void>()
    await using _worker = closing(
      store.worker<{ wish: number }, void>(
        name,
        async ({ data }) => {
          atOnce += 1
          atOnceMax = Math.max(atOnceMax, atOnce)
          begun.push(data.wish)
          if (begun.length === 1) await gate.promise
          atOnce -= 1
        },
        { concurrency: 3 },
      ),
    )
    const ask = (wish: number) =>
      queue.add('events', { wish }, { deduplication: { id: 'events', keepLastIfActive: true } })
    await ask(1)
    await until(() => begun.length === 1)
    for (const wish of [2, 3, 4]) await ask(wish)
    gate.resolve()
    await until(async () => (await queue.getCompletedCount()) === 2)
    expect(begun).toEqual([1, 4])
    expect(atOnceMax).toBe(1)
  })

  it('of a schedule come once a tick, however often it is written, and do not pile up without a worker', {
    tags: 'long',
  }, async () => {
    const queue = store.queue<object>(name)
    const repeat = { every: 1_000, offset: 500 }
    const schedule = () => queue.upsertJobScheduler('events', repeat, { name: 'tick', data: {} })
    await Promise.all([schedule(), schedule()])
    await schedule()
    const planned = async () => (await queue.getWaitingCount()) + (await queue.getDelayedCount())
    const atFirst = await planned()
    // On PostgreSQL two writers in the moment of a tick may leave one tick more, once.
    expect(atFirst).toBeLessThanOrEqual(2)
    await sleep(3_200)
    expect(await planned()).toBe(atFirst)
    const ticks: number[] = []
    await using _worker = closing(
      store.worker(name, async (job) => {
        ticks.push(Number(job.id?.split(':').at(-1)))
      }),
    )
    await until(() => ticks.length >= atFirst + 2)
    // The job of a tick is named for its time. What was planned at first comes at once, the others a second apart.
    const onwards = ticks.slice(atFirst - 1)
    const apart = onwards.slice(1).map((tick, before) => tick - (onwards[before] ?? tick))
    expect(apart.filter((ms) => ms < 1_000)).toEqual([])
    expect(await queue.removeJobScheduler('events')).toBe(true)
    expect(await queue.getJobSchedulersCount()).toBe(0)
  })

  it('with a priority come before those behind it, and those without one first of all', async () => {
    const queue = store.queue<object>(name)
    await queue.add('far behind', {}, { priority: 10 })
    await queue.add('behind', {}, { priority: 5 })
    await queue.add('first', {})
    const order: string[] = []
    await using _worker = closing(store.worker(name, async (job) => void order.push(job.name)))
    await until(() => order.length === 3)
    expect(order).toEqual(['first', 'behind', 'far behind'])
  })

  it('that are delayed wait, and then come by themselves', { tags: 'long' }, async () => {
    const queue = store.queue<object>(name)
    const order: string[] = []
    await using _worker = closing(store.worker(name, async (job) => void order.push(job.name)))
    const later = await queue.add('later', {}, { delay: 400 })
    expect(await later.isDelayed()).toBe(true)
    await queue.add('now', {})
    await until(() => order.length === 2)
    expect(order).toEqual(['now', 'later'])
  })

  it('that fail are tried again after growing pauses, and fail for good after their attempts', {
    tags: 'long',
  }, async () => {
    const queue = store.queue<{ failures: number }>(name)
    const attempts: { id: string; atMs: number }[] = []
    await using _worker = closing(
      store.worker<{ failures: number }, void>(name, async (job) => {
        attempts.push({ id: job.id ?? '', atMs: performance.now() })
        if (job.attemptsMade < job.data.failures) throw new TypeError('not yet')
      }),
    )
    const retried = { attempts: 3, backoff: { type: 'exponential', delay: 100 } }
    const mended = await queue.add('mended', { failures: 2 }, retried)
    await until(() => mended.isCompleted())
    const [first = 0, second = 0, third = 0] = attempts.map(({ atMs }) => atMs)
    expect(attempts).toHaveLength(3)
    // A busy machine makes pauses longer, never shorter. A tenth is for clocks that differ.
    expect([second - first > 0.9 * 100, third - second > 0.9 * 200]).toEqual([true, true])
    const hopeless = await queue.add('hopeless', { failures: 9 }, retried)
    await until(() => hopeless.isFailed())
    const [failed] = await queue.getFailed()
    expect([failed?.failedReason, failed?.attemptsMade]).toEqual(['not yet', 3])
  })

  it('that are running are waited for when the worker closes, and nothing new begins', async () => {
    const queue = store.queue<object>(name)
    const gate = Promise.withResolvers<void>()
    const begun: string[] = []
    const worker = store.worker(name, async (job) => {
      begun.push(job.name)
      await gate.promise
    })
    const running = await queue.add('running', {})
    await until(() => begun.length === 1)
    const closed = worker.close()
    await queue.add('too late', {})
    await sleep(100)
    gate.resolve()
    await closed
    expect(await running.isCompleted()).toBe(true)
    expect(begun).toEqual(['running'])
    expect(await queue.getWaitingCount()).toBe(1)
  })

  it('are handed back on request without using an attempt', async () => {
    const queue = store.queue<object>(name)
    const begun = Promise.withResolvers<void>()
    const worker = store.worker(name, async (job, token, signal) => {
      begun.resolve()
      await new Promise((resolve) => signal?.addEventListener('abort', resolve))
      await job.moveToWait(token)
      throw new WaitingError()
    })
    const job = await queue.add('long', {}, { attempts: 2 })
    await begun.promise
    const closed = worker.close()
    worker.cancelAllJobs('stop')
    await closed
    expect(await job.isWaiting()).toBe(true)
    const seen: number[] = []
    await using _other = closing(store.worker(name, async ({ attemptsMade }) => void seen.push(attemptsMade)))
    await until(() => seen.length === 1)
    expect(seen).toEqual([0])
  })

  it('show who works on them', async () => {
    expect(await store.workersOf(name)).toBe(0)
    const worker = store.worker(name, async () => undefined)
    await worker.waitUntilReady()
    await until(async () => (await store.workersOf(name)) === 1)
    await worker.close()
    await until(async () => (await store.workersOf(name)) === 0)
  })

  it('are served by hundreds without a worker that never lets go of its thread', { tags: 'long' }, async () => {
    const queue = store.queue<object>(name)
    await queue.addBulk(Array.from({ length: 300 }, (_, number) => ({ name: 'small', data: { number } })))
    let done = 0
    let ticks = 0
    const ticking = setInterval(() => (ticks += 1), 5)
    await using _worker = closing(store.worker(name, async () => void (done += 1), { concurrency: 4 }))
    await until(() => done === 300)
    clearInterval(ticking)
    expect(ticks).toBeGreaterThan(10)
  })
})

it('jobs on redis that have ended are kept in a number that does not grow with the rhythm', {
  tags: 'long',
}, async () => {
  await using ground = await aGround('redis', inject('redisUrl'))
  await using store = await ground.open()
  const queue = store.queue<object>('quick')
  for (const name of ['well', 'badly']) await queue.addBulk(Array.from({ length: 1_100 }, () => ({ name, data: {} })))
  let done = 0
  const work = ({ name }: { name: string }) => {
    done += 1
    return name === 'well' ? Promise.resolve() : Promise.reject(new TypeError('it fails'))
  }
  await using _worker = closing(store.worker('quick', work, { concurrency: 50 }))
  await until(async () => done === 2_200 && (await queue.getActiveCount()) === 0)
  expect(await queue.getCompletedCount()).toBe(1_000)
  expect(await queue.getFailedCount()).toBe(1_000)
})

function closing<Held extends { close(): Promise<void> }>(worker: Held): { worker: Held } & AsyncDisposable {
  return { worker, [Symbol.asyncDispose]: () => worker.close() }
}

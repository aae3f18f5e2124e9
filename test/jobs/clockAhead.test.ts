/**
 * A machine whose clock ran ahead and was set right, as one that starts before it has asked a time server. What the
 * wrong clock put off does not wait until that time.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Tick } from '../../jobs/queue/queues.ts'
import { JobQueues } from '../../jobs/queue/jobQueues.ts'
import { openScheduleUpdates } from '../../jobs/schedule/schedule.ts'
import type { QueueStore } from '../../jobs/stores/store.ts'
import { type Ground, grounds, until } from './stores/support.ts'
import { configOf } from './support.ts'

const DAY_MS = 86_400_000
const NOW_MS = Date.UTC(2026, 5, 10, 12)

/** Only the wall clock: timers go on as they are. */
const clockReads = (ms: number) => vi.useFakeTimers({ toFake: ['Date'], now: ms })

afterEach(() => void vi.useRealTimers())

describe.each(grounds)('a clock that ran ahead and was set right, on $title', ({ lay }) => {
  let ground: Ground
  let store: QueueStore

  beforeAll(async () => {
    ground = await lay()
    store = await ground.open()
  })
  afterAll(async () => {
    await store.close()
    await ground[Symbol.asyncDispose]()
  })

  it.each([
    ['an interval', '5m'],
    ['a cron line', '*/5 * * * *'],
  ])('leaves no report waiting for the wrong time: %s', { tags: 'long' }, async (title, every) => {
    const queue = store.queue<Tick>(`ticks of ${title}`)
    const env = { TIDEMARK_REPORTS: 'events', TIDEMARK_RECONCILE_EVERY: 'never', TIDEMARK_EVERY: every }
    const updateSchedulers = openScheduleUpdates(queue, await configOf(env))
    clockReads(NOW_MS + 30 * DAY_MS)
    await updateSchedulers(NOW_MS + 30 * DAY_MS)
    clockReads(NOW_MS)
    await updateSchedulers(NOW_MS)
    const waits = (await queue.getJobSchedulers()).map(
      ({ key, next }) => [key, ((next ?? 0) - NOW_MS) / 60_000] as const,
    )
    expect(Object.fromEntries(waits)).toEqual({
      'incremental-events': expect.toSatisfy((minutes: number) => minutes > 0 && minutes <= 5),
      checkpoint: 7,
      retention: 11,
    })
    expect((await queue.getDelayed()).map(({ delay }) => delay <= 11 * 60_000)).toEqual([true, true, true])
    expect(await updateSchedulers(NOW_MS)).toEqual({ added: [], removed: [] })
  })

  it('lets jobs begin that were put off by it, and no others', async () => {
    const queues = new JobQueues(store)
    const queue = queues.queue('incremental')
    clockReads(NOW_MS)
    await queue.add('fails', {}, { attempts: 2, backoff: { type: 'fixed', delay: 1_000 } })
    await queues.addPublication('marks')
    clockReads(NOW_MS + 30 * DAY_MS)
    await queues.addPublication('rows')
    const worker = store.worker('incremental', () => Promise.reject(new Error('passing')))
    await until(async () => (await queue.getDelayedCount()) > 0)
    await worker.close()
    clockReads(NOW_MS)
    expect(await queues.promoteMisdated(NOW_MS)).toBe(2)
    expect(await queues.depths()).toMatchObject({
      incremental: { waiting: 1, delayed: 0 },
      housekeeping: { waiting: 1, delayed: 1 },
    })
    expect(await queues.promoteMisdated(NOW_MS)).toBe(0)
  })
})

/** Reports whose ticks are at the same times: one job of the queue requests the runs of all of them. */
import { setTimeout } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Tick } from '../../jobs/queue/queues.ts'
import { JobQueues } from '../../jobs/queue/jobQueues.ts'
import { openScheduleUpdates } from '../../jobs/schedule/schedule.ts'
import { grounds } from './stores/support.ts'
import { configOf } from './support.ts'

const LONG = { tags: 'long', timeout: 120_000 }

const every10s = (reports: string) =>
  configOf({ TIDEMARK_REPORTS: reports, TIDEMARK_EVERY: '10s', TIDEMARK_RECONCILE_EVERY: 'never' })

/** Waits if the next tick is due in less than seven seconds, because a due tick is not delayed any more. */
async function untilTickIsFar(): Promise<void> {
  const restMs = 10_000 - (Date.now() % 10_000)
  if (restMs < 7_000) await setTimeout(restMs + 10)
}

describe.each(grounds)('on $title', ({ lay }) => {
  it('reports with the same interval share a scheduler, and its tick requests a run of each', LONG, async () => {
    await using ground = await lay()
    await using store = await ground.open()
    await untilTickIsFar()
    const queues = new JobQueues(store)
    const queue = queues.queue<Tick>('ticks')
    const nowMs = Date.now()
    const reportsOfTicks = async () => {
      const ticks = await queues.nextTicks()
      expect(new Set(ticks.map(({ work, atMs }) => `${work} ${atMs}`)).size).toBe(1)
      return ticks.map(({ report }) => report)
    }
    const ofThree = openScheduleUpdates(queue, await every10s('events,enquiries,merf_submissions'))
    expect((await ofThree(nowMs)).added).toEqual(['incremental-events', 'checkpoint', 'retention'])
    expect(await reportsOfTicks()).toEqual(['events', 'enquiries', 'merf_submissions'])
    const ticks = (await queue.getDelayed()).map(({ data }) => Tick.parse(data))
    for (const tick of ticks) await queues.addJobsOfTick(tick)
    const waiting = (await queues.waiting('incremental')).map(({ data }) => data as object)
    expect(waiting).toEqual(
      expect.arrayContaining(['events', 'enquiries', 'merf_submissions'].map((report) => ({ report, isTick: true }))),
    )
    expect(waiting).toHaveLength(3)
    // The other reports stay scheduled when one of them, even the first, is turned off.
    const ofTwo = openScheduleUpdates(queue, await every10s('events,merf_submissions'))
    expect(await ofTwo(nowMs)).toEqual({ added: ['incremental-events'], removed: [] })
    expect(await reportsOfTicks()).toEqual(['events', 'merf_submissions'])
    expect((await queue.getDelayed()).map(({ data }) => data)).toContainEqual({
      work: 'incremental',
      report: 'events',
      others: ['merf_submissions'],
    })
    const ofOne = openScheduleUpdates(queue, await every10s('merf_submissions'))
    expect(await ofOne(nowMs)).toEqual({ added: ['incremental-merf_submissions'], removed: ['incremental-events'] })
    expect(await reportsOfTicks()).toEqual(['merf_submissions'])
    expect(await ofOne(nowMs)).toEqual({ added: [], removed: [] })
  })
})

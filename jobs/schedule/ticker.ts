/** The role `schedule`: keeps BullMQ's schedulers equal to the configuration and turns ticks into run requests. */
import type { Clock } from '../../src/clock.ts'
import type { Config } from '../../src/config/config.ts'
import { toMillis } from '../../src/instant.ts'
import type { Log } from '../../src/log.ts'
import { reportNames } from '../../schema/index.ts'
import type { JobConsumers } from '../queue/consumers.ts'
import { Tick } from '../queue/queues.ts'
import type { Requests } from '../queue/requests.ts'
import { Schedule } from './schedule.ts'

export interface TickerParts {
  readonly consumers: JobConsumers
  readonly requests: Requests
  readonly config: Pick<Config, 'reports'>
  readonly clock: Clock
  readonly log: Log
  /** Milliseconds between two checks of the schedulers. */
  readonly healMs: number
}

/** Keeps the schedulers equal to the configuration until the signal aborts. After an error, it tries again later. */
export async function runSchedule(parts: TickerParts, signal: AbortSignal): Promise<void> {
  const { consumers, requests, config, clock, log, healMs } = parts
  const schedule = new Schedule(requests.queue<Tick>('ticks'), config)
  consumers.consume({ queue: 'ticks', schema: Tick, concurrency: 1, process: ({ data }) => requests.tick(data) })
  let isFirst = true
  while (!signal.aborted) {
    try {
      const nowMs = toMillis(clock.now())
      const { added, removed } = await schedule.bringInLine(nowMs)
      const hurried = await requests.hurryMisdated(nowMs)
      if (added.length > 0) log.debug({ added }, 'schedulers were set')
      if (removed.length > 0) log.info({ removed }, 'schedulers were removed that the configuration no longer has')
      if (hurried > 0) log.info({ hurried }, 'jobs that a clock running ahead had delayed begin now')
      if (isFirst) await runNow(parts)
      isFirst = false
    } catch (error) {
      log.warn({ err: error }, 'the schedulers could not be checked; it is tried again')
    }
    await clock.sleep(healMs, signal).catch(() => undefined)
  }
}

/** At the start, requests a run of each report with an interval. Reports with a cron schedule wait for its time. */
async function runNow({ config, requests }: TickerParts): Promise<void> {
  for (const report of reportNames) {
    const { enabled, everyMs } = config.reports[report]
    if (enabled && everyMs !== undefined) await requests.incremental(report)
  }
}

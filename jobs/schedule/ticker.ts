/**
 * What a process with the role `schedule` does: it keeps the schedulers in line and turns their ticks into requests.
 */
import type { Clock } from '../../src/clock.ts'
import type { Config } from '../../src/config/config.ts'
import { toMillis } from '../../src/instant.ts'
import type { Log } from '../../src/log.ts'
import { reportNames } from '../../schema/index.ts'
import type { Crew } from '../queue/crew.ts'
import { Tick } from '../queue/queues.ts'
import type { Requests } from '../queue/requests.ts'
import { Schedule } from './schedule.ts'

export interface TickerParts {
  readonly crew: Crew
  readonly requests: Requests
  readonly config: Pick<Config, 'reports'>
  readonly clock: Clock
  readonly log: Log
  /** How often the schedulers are looked after. */
  readonly healMs: number
}

/** Runs until the signal aborts. */
export async function tick(parts: TickerParts, signal: AbortSignal): Promise<void> {
  const { crew, requests, config, clock, log, healMs } = parts
  const schedule = new Schedule(requests.queue<Tick>('ticks'), config)
  crew.take({ queue: 'ticks', schema: Tick, concurrency: 1, process: ({ data }) => requests.tick(data) })
  let isFirst = true
  while (!signal.aborted) {
    try {
      const nowMs = toMillis(clock.now())
      const { added, removed } = await schedule.bringInLine(nowMs)
      const hurried = await requests.hurryMisdated(nowMs)
      if (added.length > 0) log.debug({ added }, 'schedulers were set')
      if (removed.length > 0) log.info({ removed }, 'schedulers were removed that the configuration no longer has')
      if (hurried > 0) log.info({ hurried }, 'jobs begin now that a clock which ran ahead had put off')
      if (isFirst) await runNow(parts)
      isFirst = false
    } catch (error) {
      log.warn({ err: error }, 'the schedulers could not be looked after; it is tried again')
    }
    await clock.sleep(healMs, signal).catch(() => undefined)
  }
}

/** Who starts a worker wants to see it work. What runs at certain times of the day waits for them. */
async function runNow({ config, requests }: TickerParts): Promise<void> {
  for (const report of reportNames) {
    const { enabled, everyMs } = config.reports[report]
    if (enabled && everyMs !== undefined) await requests.incremental(report)
  }
}

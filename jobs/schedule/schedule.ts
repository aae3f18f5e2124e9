/** The schedule of runs in BullMQ. */
import { getNextMillis, type JobSchedulerJson, type Queue } from 'bullmq'
import { isDeepStrictEqual } from 'node:util'
import { type ReportName, reportNames } from '../../schema/index.ts'
import type { Config, ReportConfig, Rhythm } from '../../src/config/config.ts'
import { MINUTE_MS, toMillis } from '../../src/instant.ts'
import { CLOCKS_APART_MS_MAX, JOB_OPTIONS, Tick } from '../queue/queues.ts'
import type { Clock } from '../../src/clock.ts'
import type { Log } from '../../src/log.ts'
import type { JobConsumers } from '../queue/consumers.ts'
import type { JobQueues } from '../queue/jobQueues.ts'

interface ScheduleOptions {
  readonly consumers: JobConsumers
  readonly queues: JobQueues
  readonly config: Pick<Config, 'reports'>
  readonly clock: Clock
  readonly log: Log
  readonly pollMs: number
}

/** Writes the schedule to the store, and repeats this every `pollMs`, because a store can lose data. */
export async function runSchedule(parts: ScheduleOptions, signal: AbortSignal): Promise<void> {
  const { consumers, queues, config, clock, log, pollMs } = parts
  const updateSchedulers = openScheduleUpdates(queues.queue<Tick>('ticks'), config)
  consumers.consume('ticks', { schema: Tick, process: ({ data }) => queues.addJobsOfTick(data) })
  let isFirst = true
  while (!signal.aborted) {
    try {
      const nowMs = toMillis(clock.now())
      const { added, removed } = await updateSchedulers(nowMs)
      const promoted = await queues.promoteMisdated(nowMs)
      if (added.length > 0) log.debug({ added }, 'schedulers were set')
      if (removed.length > 0)
        log.info({ removed }, 'schedulers were removed, because the configuration does not name them')
      if (promoted > 0) log.info({ promoted }, 'started jobs that a wrong clock had delayed')
      if (isFirst) await requestFirstRuns(parts)
      isFirst = false
    } catch (error) {
      log.warn({ err: error }, 'the schedulers could not be checked; the next check follows')
    }
    await clock.sleep(pollMs, signal).catch(() => undefined)
  }
}

/** Requests a first run after the worker has started. Skips reports with a cron line, which run at fixed times. */
async function requestFirstRuns({ config, queues }: ScheduleOptions): Promise<void> {
  for (const report of reportNames) {
    const { enabled, everyMs } = config.reports[report]
    if (enabled && everyMs !== undefined) await queues.addJobsOfTick({ work: 'incremental', report })
  }
}

export interface Scheduler {
  readonly id: string
  readonly repeat:
    | { readonly every: number; readonly offset: number }
    | { readonly pattern: string; readonly tz: string }
  readonly tick: Tick
}

type ReportScheduler = Scheduler & { readonly tick: { readonly report: ReportName } }

const OVERDUE_MS = MINUTE_MS

/** Returns a function that updates the stored schedulers to match the configuration. */
export function openScheduleUpdates(queue: Queue<Tick>, config: Pick<Config, 'reports'>) {
  const wanted = new Map(schedulersOf(config).map((each) => [each.id, each]))
  let overdue = new Map<string, number>()
  return async (nowMs: number): Promise<{ added: readonly string[]; removed: readonly string[] }> => {
    const stored = new Map((await queue.getJobSchedulers(0, -1)).map((each) => [each.key, each]))
    const before = overdue
    const late = [...stored].filter(([, { next = Infinity }]) => next < nowMs - OVERDUE_MS)
    overdue = new Map(late.map(([id, { next = 0 }]) => [id, next]))
    const added: string[] = []
    for (const { id, repeat, tick } of wanted.values()) {
      // If a tick is overdue at two checks, the store has lost its job. Setting the scheduler again adds a new job.
      const isStuck = overdue.has(id) && overdue.get(id) === before.get(id)
      const isTooFar = waitsTooLong(repeat, stored.get(id)?.next, nowMs)
      if (!isStuck && !isTooFar && isSame({ repeat, tick }, stored.get(id))) continue
      // BullMQ's upsert alone would keep the time of the next tick, which a wrong clock has set.
      if (isTooFar) await queue.removeJobScheduler(id)
      await queue.upsertJobScheduler(id, repeat, { name: tick.work, data: tick, opts: { ...JOB_OPTIONS.ticks } })
      added.push(id)
    }
    const removed = [...stored.keys()].filter((id) => !wanted.has(id))
    for (const id of removed) await queue.removeJobScheduler(id)
    return { added, removed }
  }
}

/** Returns whether the next tick is more than one interval away. If so, the clock was wrong when it was scheduled. */
function waitsTooLong(repeat: Scheduler['repeat'], next: number | undefined, nowMs: number): boolean {
  const latest = 'every' in repeat ? nowMs + repeat.every : (getNextMillis(nowMs, repeat) ?? Infinity)
  return next !== undefined && next > latest + CLOCKS_APART_MS_MAX
}

function isSame({ repeat, tick }: Omit<Scheduler, 'id'>, stored: JobSchedulerJson<Tick> | undefined): boolean {
  if (stored === undefined || !isDeepStrictEqual(stored.template?.data, tick)) return false
  if ('pattern' in repeat) return stored.pattern === repeat.pattern && (stored.tz ?? 'UTC') === repeat.tz
  return stored.every === repeat.every && (stored.offset ?? 0) === repeat.offset
}

const HOUSEKEEPING: readonly Scheduler[] = [
  { id: 'checkpoint', repeat: { every: 15 * MINUTE_MS, offset: 7 * MINUTE_MS }, tick: { work: 'checkpoint' } },
  { id: 'retention', repeat: { every: 60 * MINUTE_MS, offset: 11 * MINUTE_MS }, tick: { work: 'retention' } },
]

export function schedulersOf({ reports }: Pick<Config, 'reports'>): readonly Scheduler[] {
  const ofReports = reportNames.flatMap((report, place): ReportScheduler[] => {
    const config = reports[report]
    if (!config.enabled) return []
    const share = (place + 0.5) / reportNames.length
    const rhythms = { incremental: config, reconcile: config.reconcile }
    return (['incremental', 'reconcile'] as const).flatMap((work) => {
      const rhythm = rhythms[work]
      const id = `${work}-${report}`
      return rhythm ? [{ id, repeat: repeatOf(rhythm, config, share), tick: { work, report } }] : []
    })
  })
  return [...togetherAtOnce(ofReports), ...HOUSEKEEPING]
}

/** Groups reports with the same times, so that they share ticks: each tick needs statements in the queue store. */
function togetherAtOnce(schedulers: readonly ReportScheduler[]): readonly Scheduler[] {
  const groups = Map.groupBy(schedulers, ({ repeat, tick }) => JSON.stringify([tick.work, repeat]))
  return [...groups.values()].flatMap(([first, ...rest]) => {
    if (first === undefined || rest.length === 0) return first ?? []
    return { ...first, tick: { ...first.tick, others: rest.map(({ tick }) => tick.report) } }
  })
}

/** Start times are rounded down to a multiple of this, so that one wake-up of the process starts several runs. */
const TOGETHER_MS = 10_000

/** `share` moves the times within an interval. Example: every 10 min, 0.5 means minutes 5, 15 and 25. */
function repeatOf(rhythm: Rhythm, { timeZone }: ReportConfig, share: number): Scheduler['repeat'] {
  const { every, everyMs } = rhythm
  // With an offset of 0, BullMQ would start the first run immediately.
  return everyMs === undefined
    ? { pattern: every, tz: timeZone }
    : { every: everyMs, offset: Math.max(1, Math.floor((share * everyMs) / TOGETHER_MS) * TOGETHER_MS) }
}

/**
 * What jobs are asked for, and how: the one place that adds jobs to queues. A run of a report that waits already is not
 * added twice; one that is asked for while it runs is done once more afterwards.
 */
import { randomUUID } from 'node:crypto'
import type { Job, JobsOptions, Queue } from 'bullmq'
import type { ReportName } from '../../schema/index.ts'
import {
  CLOCKS_APART_MS_MAX,
  type BackfillJob,
  type HousekeepingJob,
  type IncrementalJob,
  JOB_OPTIONS,
  QUEUES,
  type QueueName,
  type ReconcileJob,
  type Tick,
} from './queues.ts'
import type { QueueStore } from '../stores/store.ts'

/** What readers wait for when rows changed, and when only marks did. */
const PUBLISH_SOON_MS = 2_000
const PUBLISH_LATER_MS = 30_000

interface Asked<Data> {
  readonly queue: QueueName
  readonly name: string
  readonly data: Data
  /** One job at a time for each. */
  readonly once: string
  readonly options?: JobsOptions
}

export class Requests {
  readonly #store: QueueStore

  constructor(store: QueueStore) {
    this.#store = store
  }

  queue<Data>(name: QueueName): Queue<Data> {
    return this.#store.queue<Data>(name)
  }

  /** How many processes work on the queue now. */
  workersOf(name: QueueName): Promise<number> {
    return this.#store.workersOf(name)
  }

  incremental(report: ReportName): Promise<void> {
    return this.#once<IncrementalJob>({ queue: 'incremental', name: report, data: { report }, once: report })
  }

  /** Now, even where it waits for its next try. */
  async incrementalNow(report: ReportName): Promise<void> {
    await this.incremental(report)
    await this.#promote('incremental', report)
  }

  async reconcile(report: ReportName, { allowMassDelete = false } = {}): Promise<void> {
    const data: ReconcileJob = { report, allowMassDelete }
    await this.#once({ queue: 'reconcile', name: report, data, once: `${report}${allowMassDelete ? ' all' : ''}` })
    await this.#promote('reconcile', report)
  }

  /** Goes on with a backfill, or begins it; a second request for the same one changes nothing. */
  async backfill(data: BackfillJob): Promise<void> {
    await this.#once({ queue: 'backfill', name: data.report, data, once: data.backfillId })
    await this.#promote('backfill', data.report)
  }

  /** Those that were put off, of one report: somebody has acted. */
  async backfillsNow(report: ReportName): Promise<void> {
    await this.#promote('backfill', report)
  }

  /** Many runs that end together are published once. */
  publish(changed: 'rows' | 'marks'): Promise<void> {
    const delay = changed === 'rows' ? PUBLISH_SOON_MS : PUBLISH_LATER_MS
    const data: HousekeepingJob = { work: 'publish' }
    return this.#once({ queue: 'housekeeping', name: 'publish', data, once: `publish ${changed}`, options: { delay } })
  }

  housekeeping(work: HousekeepingJob['work']): Promise<void> {
    return this.#once<HousekeepingJob>({ queue: 'housekeeping', name: work, data: { work }, once: work })
  }

  /** What a tick stands for. */
  async tick(tick: Tick): Promise<void> {
    if (tick.work === 'incremental') return this.incremental(tick.report)
    if (tick.work === 'reconcile') return this.reconcile(tick.report)
    return this.housekeeping(tick.work)
  }

  /** Jobs that have not begun, by name. */
  async waiting(queue: QueueName): Promise<Job[]> {
    const jobs = await this.queue(queue).getJobs(['waiting', 'prioritized', 'delayed'])
    // A job may be taken or removed while it is listed.
    return jobs.filter((job: Job | undefined) => job !== undefined)
  }

  /** Those that run too, or ran in a process that is gone. */
  async underWay(queue: QueueName): Promise<Job[]> {
    return [...(await this.waiting(queue)), ...(await this.queue(queue).getActive())]
  }

  /** When the schedule next asks for what, in milliseconds since 1970; nothing while no worker has set it. */
  async nextTicks(): Promise<readonly NextTick[]> {
    const schedulers = await this.queue<Tick>('ticks').getJobSchedulers(0, -1)
    return schedulers.flatMap(({ next, template }) => {
      const tick = template?.data
      return next === undefined || tick === undefined || !('report' in tick) ? [] : [{ ...tick, atMs: next }]
    })
  }

  /**
   * Lets jobs begin that were put off while this machine's clock ran ahead: else they, and all that are asked for once
   * in their place, would wait until that time has come. Gives how many.
   */
  async hurryMisdated(nowMs: number): Promise<number> {
    let hurried = 0
    for (const name of QUEUES) {
      // A tick has its place in a rhythm, which the schedule looks after.
      const delayed = name === 'ticks' ? [] : await this.queue(name).getDelayed()
      for (const job of delayed) {
        const putOffMs = Math.max(job.timestamp, job.processedOn ?? 0)
        if (putOffMs <= nowMs + CLOCKS_APART_MS_MAX) continue
        // It may begin by itself meanwhile.
        await job.promote().catch(() => undefined)
        hurried += 1
      }
    }
    return hurried
  }

  /** How many jobs each queue holds, by state. */
  async depths(): Promise<Readonly<Record<QueueName, QueueDepth>>> {
    const depths = await Promise.all(QUEUES.map(async (name) => [name, await depthOf(this.queue(name))] as const))
    return Object.fromEntries(depths) as Record<QueueName, QueueDepth>
  }

  async #once<Data>({ queue, name, data, once, options = {} }: Asked<Data>): Promise<void> {
    const identity = { jobId: randomUUID(), deduplication: { id: once, keepLastIfActive: true } }
    await this.#store.queue<unknown>(queue).add(name, data, { ...JOB_OPTIONS[queue], ...options, ...identity })
  }

  async #promote(queue: QueueName, name: string): Promise<void> {
    const delayed = await this.queue(queue).getDelayed()
    // It may begin by itself meanwhile.
    for (const job of delayed) if (job.name === name) await job.promote().catch(() => undefined)
  }
}

export type NextTick = Extract<Tick, { report: ReportName }> & { readonly atMs: number }

export type QueueDepth = Readonly<Record<'waiting' | 'active' | 'delayed' | 'failed', number>>

async function depthOf(queue: Queue): Promise<QueueDepth> {
  const {
    waiting = 0,
    prioritized = 0,
    active = 0,
    delayed = 0,
    failed = 0,
  } = await queue.getJobCounts('waiting', 'prioritized', 'active', 'delayed', 'failed')
  return { waiting: waiting + prioritized, active, delayed, failed }
}

/** Adds jobs to the queues. While a run is active, at most one more run of the same kind and report waits. */
import { randomUUID } from 'node:crypto'
import type { Job, JobsOptions, Queue } from 'bullmq'
import type { ReportName } from '../../schema/index.ts'
import { MINUTE_MS } from '../../src/instant.ts'
import type {
  BackfillJob,
  HousekeepingJob,
  IncrementalJob,
  NoticesJob,
  QueueName,
  ReconcileJob,
  Tick,
} from './queues.ts'
import { CLOCKS_APART_MS_MAX, JOB_OPTIONS, OWNER_QUEUES, QUEUES } from './queues.ts'
import type { QueueStore } from '../stores/store.ts'

/** The delay between a run that changes rows and the publication. After other runs, `PUBLISH_LATER_MS` is used. */
const PUBLISH_SOON_MS = 2_000
const PUBLISH_LATER_MS = MINUTE_MS

/** The token that lets BullMQ move a job even if another worker has the job's lock. */
const ANY_LOCK = '0'

interface JobRequest<Data> {
  readonly queue: QueueName
  readonly name: string
  readonly data: Data
  /** The key of the job. While a job waits, a second job with the same key is not added. */
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

  workersOf(name: QueueName): Promise<number> {
    return this.#store.workersOf(name)
  }

  incremental(report: ReportName, tick: Pick<IncrementalJob, 'isTick'> = {}): Promise<void> {
    return this.#add<IncrementalJob>({ queue: 'incremental', name: report, data: { report, ...tick }, once: report })
  }

  /** Requests a run that begins at once, even if a failed run waits for its next attempt. */
  async incrementalNow(report: ReportName): Promise<void> {
    await this.incremental(report)
    await this.#promote('incremental', report)
  }

  async reconcile(report: ReportName, { allowMassDelete = false } = {}): Promise<void> {
    const data: ReconcileJob = { report, allowMassDelete }
    await this.#add({ queue: 'reconcile', name: report, data, once: `${report}${allowMassDelete ? ' all' : ''}` })
    await this.#promote('reconcile', report)
  }

  /** Adds the job of a backfill. A second call for the same backfill adds no second job. */
  async backfill(data: BackfillJob): Promise<void> {
    await this.#add({ queue: 'backfill', name: data.report, data, once: data.backfillId })
    await this.#promote('backfill', data.report)
  }

  async backfillsNow(report: ReportName): Promise<void> {
    await this.#promote('backfill', report)
  }

  /** Requests a delayed publication. The published copy also contains the rows of runs that end during the delay. */
  publish(changed: 'rows' | 'marks'): Promise<void> {
    const delay = changed === 'rows' ? PUBLISH_SOON_MS : PUBLISH_LATER_MS
    const data: HousekeepingJob = { work: 'publish' }
    return this.#add({ queue: 'housekeeping', name: 'publish', data, once: `publish ${changed}`, options: { delay } })
  }

  housekeeping(work: HousekeepingJob['work']): Promise<void> {
    return this.#add<HousekeepingJob>({ queue: 'housekeeping', name: work, data: { work }, once: work })
  }

  /** Requests the delivery of a receiver's messages. A receiver has at most one waiting job. */
  notices(receiver: string): Promise<void> {
    return this.#add<NoticesJob>({ queue: 'notices', name: receiver, data: { receiver }, once: receiver })
  }

  async tick(tick: Tick): Promise<void> {
    if (!('report' in tick)) return this.housekeeping(tick.work)
    const request = (report: ReportName) =>
      tick.work === 'incremental' ? this.incremental(report, { isTick: true }) : this.reconcile(report)
    await Promise.all(reportsOf(tick).map(request))
  }

  async waiting(queue: QueueName): Promise<Job[]> {
    const jobs = await this.queue(queue).getJobs(['waiting', 'prioritized', 'delayed'])
    // `jobs` contains undefined for each job that was removed while BullMQ read the list.
    return jobs.filter((job: Job | undefined) => job !== undefined)
  }

  /** Returns the jobs that have not ended. Some may belong to a process that has died. */
  async underWay(queue: QueueName): Promise<Job[]> {
    return [...(await this.waiting(queue)), ...(await this.queue(queue).getActive())]
  }

  /** Puts a dead owner's active jobs back into the queues and counts them. Must run before the new owner takes jobs. */
  async takeOverFromDeadOwner(): Promise<number> {
    const queues = this.#store.kind === 'embedded' ? [...OWNER_QUEUES, 'windows' as const] : OWNER_QUEUES
    const orphans = (await Promise.all(queues.map((name) => this.queue(name).getActive()))).flat()
    // Ignores the error that `moveToWait` throws if the job has ended in the meantime.
    await Promise.all(orphans.map((job) => job.moveToWait(ANY_LOCK).catch(() => undefined)))
    return orphans.length
  }

  /** Returns the time of each report's next tick. The list is empty until a worker has set the schedulers. */
  async nextTicks(): Promise<readonly NextTick[]> {
    const schedulers = await this.queue<Tick>('ticks').getJobSchedulers(0, -1)
    return schedulers.flatMap(({ next, template }) => {
      const tick = template?.data
      if (next === undefined || tick === undefined || !('report' in tick)) return []
      return reportsOf(tick).map((report) => ({ work: tick.work, report, atMs: next }))
    })
  }

  /** Starts delayed jobs that were added while this machine's clock was ahead. BullMQ would start them too late. */
  async promoteMisdated(nowMs: number): Promise<number> {
    let promoted = 0
    for (const name of QUEUES) {
      // Leaves ticks alone: `schedulersIn` (jobs/schedule) replaces schedulers whose next tick is too late.
      const delayed = name === 'ticks' ? [] : await this.queue(name).getDelayed()
      for (const job of delayed) {
        const putOffMs = Math.max(job.timestamp, job.processedOn ?? 0)
        if (putOffMs <= nowMs + CLOCKS_APART_MS_MAX) continue
        // Ignores the error that `promote` throws if the job has begun in the meantime.
        await job.promote().catch(() => undefined)
        promoted += 1
      }
    }
    return promoted
  }

  async depths(): Promise<Readonly<Record<QueueName, QueueDepth>>> {
    const depths = await Promise.all(QUEUES.map(async (name) => [name, await depthOf(this.queue(name))] as const))
    return Object.fromEntries(depths) as Record<QueueName, QueueDepth>
  }

  async #add<Data>({ queue, name, data, once, options = {} }: JobRequest<Data>): Promise<void> {
    const identity = { jobId: randomUUID(), deduplication: { id: once, keepLastIfActive: true } }
    await this.#store.queue<unknown>(queue).add(name, data, { ...JOB_OPTIONS[queue], ...options, ...identity })
  }

  async #promote(queue: QueueName, name: string): Promise<void> {
    const delayed = await this.queue(queue).getDelayed()
    for (const job of delayed) if (job.name === name) await job.promote().catch(() => undefined)
  }
}

type ReportTick = Extract<Tick, { report: ReportName }>

const reportsOf = ({ report, others = [] }: ReportTick): readonly ReportName[] => [report, ...others]

export type NextTick = Pick<ReportTick, 'work' | 'report'> & { readonly atMs: number }

export type QueueDepth = Readonly<Record<'waiting' | 'active' | 'delayed' | 'failed', number>>

async function depthOf(queue: Queue): Promise<QueueDepth> {
  const counts = await queue.getJobCounts('waiting', 'prioritized', 'active', 'delayed', 'failed')
  const { waiting = 0, prioritized = 0, active = 0, delayed = 0, failed = 0 } = counts
  return { waiting: waiting + prioritized, active, delayed, failed }
}

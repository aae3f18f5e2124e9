/** The queues of a store: adds jobs to them, lists what waits, and starts delayed jobs. */
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

const PUBLISH_SOON_MS = 2_000
const PUBLISH_LATER_MS = MINUTE_MS

/** With this token, BullMQ ignores the lock of a job. */
const ANY_LOCK = '0'

interface JobRequest<Data> {
  readonly queue: QueueName
  readonly name: string
  readonly data: Data
  /** A key of the job. While a job with the same key waits, this job is not added. */
  readonly once: string
  readonly options?: JobsOptions
}

export class JobQueues {
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

  addIncremental(report: ReportName, tick: Pick<IncrementalJob, 'isTick'> = {}): Promise<void> {
    return this.#add<IncrementalJob>({ queue: 'incremental', name: report, data: { report, ...tick }, once: report })
  }

  /** Requests a run. If a failed run waits for its next attempt, starts that attempt now. */
  async addIncrementalNow(report: ReportName): Promise<void> {
    await this.addIncremental(report)
    await this.#promote('incremental', report)
  }

  async addReconcile(report: ReportName, { allowMassDelete = false } = {}): Promise<void> {
    const data: ReconcileJob = { report, allowMassDelete }
    await this.#add({ queue: 'reconcile', name: report, data, once: `${report}${allowMassDelete ? ' all' : ''}` })
    await this.#promote('reconcile', report)
  }

  async addBackfill(data: BackfillJob): Promise<void> {
    await this.#add({ queue: 'backfill', name: data.report, data, once: data.backfillId })
    await this.#promote('backfill', data.report)
  }

  async promoteBackfills(report: ReportName): Promise<void> {
    await this.#promote('backfill', report)
  }

  /** Requests a publication after a delay, so that one publication contains the rows of several runs. */
  addPublication(changed: 'rows' | 'marks'): Promise<void> {
    const delay = changed === 'rows' ? PUBLISH_SOON_MS : PUBLISH_LATER_MS
    const data: HousekeepingJob = { work: 'publish' }
    return this.#add({ queue: 'housekeeping', name: 'publish', data, once: `publish ${changed}`, options: { delay } })
  }

  addHousekeeping(work: HousekeepingJob['work']): Promise<void> {
    return this.#add<HousekeepingJob>({ queue: 'housekeeping', name: work, data: { work }, once: work })
  }

  addDelivery(receiver: string): Promise<void> {
    return this.#add<NoticesJob>({ queue: 'notices', name: receiver, data: { receiver }, once: receiver })
  }

  async addJobsOfTick(tick: Tick): Promise<void> {
    if (!('report' in tick)) return this.addHousekeeping(tick.work)
    const request = (report: ReportName) =>
      tick.work === 'incremental' ? this.addIncremental(report, { isTick: true }) : this.addReconcile(report)
    await Promise.all(reportsOf(tick).map(request))
  }

  async waiting(queue: QueueName): Promise<Job[]> {
    const jobs = await this.queue(queue).getJobs(['waiting', 'prioritized', 'delayed'])
    // BullMQ returns undefined for a job that was removed meanwhile.
    return jobs.filter((job: Job | undefined) => job !== undefined)
  }

  /** Returns waiting and active jobs. An active job may belong to a process that has died. */
  async underWay(queue: QueueName): Promise<Job[]> {
    return [...(await this.waiting(queue)), ...(await this.queue(queue).getActive())]
  }

  /** Puts the active jobs of a dead owner back into their queues. Call it before the new owner takes jobs. */
  async takeOverFromDeadOwner(): Promise<number> {
    const queues = this.#store.kind === 'embedded' ? [...OWNER_QUEUES, 'windows' as const] : OWNER_QUEUES
    const orphans = (await Promise.all(queues.map((name) => this.queue(name).getActive()))).flat()
    await Promise.all(orphans.map((job) => job.moveToWait(ANY_LOCK).catch(() => undefined)))
    return orphans.length
  }

  /** Returns the next scheduled runs, or an empty list if no worker has stored the schedule yet. */
  async nextTicks(): Promise<readonly NextTick[]> {
    const schedulers = await this.queue<Tick>('ticks').getJobSchedulers(0, -1)
    return schedulers.flatMap(({ next, template }) => {
      const tick = template?.data
      if (next === undefined || tick === undefined || !('report' in tick)) return []
      return reportsOf(tick).map((report) => ({ work: tick.work, report, atMs: next }))
    })
  }

  /** Starts the delayed jobs that would start too late, because they were added while a clock was ahead. */
  async promoteMisdated(nowMs: number): Promise<number> {
    let promoted = 0
    for (const name of QUEUES) {
      // Ticks with a wrong time are corrected by `openScheduleUpdates`.
      const delayed = name === 'ticks' ? [] : await this.queue(name).getDelayed()
      for (const job of delayed) {
        const putOffMs = Math.max(job.timestamp, job.processedOn ?? 0)
        if (putOffMs <= nowMs + CLOCKS_APART_MS_MAX) continue
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

/** Lets other processes read the windows of a backfill from the service, so that a large backfill is faster. */
import { randomUUID } from 'node:crypto'
import type { Queue } from 'bullmq'
import type { ReportName } from '../../schema/index.ts'
import { repeat } from '../../src/clock.ts'
import { asSyncError, SyncError } from '../../src/errors.ts'
import type { Pull, WindowRequest, PullContext } from '../../src/sync/backfill/handover.ts'
import { pullHere, pullWindow, readPulled } from '../../src/sync/backfill/handover.ts'
import type { SyncContext } from '../../src/sync/context.ts'
import type { JobConsumers, Task } from '../queue/consumers.ts'
import { CANCELLED_ON_REQUEST, errorOfReason } from '../queue/jobOutcome.ts'
import { JOB_OPTIONS, WindowJob, WindowResult } from '../queue/queues.ts'
import type { JobQueues } from '../queue/jobQueues.ts'

const WINDOWS_AT_ONCE = 2

/** Makes this process take and read windows of backfills that run in other processes. */
export function consumeWindows(consumers: JobConsumers, puller: PullerContext): void {
  const { queues: _, ...context } = puller
  const lastBackfillEpochs = new Map<ReportName, number>()
  consumers.consume('windows', {
    schema: WindowJob,
    concurrency: WINDOWS_AT_ONCE,
    process: async (task) => {
      const { ask } = task.data
      const { report, fence } = ask
      // Each backfill asks the service once more for a report that the service has refused: the refusal may be over.
      if (lastBackfillEpochs.get(report) !== fence.epoch) context.client.forgetRefusal(report)
      lastBackfillEpochs.set(report, fence.epoch)
      using _checking = abortWhenUnwanted(task, puller)
      const { directory } = await pullWindow({ ...context, signal: task.signal, onProgress: () => undefined }, ask)
      return { directory }
    },
  })
}

type PullerContext = Omit<PullContext, 'signal' | 'onProgress'> & { readonly queues: JobQueues }

const POLL_EVERY_MS = 200
const UNWANTED_CHECK_MS = 1_000
const POLLS_PER_PULLER_COUNT = 25

function abortWhenUnwanted({ id, cancel }: Task<WindowJob>, { queues, clock }: PullerContext): Disposable {
  return repeat(UNWANTED_CHECK_MS, clock, async () => {
    const job = await queues.queue<WindowJob>('windows').getJob(id)
    if (job?.data.isUnwanted === true) cancel(CANCELLED_ON_REQUEST)
  })
}

/** Returns a function that reads a window in another process, or in this one if no other process takes windows. */
export function pullThroughQueue({ context, queues }: { context: SyncContext; queues: JobQueues }): Pull {
  const { clock, settings } = context
  const here = pullHere(context)
  const queue = queues.queue<WindowJob>('windows')
  return async (ask, signal) => {
    const reach = <T>(call: () => Promise<T>) => onceReachable(call, { clock, signal })
    const hasPullers = async () => (await reach(() => queues.workersOf('windows'))) > 0
    if (!(await hasPullers())) return here(ask, signal)
    const jobId = `${ask.backfillId}-${ask.number}-${ask.fence.epoch}-${randomUUID().slice(0, 8)}`
    await reach(() => queue.add(ask.report, { ask }, { ...JOB_OPTIONS.windows, jobId }))
    try {
      for (let poll = 1; ; poll += 1) {
        await clock.sleep(POLL_EVERY_MS, signal)
        // Reads the state first: if the job completes between the two reads, the next poll reads its result.
        const state = await reach(() => queue.getJobState(jobId))
        const job = await reach(() => queue.getJob(jobId))
        if (job === undefined) throw lostWindowError(ask)
        if (state === 'completed')
          return await readPulled(settings.staging, WindowResult.parse(job.returnvalue).directory)
        if (state === 'failed') throw errorOfReason(job.failedReason)
        if (poll % POLLS_PER_PULLER_COUNT !== 0 || (await hasPullers())) continue
        // Removing the job fails if a dead process still has its lock. The job then stays in the queue.
        await withdrawJob(queue, jobId).catch(() => undefined)
        return await here(ask, signal)
      }
    } finally {
      if (signal.aborted) await withdrawJob(queue, jobId).catch(() => undefined)
    }
  }
}

async function withdrawJob(queue: Queue<WindowJob>, jobId: string): Promise<void> {
  const job = await queue.getJob(jobId)
  await job?.updateData({ ...job.data, isUnwanted: true })
  await queue.remove(jobId)
}

async function onceReachable<T>(ask: () => Promise<T>, { clock, signal }: Pick<SyncContext, 'clock' | 'signal'>) {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (asSyncError(error).code !== 'QUEUE_UNREACHABLE') throw error
    }
    await clock.sleep(POLL_EVERY_MS, signal)
  }
}

function lostWindowError({ report, number }: WindowRequest): SyncError {
  return new SyncError('STAGED_MISSING', `${report}: the queue's store has lost the job of window ${number}`, {
    report,
    cure: 'The window is pulled again.',
  })
}

/** Lets other processes (pullers) read the windows of a backfill. Without pullers, this process reads the windows. */
import { randomUUID } from 'node:crypto'
import type { Job, Queue } from 'bullmq'
import type { ReportName } from '../../schema/index.ts'
import { repeat } from '../../src/clock.ts'
import { asSyncError, SyncError } from '../../src/errors.ts'
import type { Pull, PullAsk, PullContext, PulledWindow } from '../../src/sync/backfill/handover.ts'
import { pullHere, pullWindow, readPulled } from '../../src/sync/backfill/handover.ts'
import type { SyncContext } from '../../src/sync/context.ts'
import type { JobConsumers, Task } from '../queue/consumers.ts'
import { CANCELLED_ON_REQUEST, errorOfReason } from '../queue/jobOutcome.ts'
import { JOB_OPTIONS, WindowJob, WindowResult } from '../queue/queues.ts'
import type { Requests } from '../queue/requests.ts'

const WINDOWS_AT_ONCE = 2

/** Makes this process a puller, which takes jobs of backfill windows from the queue. */
export function consumeWindows(consumers: JobConsumers, puller: PullerContext): void {
  const { requests: _, ...context } = puller
  const lastBackfillEpochs = new Map<ReportName, number>()
  consumers.consume('windows', {
    schema: WindowJob,
    concurrency: WINDOWS_AT_ONCE,
    process: async (task) => {
      const { ask } = task.data
      const { signal } = task
      const { report, fence } = ask
      // A new backfill begins only if its report is not paused. The client then forgets an earlier 403 of the report.
      if (lastBackfillEpochs.get(report) !== fence.epoch) context.client.forgetRefusal(report)
      lastBackfillEpochs.set(report, fence.epoch)
      using _checking = abortWhenUnwanted(task, puller)
      const { directory } = await pullWindow({ ...context, signal, onProgress: () => undefined }, ask)
      return { directory }
    },
  })
}

type PullerContext = Omit<PullContext, 'signal' | 'onProgress'> & { readonly requests: Requests }

const POLL_EVERY_MS = 200
const UNWANTED_CHECK_MS = 1_000
const POLLS_PER_PULLER_COUNT = 25

/** Cancels a job when the backfill no longer needs its window. Only the process that runs a job can cancel the job. */
function abortWhenUnwanted({ id, cancel }: Task<WindowJob>, { requests, clock }: PullerContext): Disposable {
  return repeat(UNWANTED_CHECK_MS, clock, async () => {
    const job = await requests.queue<WindowJob>('windows').getJob(id)
    if (job?.data.isUnwanted === true) cancel(CANCELLED_ON_REQUEST)
  })
}

export interface QueuedPull {
  readonly context: SyncContext
  readonly requests: Requests
}

/** Returns a function that lets a puller read a window. If no puller runs, this process reads the window. */
export function pullThroughQueue({ context, requests }: QueuedPull): Pull {
  const here = pullHere(context)
  return async (ask, signal) => {
    const wait = { clock: context.clock, signal }
    if ((await onceReachable(() => requests.workersOf('windows'), wait)) === 0) return here(ask, signal)
    const queue = requests.queue<WindowJob>('windows')
    const jobId = `${ask.backfillId}-${ask.number}-${ask.fence.epoch}-${randomUUID().slice(0, 8)}`
    await onceReachable(() => queue.add(ask.report, { ask }, { ...JOB_OPTIONS.windows, jobId }), wait)
    const find = () => onceReachable(() => queue.getJob(jobId), wait)
    const stateOf = () => onceReachable(() => queue.getJobState(jobId), wait)
    try {
      return (await awaitPull({ find, stateOf, context, requests, ask, signal })) ?? (await here(ask, signal))
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

/** Repeats a call while the queue's store is unreachable, because an unreachable store must not fail a window. */
async function onceReachable<T>(
  ask: () => Promise<T>,
  { clock, signal }: Pick<SyncContext, 'clock' | 'signal'>,
): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (asSyncError(error).code !== 'QUEUE_UNREACHABLE') throw error
    }
    await clock.sleep(POLL_EVERY_MS, signal)
  }
}

interface Watch extends QueuedPull {
  readonly find: () => Promise<Job<WindowJob> | undefined>
  readonly stateOf: () => Promise<string>
  readonly ask: PullAsk
  readonly signal: AbortSignal
}

/** Waits until a puller has read the window, and returns the window. Returns undefined if no puller runs any more. */
async function awaitPull({ find, stateOf, context, requests, ask, signal }: Watch): Promise<PulledWindow | undefined> {
  for (let poll = 1; ; poll += 1) {
    await context.clock.sleep(POLL_EVERY_MS, signal)
    // The state is read before the job. So if the state is `completed`, the job contains the result.
    const state = await stateOf()
    const job = await find()
    if (job === undefined) throw lostWindowError(ask)
    if (state === 'completed')
      return readPulled(context.settings.staging, WindowResult.parse(job.returnvalue).directory)
    if (state === 'failed') throw errorOfReason(job.failedReason)
    const { clock } = context
    const isCounted = poll % POLLS_PER_PULLER_COUNT === 0
    if (!isCounted || (await onceReachable(() => requests.workersOf('windows'), { clock, signal })) > 0) continue
    // The removal fails if a dead puller still has the lock of the job. This is harmless, because no puller runs.
    await withdrawJob(requests.queue<WindowJob>('windows'), job.id ?? '').catch(() => undefined)
    return undefined
  }
}

function lostWindowError({ report, number }: PullAsk): SyncError {
  return new SyncError('STAGED_MISSING', `${report}: the queue's store has lost the job of window ${number}`, {
    report,
    cure: 'The window is pulled again.',
  })
}

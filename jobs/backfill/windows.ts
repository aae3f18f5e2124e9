/**
 * Distributes the windows of a backfill to this process or to pullers, which leave the staged rows in a shared
 * directory. The coordinator polls its jobs, because a lost event or an emptied store would block the backfill.
 */
import { randomUUID } from 'node:crypto'
import type { Job, Queue } from 'bullmq'
import type { ReportName } from '../../schema/index.ts'
import { asSyncError, SyncError } from '../../src/errors.ts'
import { type PulledWindow, readPulled } from '../../src/sync/backfill/handover.ts'
import type { PullAsk } from '../../src/sync/backfill/pullAsk.ts'
import { type Pull, pullHere, type PullContext, pullWindow } from '../../src/sync/backfill/pullWindow.ts'
import type { SyncContext } from '../../src/sync/context.ts'
import type { JobConsumers, Task } from '../queue/consumers.ts'
import { CALLED_OFF, errorOfReason } from '../queue/jobOutcome.ts'
import { JOB_OPTIONS, WindowJob, WindowResult } from '../queue/queues.ts'
import type { Requests } from '../queue/requests.ts'

/** Number of windows that a process pulls at once. They share the client's limit of requests. */
const PULLED_AT_ONCE = 2

/** Starts to take jobs of backfill windows from the queue, and pulls their windows. */
export function consumeWindows(consumers: JobConsumers, { requests, ...context }: PullerContext): void {
  /** The epoch (run number of the backfill) of the last pulled window, by report. */
  const epochs = new Map<ReportName, number>()
  consumers.consume({
    queue: 'windows',
    schema: WindowJob,
    concurrency: PULLED_AT_ONCE,
    process: async (task) => {
      const { ask } = task.data
      const { signal } = task
      const { report, fence } = ask
      // A new epoch means a new run, before which the report was not paused. So an older refusal (403) is forgotten.
      if (epochs.get(report) !== fence.epoch) context.client.forgetRefusal(report)
      epochs.set(report, fence.epoch)
      using _looking = endsWhenUnwanted(task, { requests, clock: context.clock })
      const { directory } = await pullWindow({ ...context, signal, onProgress: () => undefined }, ask)
      return { directory }
    },
  })
}

type PullerContext = Omit<PullContext, 'signal' | 'onProgress'> & { readonly requests: Requests }

const LOOK_EVERY_MS = 200
/** At this interval (ms), a puller checks whether the backfill still needs the window. */
const LOOK_WHETHER_WANTED_MS = 1_000
/** Number of polls after which the coordinator checks whether there is still a puller. */
const LOOKS_PER_COUNT = 25

/** Aborts the pull if the coordinator, which can't cancel another process's job, has marked the job as unwanted. */
function endsWhenUnwanted(
  { id, callOff }: Pick<Task<WindowJob>, 'id' | 'callOff'>,
  { requests, clock }: Pick<PullerContext, 'requests' | 'clock'>,
): Disposable {
  const looking = new AbortController()
  const look = async () => {
    for (;;) {
      await clock.sleep(LOOK_WHETHER_WANTED_MS, looking.signal)
      // If the store can't be reached, the pull continues, and the check is repeated later.
      const job = await requests
        .queue<WindowJob>('windows')
        .getJob(id)
        .catch(() => undefined)
      if (job?.data.isUnwanted === true) return callOff(CALLED_OFF)
    }
  }
  look().catch(() => undefined)
  return { [Symbol.dispose]: () => looking.abort() }
}

export interface QueuedPull {
  readonly context: SyncContext
  readonly requests: Requests
}

/** Returns a function that pulls a window through the queue or, if the queue has no pullers, in this process. */
export function pullThroughQueue({ context, requests }: QueuedPull): Pull {
  const here = pullHere(context)
  return async (ask, signal) => {
    const wait = { clock: context.clock, signal }
    if ((await whenBack(() => requests.workersOf('windows'), wait)) === 0) return here(ask, signal)
    const queue = requests.queue<WindowJob>('windows')
    const jobId = `${ask.backfillId}-${ask.number}-${ask.fence.epoch}-${randomUUID().slice(0, 8)}`
    await whenBack(() => queue.add(ask.report, { ask }, { ...JOB_OPTIONS.windows, jobId }), wait)
    const find = () => whenBack(() => queue.getJob(jobId), wait)
    const stateOf = () => whenBack(() => queue.getJobState(jobId), wait)
    try {
      return (await pulledBy({ find, stateOf, context, requests, ask, signal })) ?? (await here(ask, signal))
    } finally {
      if (signal.aborted) await takeBack(queue, jobId).catch(() => undefined)
    }
  }
}

async function takeBack(queue: Queue<WindowJob>, jobId: string): Promise<void> {
  const job = await queue.getJob(jobId)
  await job?.updateData({ ...job.data, isUnwanted: true })
  await queue.remove(jobId)
}

/** Repeats a call until the queue's store can be reached, so that an outage of the store fails no window. */
async function whenBack<T>(
  ask: () => Promise<T>,
  { clock, signal }: Pick<SyncContext, 'clock' | 'signal'>,
): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (asSyncError(error).code !== 'QUEUE_UNREACHABLE') throw error
    }
    await clock.sleep(LOOK_EVERY_MS, signal)
  }
}

interface Watch extends QueuedPull {
  readonly find: () => Promise<Job<WindowJob> | undefined>
  readonly stateOf: () => Promise<string>
  readonly ask: PullAsk
  readonly signal: AbortSignal
}

/** Waits for the end of the job. Returns undefined if the job has not begun and there is no puller left to take it. */
async function pulledBy({ find, stateOf, context, requests, ask, signal }: Watch): Promise<PulledWindow | undefined> {
  for (let look = 1; ; look += 1) {
    await context.clock.sleep(LOOK_EVERY_MS, signal)
    // The state must be read first. Otherwise a job could end between the reads, and be `completed` without a result.
    const state = await stateOf()
    const job = await find()
    if (job === undefined) throw lost(ask)
    if (state === 'completed')
      return readPulled(context.settings.staging, WindowResult.parse(job.returnvalue).directory)
    if (state === 'failed') throw errorOfReason(job.failedReason)
    const isUntaken = state !== 'active' && look % LOOKS_PER_COUNT === 0
    const { clock } = context
    if (!isUntaken || (await whenBack(() => requests.workersOf('windows'), { clock, signal })) > 0) continue
    await job.remove()
    return undefined
  }
}

function lost({ report, number }: PullAsk): SyncError {
  return new SyncError('STAGED_MISSING', `${report}: window ${number} was forgotten by the queue's store`, {
    report,
    cure: 'The window is pulled again.',
  })
}

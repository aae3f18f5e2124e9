/**
 * Windows of backfills, pulled by whoever has time: this process, or others that hold no warehouse and hand the staged
 * rows over through the shared directory. The coordinator looks after its jobs by asking for them, so that neither a
 * lost message nor an emptied store nor the end of the last puller makes it wait for ever.
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

/** Windows pulled side by side in one process; they share the client's permits. */
const PULLED_AT_ONCE = 2

/** Takes windows to pull. */
export function consumeWindows(consumers: JobConsumers, { requests, ...context }: PullerContext): void {
  /** Under which epoch each report was asked for last. */
  const epochs = new Map<ReportName, number>()
  consumers.consume({
    queue: 'windows',
    schema: WindowJob,
    concurrency: PULLED_AT_ONCE,
    process: async (task) => {
      const { ask } = task.data
      const { signal } = task
      const { report, fence } = ask
      // A backfill begins anew only where its report is not paused: what was refused to an older one has been forgiven.
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
/** How often who pulls a window looks whether anybody still wants it. */
const LOOK_WHETHER_WANTED_MS = 1_000
/** How many looks apart it is asked whether anybody pulls at all. */
const LOOKS_PER_COUNT = 25

/** Nobody can reach into a job that is at work, perhaps in another process: who wants it no more leaves word in it. */
function endsWhenUnwanted(
  { id, callOff }: Pick<Task<WindowJob>, 'id' | 'callOff'>,
  { requests, clock }: Pick<PullerContext, 'requests' | 'clock'>,
): Disposable {
  const looking = new AbortController()
  const look = async () => {
    for (;;) {
      await clock.sleep(LOOK_WHETHER_WANTED_MS, looking.signal)
      // A store that is away says nothing; the next look does.
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

/** Has windows pulled by the queue's workers; while there are none, here. */
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

/** Asks until the store answers: one that is away for a while is no reason to give up windows. */
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

/** Waits for the job's end; undefined when nobody is there any more to take it. */
async function pulledBy({ find, stateOf, context, requests, ask, signal }: Watch): Promise<PulledWindow | undefined> {
  for (let look = 1; ; look += 1) {
    await context.clock.sleep(LOOK_EVERY_MS, signal)
    // The state first: a job that ended between the two would be done, and its result not there yet.
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

/**
 * Windows of backfills, pulled by whoever has time: this process, or others that hold no warehouse and hand the staged
 * rows over through the shared directory. The coordinator looks after its jobs by asking for them, so that neither a
 * lost message nor an emptied store nor the end of the last puller makes it wait for ever.
 */
import { randomUUID } from 'node:crypto'
import type { Job } from 'bullmq'
import type { ReportName } from '../../schema/index.ts'
import { SyncError } from '../../src/errors.ts'
import { type PulledWindow, readPulled } from '../../src/sync/backfill/handover.ts'
import type { PullAsk } from '../../src/sync/backfill/pullAsk.ts'
import { type Pull, pullHere, type PullRooms, pullWindow } from '../../src/sync/backfill/pullWindow.ts'
import type { Rooms } from '../../src/sync/rooms.ts'
import type { Crew } from '../queue/crew.ts'
import { errorOfReason } from '../queue/jobOutcome.ts'
import { JOB_OPTIONS, WindowJob, WindowResult } from '../queue/queues.ts'
import type { Requests } from '../queue/requests.ts'

/** Windows pulled side by side in one process; they share the client's permits. */
const PULLED_AT_ONCE = 2

/** Takes windows to pull. */
export function takeWindows(crew: Crew, rooms: Omit<PullRooms, 'signal' | 'onProgress'>): void {
  /** Under which epoch each report was asked for last. */
  const epochs = new Map<ReportName, number>()
  crew.take({
    queue: 'windows',
    schema: WindowJob,
    concurrency: PULLED_AT_ONCE,
    process: async ({ data: { ask }, signal }) => {
      const { report, fence } = ask
      // A backfill begins anew only where its report is not paused: what was refused to an older one has been forgiven.
      if (epochs.get(report) !== fence.epoch) rooms.client.forgetRefusal(report)
      epochs.set(report, fence.epoch)
      const { directory } = await pullWindow({ ...rooms, signal, onProgress: () => undefined }, ask)
      return { directory }
    },
  })
}

const LOOK_EVERY_MS = 200
/** How many looks apart it is asked whether anybody pulls at all. */
const LOOKS_PER_COUNT = 25

export interface QueuedPull {
  readonly rooms: Rooms
  readonly requests: Requests
}

/** Has windows pulled by the queue's workers; while there are none, here. */
export function pullThroughQueue({ rooms, requests }: QueuedPull): Pull {
  const here = pullHere(rooms)
  return async (ask, signal) => {
    if ((await requests.workersOf('windows')) === 0) return here(ask, signal)
    const queue = requests.queue<WindowJob>('windows')
    const jobId = `${ask.backfillId}-${ask.number}-${ask.fence.epoch}-${randomUUID().slice(0, 8)}`
    await queue.add(ask.report, { ask }, { ...JOB_OPTIONS.windows, jobId })
    const watch = { find: () => queue.getJob(jobId), rooms, requests, ask, signal }
    try {
      return (await pulledBy(watch)) ?? (await here(ask, signal))
    } finally {
      if (signal.aborted) await (await watch.find())?.remove().catch(() => undefined)
    }
  }
}

interface Watch extends QueuedPull {
  readonly find: () => Promise<Job<WindowJob> | undefined>
  readonly ask: PullAsk
  readonly signal: AbortSignal
}

/** Waits for the job's end; undefined when nobody is there any more to take it. */
async function pulledBy({ find, rooms, requests, ask, signal }: Watch): Promise<PulledWindow | undefined> {
  for (let look = 1; ; look += 1) {
    await rooms.clock.sleep(LOOK_EVERY_MS, signal)
    const job = await find()
    if (job === undefined) throw lost(ask)
    const state = await job.getState()
    if (state === 'completed') return readPulled(rooms.settings.staging, WindowResult.parse(job.returnvalue).directory)
    if (state === 'failed') throw errorOfReason(job.failedReason)
    const isUntaken = state !== 'active' && look % LOOKS_PER_COUNT === 0
    if (!isUntaken || (await requests.workersOf('windows')) > 0) continue
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

/**
 * Asks the worker on another machine through the queue that both use. The answer is looked for rather than waited for,
 * so that a message that is lost with a store's restart keeps nobody waiting.
 */
import type { Answer } from '../../../jobs/control/control.ts'
import type { ControlRequest } from '../../../jobs/control/controlRequest.ts'
import { JOB_OPTIONS } from '../../../jobs/queue/queues.ts'
import { openStore } from '../../../jobs/stores/openStore.ts'
import type { QueueStore } from '../../../jobs/stores/store.ts'
import type { Config } from '../../config/config.ts'
import type { Shell } from '../shell.ts'
import { type Asking, lost } from './asked.ts'

const LOOK_EVERY_MS = 250

interface QueueRemote {
  readonly send: (request: ControlRequest, asking: Pick<Asking, 'onEvent' | 'signal'>) => Promise<Answer>
  readonly close: () => Promise<void>
}

/** Undefined when no worker listens there, or nobody can be reached: then the work is done here. */
export async function queueRemote({ clock }: Shell, config: Config): Promise<QueueRemote | undefined> {
  const store = await openStore(config.queue, { directory: '', clock }).catch(() => undefined)
  if (store === undefined) return undefined
  const isThere = await store.workersOf('control').then(
    (workers) => workers > 0,
    () => false,
  )
  if (!isThere) {
    await store.close()
    return undefined
  }
  const send: QueueRemote['send'] = (request, { onEvent, signal }) =>
    askThrough(store, request, { onEvent, clock, signal })
  return { send, close: () => store.close() }
}

/** Asks and looks until it is answered. Error: WORKER_LOST. */
export async function askThrough(
  store: Pick<QueueStore, 'queue'>,
  request: ControlRequest,
  { onEvent, clock, signal }: Asking,
): Promise<Answer> {
  const queue = store.queue<ControlRequest>('control')
  const { id = '' } = await queue.add(request.do, request, JOB_OPTIONS.control)
  let told = 0
  for (;;) {
    await clock.sleep(LOOK_EVERY_MS, signal)
    // The state first: a job that ended between the two would be done, and its answer not there yet.
    const state = await queue.getJobState(id)
    const job = await queue.getJob(id)
    if (job === undefined) throw lost('has lost the request with its queue')
    const events = Array.isArray(job.progress) ? (job.progress as Record<string, unknown>[]) : []
    for (const event of events.slice(told)) onEvent(event)
    told = Math.max(told, events.length)
    if (state === 'completed') return job.returnvalue as Answer
    if (state === 'failed') throw lost(`could not do it: ${job.failedReason}`)
  }
}

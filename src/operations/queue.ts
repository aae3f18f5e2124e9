/** Sends operations as jobs of the shared queue. The result of a job is the reply. */
import type { JobConsumers } from '../../jobs/queue/consumers.ts'
import { JOB_OPTIONS } from '../../jobs/queue/queues.ts'
import type { QueueStore } from '../../jobs/stores/store.ts'
import type { Clock } from '../clock.ts'
import { OperationEvent, type OperationRequest, Reply, SentRequest, workerLost } from './contract.ts'
import type { Caller } from './engine.ts'
import type { WorkerOperations } from './workerOperations.ts'

const REQUESTS_AT_ONCE = 200
/** Maximum number of events stored for a request. Each event rewrites the whole list, so a long list would be slow. */
const EVENTS_MAX = 500

export function consumeRequests(consumers: JobConsumers, operations: Pick<WorkerOperations, 'answer'>): void {
  consumers.consume('control', {
    schema: SentRequest,
    concurrency: REQUESTS_AT_ONCE,
    process: async ({ data, signal, job }): Promise<Reply> => {
      const events: OperationEvent[] = []
      let written: Promise<unknown> = Promise.resolve()
      const onEvent = (event: OperationEvent) => {
        if ('progress' in event || events.length >= EVENTS_MAX) return
        events.push(event)
        // A failure loses no event of the reply. A rejected promise without a handler would end the process.
        written = written.then(() => job.updateProgress([...events])).catch(() => undefined)
      }
      const reply = await operations.answer(data.request, { by: data.by, onEvent, signal })
      await written
      // If this worker is stopping, throws, so that the job returns to the queue for the next owner.
      signal.throwIfAborted()
      return reply
    },
  })
}

const POLL_EVERY_MS = 250

/** Sends a request and polls for the reply, because queue events can be lost. Throws WORKER_LOST. */
export async function askQueue(
  { store, clock }: { readonly store: Pick<QueueStore, 'queue'>; readonly clock: Clock },
  request: OperationRequest,
  { by, onEvent, signal }: Caller,
): Promise<Reply> {
  const queue = store.queue<SentRequest>('control')
  const { id = '' } = await queue.add(request.do, { request, by }, JOB_OPTIONS.control)
  let seen = 0
  for (;;) {
    await clock.sleep(POLL_EVERY_MS, signal)
    // Reads the state first: a job that ends between the two reads would otherwise seem to have ended without a result.
    const state = await queue.getJobState(id)
    const job = await queue.getJob(id)
    if (job === undefined) throw workerLost('has lost the request with its queue')
    const events: unknown[] = Array.isArray(job.progress) ? job.progress : []
    for (const event of events.slice(seen)) {
      const known = OperationEvent.safeParse(event)
      if (known.success) onEvent(known.data)
    }
    seen = Math.max(seen, events.length)
    if (state === 'completed') return Reply.parse(job.returnvalue)
    if (state === 'failed') throw workerLost(`could not do it: ${job.failedReason}`)
  }
}

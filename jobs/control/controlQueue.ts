/**
 * Requests that come from other machines through the queue: what happens meanwhile is the job's progress, the answer
 * its result.
 */
import type { Answer, Control } from './control.ts'
import { ControlRequest } from './controlRequest.ts'
import type { JobConsumers } from '../queue/consumers.ts'

/** Commands that wait for their runs hold a place each, and one that pauses or cancels must not wait for them. */
const REQUESTS_AT_ONCE = 200
/** What a job's progress holds: ended reports, and how far a long one is. */
const EVENTS_MAX = 500

export function consumeRequests(consumers: JobConsumers, control: Pick<Control, 'answer'>): void {
  consumers.consume({
    queue: 'control',
    schema: ControlRequest,
    concurrency: REQUESTS_AT_ONCE,
    process: async ({ data, signal, job }): Promise<Answer> => {
      const events: object[] = []
      let written: Promise<unknown> = Promise.resolve()
      const tell = (event: object) => {
        if ('progress' in event || events.length >= EVENTS_MAX) return
        events.push(event)
        written = written.then(() => job.updateProgress([...events]))
      }
      const answer = await control.answer(data, { tell, signal })
      await written
      // Handed back, the next owner answers it.
      signal.throwIfAborted()
      return answer
    },
  })
}

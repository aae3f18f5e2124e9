/** A run of an operation is a promise of the answer. A `for await` loop over it receives events such as progress. */

/**
 * Resolves to the answer. Iterating it yields events until the run ends, and then throws the run's error, if it has one.
 * Leaving the loop early does not stop the run: abort the signal for that. Without a loop, events are dropped.
 */
export type Run<Answer, Event> = Promise<Answer> & AsyncIterable<Event>

/** Passes an event to the `for await` loop. Resolves when the loop has taken the event: await it to limit memory. */
export type Tell<Event> = (event: Event) => Promise<void>

/** Starts `work` after the caller's synchronous code has run, so that a `for await` loop does not miss any events. */
export function startRun<Answer, Event>(work: (tell: Tell<Event>) => Promise<Answer>): Run<Answer, Event> {
  const { readable, writable } = new TransformStream<Event, Event>()
  const writer = writable.getWriter()
  let isRead = false
  const tell = async (event: Event) => {
    // Writing fails if the caller has left its loop over the events. The run continues, and further events are dropped.
    if (isRead) await writer.write(event).catch(() => undefined)
  }
  const answer = Promise.resolve()
    .then(() => work(tell))
    .finally(() => void writer.close().catch(() => undefined))
  async function* events(): AsyncGenerator<Event, void, void> {
    isRead = true
    // The loop throws the run's error. Without this line, Node would also report that error as unhandled.
    answer.catch(() => undefined)
    yield* readable
    await answer
  }
  return Object.assign(answer, { [Symbol.asyncIterator]: events })
}

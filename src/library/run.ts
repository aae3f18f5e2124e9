/** A run is a promise of an operation's result. A `for await` loop over the run receives events, such as progress. */

/**
 * Resolves to the answer. A `for await` loop receives the events, and throws the run's error if there is one.
 * Leaving the loop does not stop the run: abort the signal for that.
 */
export type Run<Answer, Event> = Promise<Answer> & AsyncIterable<Event>

/** Resolves when the caller's loop has taken the event. Callers must `await` this, or events fill up memory. */
export type Tell<Event> = (event: Event) => Promise<void>

/** Starts `work` in a later microtask, so that a `for await` loop of the caller begins first and misses no event. */
export function startRun<Answer, Event>(work: (tell: Tell<Event>) => Promise<Answer>): Run<Answer, Event> {
  const { readable, writable } = new TransformStream<Event, Event>()
  const writer = writable.getWriter()
  let isRead = false
  const tell = async (event: Event) => {
    // Writing fails after the caller has left its loop. The event is then dropped.
    if (isRead) await writer.write(event).catch(() => undefined)
  }
  const answer = Promise.resolve()
    .then(() => work(tell))
    .finally(() => void writer.close().catch(() => undefined))
  async function* events(): AsyncGenerator<Event, void, void> {
    isRead = true
    // Without this line, Node would report the run's error as unhandled.
    answer.catch(() => undefined)
    yield* readable
    await answer
  }
  return Object.assign(answer, { [Symbol.asyncIterator]: events })
}

/** Runs asynchronous work one after the other, in the order of the calls. */

/** Returns a function that runs `work` after the work of all earlier calls, even if earlier work failed. */
export function turns() {
  let last: Promise<unknown> = Promise.resolve()
  return <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work)
    last = turn.catch(() => undefined)
    return turn
  }
}

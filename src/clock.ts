/** Only this file calls `Date.now`, `Math.random` and `setTimeout`, so that a simulation can use its own clock. */
import { setImmediate as turn, setTimeout as sleepFor } from 'node:timers/promises'
import { fromMillis, type Instant } from './instant.ts'

export interface Clock {
  /** Returns the time of this machine. It may be wrong, so the service's clock decides where a window ends. */
  now(): Instant
  /** Returns milliseconds that never decrease. Used to measure durations. */
  monotonicMs(): number
  /** Resolves after `ms`. Rejects with the signal's reason as soon as the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Runs `action` once after `ms`. The returned function cancels it. The timer does not keep the process alive. */
  after(ms: number, action: () => void): () => void
  /** Yields to the event loop. Long computations call this between their steps. */
  nextTurn(): Promise<void>
  /** Returns a number in [0, 1), uniformly distributed. */
  random(): number
}

/** Returns the result of `work`. After `ms` milliseconds, returns undefined and aborts the signal passed to `work`. */
export async function within<T>(
  ms: number,
  clock: Pick<Clock, 'after'>,
  work: (late: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  const ending = new AbortController()
  const late = Promise.withResolvers<undefined>()
  const cancelTimer = clock.after(ms, () => {
    late.resolve(undefined)
    ending.abort()
  })
  return await Promise.race([work(ending.signal), late.promise]).finally(cancelTimer)
}

export const systemClock: Clock = {
  now: () => fromMillis(Date.now()),
  monotonicMs: () => performance.now(),
  sleep: async (ms, signal) => {
    signal?.throwIfAborted()
    try {
      await sleepFor(ms, undefined, signal === undefined ? {} : { signal })
    } catch (error) {
      signal?.throwIfAborted()
      throw error
    }
  },
  after: (ms, action) => {
    const timer = setTimeout(action, ms)
    timer.unref()
    return () => clearTimeout(timer)
  },
  nextTurn: () => turn(),
  random: () => Math.random(),
}

/** The only file that calls `Date.now`, `Math.random` and timers, so that a simulation can use its own clock. */
import { setImmediate as turn, setTimeout as sleepFor } from 'node:timers/promises'
import { fromMillis, type Instant } from './instant.ts'

export interface Waiting {
  readonly clock: Clock
  readonly signal: AbortSignal
}

export interface Clock {
  now(): Instant
  monotonicMs(): number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Calls `action` after `ms`, but does not keep the process alive. The returned function cancels the timer. */
  after(ms: number, action: () => void): () => void
  nextTurn(): Promise<void>
  random(): number
}

/** Aborts `work` and returns undefined if the work takes longer than `ms` milliseconds. Keeps the process alive. */
export async function within<T>(ms: number, clock: Pick<Clock, 'after'>, work: (late: AbortSignal) => Promise<T>) {
  const ending = new AbortController()
  const late = Promise.withResolvers<undefined>()
  const cancelTimer = clock.after(ms, () => {
    late.resolve(undefined)
    ending.abort()
  })
  const keepsAlive = setInterval(() => undefined, ms)
  try {
    return await Promise.race([work(ending.signal), late.promise])
  } finally {
    clearInterval(keepsAlive)
    cancelTimer()
  }
}

/** Calls `action` every `ms` milliseconds until the result is disposed. Does not keep the process alive. */
export function repeat(ms: number, clock: Pick<Clock, 'after'>, action: () => unknown): Disposable {
  let hasEnded = false
  let cancelTimer: (() => void) | undefined
  const again = () => {
    if (hasEnded) return
    cancelTimer = clock.after(ms, () => void Promise.resolve().then(action).then(again, again))
  }
  again()
  return {
    [Symbol.dispose]: () => {
      hasEnded = true
      cancelTimer?.()
    },
  }
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

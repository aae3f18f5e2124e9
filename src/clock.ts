/**
 * The one door through which time and chance come in (house rule: nowhere else `Date.now`, `Math.random`,
 * `setTimeout`). A simulation passes its own clock; everything else uses `systemClock`.
 */
import { setImmediate as turn, setTimeout as sleepFor } from 'node:timers/promises'
import { fromMillis, type Instant } from './instant.ts'

export interface Clock {
  /** This machine's wall clock. It may be wrong: windows are cut on the service's clock instead. */
  now(): Instant
  /** Milliseconds that never go back, for durations. */
  monotonicMs(): number
  /** Waits; rejects with the signal's reason as soon as it aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Runs `action` once after `ms`; the returned function calls it off. The timer does not keep the process alive. */
  after(ms: number, action: () => void): () => void
  /** Lets whatever waits for this process's one thread go first: work that takes longer than a moment is cut by it. */
  nextTurn(): Promise<void>
  /** Uniform in [0, 1). */
  random(): number
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

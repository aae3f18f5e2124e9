/** A clock that passes an hour in an instant, for a whole process. */
import { systemClock } from '../../../src/clock.ts'
import type { ForwardClock } from '../../../test/support/forwardClock.ts'

interface Timer {
  readonly dueMs: number
  readonly fire: () => void
}

/**
 * Returns a clock whose `pass` moves the time of this process. `Date.now` follows, because the queue and its PostgreSQL
 * read the time there. Timers that are due at the new time fire at once.
 */
export function passingClock(): ForwardClock {
  const timers = new Set<Timer>()
  const realNow = Date.now
  let aheadMs = 0
  Date.now = () => realNow() + aheadMs
  const monotonicMs = () => systemClock.monotonicMs() + aheadMs
  return {
    ...systemClock,
    monotonicMs,
    after: (ms, action) => {
      const timer: Timer = { dueMs: monotonicMs() + ms, fire: () => timers.delete(timer) && action() }
      timers.add(timer)
      const cancel = systemClock.after(ms, timer.fire)
      return () => {
        timers.delete(timer)
        cancel()
      }
    },
    pass: (ms) => {
      aheadMs += ms
      for (const timer of timers) if (timer.dueMs <= monotonicMs()) timer.fire()
    },
  }
}

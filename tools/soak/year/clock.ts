/** A clock that passes an hour in an instant, for a whole process. */
import { systemClock } from '../../../src/clock.ts'
import type { ForwardClock } from '../../../test/support/forwardClock.ts'

interface Timer {
  readonly dueMs: number
  readonly fire: () => void
}

/** Returns a clock that also moves `Date.now`, where the queue and PostgreSQL read the time. */
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
      const cancel = () => {
        timers.delete(timer)
        cancelReal()
      }
      // The real timer would keep its action in memory.
      const fire = () => (cancel(), action())
      const timer: Timer = { dueMs: monotonicMs() + ms, fire }
      timers.add(timer)
      const cancelReal = systemClock.after(ms, fire)
      return cancel
    },
    pass: (ms) => {
      aheadMs += ms
      for (const timer of timers) if (timer.dueMs <= monotonicMs()) timer.fire()
    },
  }
}

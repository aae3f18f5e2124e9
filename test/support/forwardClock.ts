/** The system clock, which a test can move forward instead of waiting. */
import { type Clock, systemClock } from '../../src/clock.ts'
import { plusMs } from '../../src/instant.ts'

export interface ForwardClock extends Clock {
  /** Moves the wall clock and the monotonic clock forward. */
  pass(ms: number): void
}

export function forwardClock(): ForwardClock {
  let aheadMs = 0
  return {
    ...systemClock,
    now: () => plusMs(systemClock.now(), aheadMs),
    monotonicMs: () => systemClock.monotonicMs() + aheadMs,
    pass: (ms) => {
      aheadMs += ms
    },
  }
}

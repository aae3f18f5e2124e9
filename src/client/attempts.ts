/** Repeats a request until it is answered or its failure is final; the verdicts are in retry.ts. */
import type { Clock } from '../clock.ts'
import { assert, SyncError } from '../errors.ts'
import { raced, throwIfAborted } from './cancellation.ts'
import type { Permit } from './limiter.ts'
import {
  afterAttempts,
  afterTooLongWait,
  delayMsAfter,
  hasHadItsAttempts,
  isFinal,
  isStrain,
  pausesAll,
  type RetryRules,
} from './retry.ts'

export interface Persistence {
  clock: Clock
  rules: RetryRules
  signal: AbortSignal
  /** What each attempt holds until its failure is judged, so that a pause begins before the next one is let through. */
  permit: () => Promise<Permit>
  /** The service wants a pause: nothing more should be sent for so long, whether or not this request is repeated. */
  onPause: (failed: SyncError, pauseMs: number) => void
  onRetry: (failed: SyncError, attempt: number, delayMs: number) => void
}

type Outcome<T> = { value: T } | { retryInMs: number }

/** Runs `attempt` at most attemptsMax times. What is no SyncError is a defect, and passes through at once. */
export async function persistently<T>(attempt: () => Promise<T>, persistence: Persistence): Promise<T> {
  const { clock, rules, signal } = persistence
  for (let number = 1; ; number += 1) {
    assert(number <= rules.attemptsMax, 'a request was repeated more often than allowed')
    const outcome = await once(attempt, number, persistence)
    if ('value' in outcome) return outcome.value
    // The race turns a bare AbortError of the clock's into what a cancelled call rejects with.
    await raced(clock.sleep(outcome.retryInMs, signal), signal)
  }
}

async function once<T>(attempt: () => Promise<T>, number: number, persistence: Persistence): Promise<Outcome<T>> {
  const { clock, rules, signal, permit, onRetry, onPause } = persistence
  using held = await permit()
  try {
    const value = await attempt()
    held.answered()
    return { value }
  } catch (error) {
    throwIfAborted(signal)
    if (error instanceof SyncError && isStrain(error)) held.strained()
    if (!(error instanceof SyncError) || hasHadItsAttempts(error)) throw error
    const retryInMs = delayMsAfter(error, number, { rules, random: () => clock.random() })
    if (pausesAll(error)) onPause(error, retryInMs)
    if (retryInMs > rules.retryAfterMsMax && error.retry !== 'never')
      throw afterTooLongWait(error, number, { waitMs: retryInMs, now: clock.now() })
    if (isFinal(error, number, rules)) throw afterAttempts(error, number)
    onRetry(error, number, retryInMs)
    return { retryInMs }
  }
}

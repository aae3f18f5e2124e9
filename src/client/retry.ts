/** Decides whether and when a request is sent again. Each request can be repeated: it reads rows or gets a token. */
import type { Clock } from '../clock.ts'
import { assert, SyncError } from '../errors.ts'
import { raced, throwIfAborted } from './cancellation.ts'
import { type LongPause, pauseEnd, type Permit } from './limiter.ts'
import type { ClientLimits } from './limits.ts'

const isFinal = (error: SyncError, attempt: number, rules: ClientLimits): boolean =>
  error.retry === 'never' || error.code === 'CANCELLED' || error.code === 'UNEXPECTED' || attempt >= rules.attemptsMax

export const isThrottled = (error: SyncError): boolean =>
  error.code === 'RATE_LIMITED' || error.code === 'TOKEN_RATE_LIMITED'

const pausesAll = (error: SyncError): boolean => isThrottled(error) || retryAfterMsOf(error) !== undefined

const retryAfterMsOf = ({ data: { retryAfterMs } }: SyncError): number | undefined =>
  typeof retryAfterMs === 'number' ? retryAfterMs : undefined

const isOverload = (error: SyncError): boolean =>
  isThrottled(error) || error.code === 'SERVICE_UNAVAILABLE' || error.code === 'SERVICE_TIMEOUT'

/** Returns how long (ms) to wait after an attempt. This is the Retry-After, within limits, or else the backoff. */
export function delayMsAfter(
  error: SyncError,
  attempt: number,
  { rules, random }: { rules: ClientLimits; random: () => number },
): number {
  const requestedMs = retryAfterMsOf(error)
  if (requestedMs === undefined) return backoffMs(attempt, rules, random)
  // The lower bound prevents a tight loop after `Retry-After: 0`.
  return Math.min(Math.max(requestedMs, rules.retryDelayMsMin), rules.pauseMsMax)
}

/** Returns a random delay between zero and a bound that doubles with each attempt (exponential backoff). */
export function backoffMs(attempt: number, rules: ClientLimits, random: () => number): number {
  return random() * Math.min(rules.retryDelayMsMax, rules.retryDelayMsMin * 2 ** (attempt - 1))
}

function afterAttempts(error: SyncError, attempts: number): SyncError {
  if (error.retry === 'never' || error.code === 'CANCELLED') return error
  return extend(error, attempts === 1 ? '' : ` (${attempts} attempts)`, { attempts })
}

function afterLongPause(error: SyncError, attempts: number, pause: LongPause): SyncError {
  const hint = `; the next request is not before ${pauseEnd(pause)}`
  return extend(error, hint, { attempts, retryAfterMs: pause.waitMs })
}

function extend({ code, message, cure, data, cause, report }: SyncError, addition: string, more: object): SyncError {
  return new SyncError(code, message + addition, { cure, data: { ...data, ...more }, cause, report })
}

const wasRetried = (error: SyncError): boolean => 'attempts' in error.data

export interface RetryOptions {
  clock: Clock
  rules: ClientLimits
  signal: AbortSignal
  /** Waits for a permit. The permit is released after `onPause`, so that no request is sent before the pause begins. */
  permit: () => Promise<Permit>
  /** Called for each pause that the service requests, even after the last attempt. */
  onPause: (failed: SyncError, pauseMs: number) => void
  onRetry: (failed: SyncError, attempt: number, delayMs: number) => void
}

type AttemptResult<T> = { value: T } | { retryInMs: number }

/** Calls `attempt` at most `attemptsMax` times. An error that is no SyncError is a defect, and is thrown at once. */
export async function withRetries<T>(attempt: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { clock, rules, signal } = options
  for (let number = 1; ; number += 1) {
    assert(number <= rules.attemptsMax, 'a request was repeated more often than allowed')
    const result = await tryOnce(attempt, number, options)
    if ('value' in result) return result.value
    // `raced` rejects with the signal's reason; `sleep` alone would reject with an AbortError.
    await raced(clock.sleep(result.retryInMs, signal), signal)
  }
}

async function tryOnce<T>(attempt: () => Promise<T>, number: number, options: RetryOptions): Promise<AttemptResult<T>> {
  const { clock, rules, signal, permit, onRetry, onPause } = options
  using permitted = await permit()
  try {
    const value = await attempt()
    permitted.succeeded()
    return { value }
  } catch (error) {
    throwIfAborted(signal)
    if (error instanceof SyncError && isOverload(error)) permitted.overloaded()
    if (!(error instanceof SyncError) || wasRetried(error)) throw error
    const retryInMs = delayMsAfter(error, number, { rules, random: () => clock.random() })
    if (pausesAll(error)) onPause(error, retryInMs)
    if (retryInMs > rules.retryAfterMsMax && error.retry !== 'never')
      throw afterLongPause(error, number, { waitMs: retryInMs, now: clock.now() })
    if (isFinal(error, number, rules)) throw afterAttempts(error, number)
    onRetry(error, number, retryInMs)
    return { retryInMs }
  }
}

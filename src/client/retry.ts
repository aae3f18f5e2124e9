/** Repeats failed requests, which is safe because requests change nothing. */
import type { Clock } from '../clock.ts'
import { SyncError } from '../errors.ts'
import { raced, throwIfAborted } from './cancellation.ts'
import { pauseEnd, type Permit } from './limiter.ts'
import type { ClientLimits } from './limits.ts'

export const isThrottled = (error: SyncError): boolean =>
  error.code === 'RATE_LIMITED' || error.code === 'TOKEN_RATE_LIMITED'

const isOverload = (error: SyncError): boolean =>
  isThrottled(error) || error.code === 'SERVICE_UNAVAILABLE' || error.code === 'SERVICE_TIMEOUT'

const retryAfterMsOf = ({ data: { retryAfterMs } }: SyncError): number | undefined =>
  typeof retryAfterMs === 'number' ? retryAfterMs : undefined

export interface RetryOptions {
  clock: Pick<Clock, 'now' | 'random' | 'sleep'>
  rules: ClientLimits
  signal: AbortSignal
  /** Waits for a permit, which is released after `onPause`, so that the pause delays the next request. */
  permit?: (() => Promise<Permit>) | undefined
  /** Called after a rate limit or a response with Retry-After, even if it was the last attempt. */
  onPause: (failed: SyncError, pauseMs: number) => void
  onRetry: (failed: SyncError, attempt: number, delayMs: number) => void
}

export async function withRetries<T>(attempt: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { clock, signal, permit } = options
  for (let number = 1; ; number += 1) {
    let delayMs: number
    {
      using permitted = await permit?.()
      try {
        const value = await attempt()
        permitted?.succeeded()
        return value
      } catch (error) {
        throwIfAborted(signal)
        if (!(error instanceof SyncError)) throw error
        if (isOverload(error)) permitted?.overloaded()
        if ('attempts' in error.data) throw error
        delayMs = delayOrThrow(error, number, options)
      }
    }
    // `raced` throws the reason of the signal. The sleep alone would throw an AbortError.
    await raced(clock.sleep(delayMs, signal), signal)
  }
}

function delayOrThrow(error: SyncError, attempts: number, options: RetryOptions): number {
  const { clock, rules, onRetry, onPause } = options
  const delayMs = delayMsAfter(error, attempts, options)
  if (isThrottled(error) || retryAfterMsOf(error) !== undefined) onPause(error, delayMs)
  if (error.retry === 'never' || error.code === 'CANCELLED') throw error
  if (delayMs > rules.retryAfterMsMax) {
    const hint = `; the next request is not before ${pauseEnd(delayMs, clock)}`
    throw extend(error, hint, { attempts, retryAfterMs: delayMs })
  }
  if (error.code === 'UNEXPECTED' || attempts >= rules.attemptsMax)
    throw extend(error, attempts === 1 ? '' : ` (${attempts} attempts)`, { attempts })
  onRetry(error, attempts, delayMs)
  return delayMs
}

type Backoff = { rules: ClientLimits; clock: Pick<Clock, 'random'> }

/** Returns the delay that the service requested, or a random delay, in milliseconds. */
export function delayMsAfter(error: SyncError, attempt: number, { rules, clock }: Backoff): number {
  const { retryDelayMsMin, retryDelayMsMax, pauseMsMax } = rules
  const requestedMs = retryAfterMsOf(error)
  // The lower bound prevents a tight loop after `Retry-After: 0`.
  if (requestedMs !== undefined) return Math.min(Math.max(requestedMs, retryDelayMsMin), pauseMsMax)
  return clock.random() * Math.min(retryDelayMsMax, retryDelayMsMin * 2 ** (attempt - 1))
}

function extend({ code, message, cure, data, cause, report }: SyncError, addition: string, more: object): SyncError {
  return new SyncError(code, message + addition, { cure, data: { ...data, ...more }, cause, report })
}

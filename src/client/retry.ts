/**
 * Whether and when a failed request is sent again; pure, so that every bound can be tested. Each of our requests is a
 * POST, and each is safe to repeat: the reporting interface is read-only (spec §1), and a token request only issues
 * one more token.
 */
import { SyncError } from '../errors.ts'
import { formatInstant, type Instant, plusMs } from '../instant.ts'
import type { ClientLimits } from './limits.ts'

export type RetryRules = Pick<
  ClientLimits,
  'attemptsMax' | 'retryDelayMsMin' | 'retryDelayMsMax' | 'retryAfterMsMax' | 'pauseMsMax'
>

/** Nothing that happens later by itself can mend it, or it was tried often enough. */
export const isFinal = (error: SyncError, attempt: number, rules: RetryRules): boolean =>
  error.retry === 'never' || error.code === 'CANCELLED' || error.code === 'UNEXPECTED' || attempt >= rules.attemptsMax

/** 429 is about this client, not about one request: everything it sends waits. */
export const isThrottled = (error: SyncError): boolean =>
  error.code === 'RATE_LIMITED' || error.code === 'TOKEN_RATE_LIMITED'

/** Whoever says how long to wait, a 503 too, says it to everybody who would ask (product contract, promise 9). */
export const pausesAll = (error: SyncError): boolean => isThrottled(error) || askedToWaitMs(error) !== undefined

const askedToWaitMs = ({ data: { retryAfterMs } }: SyncError): number | undefined =>
  typeof retryAfterMs === 'number' ? retryAfterMs : undefined

/** The service has more to do than it can: fewer requests at once are what helps. */
export const isStrain = (error: SyncError): boolean =>
  isThrottled(error) || error.code === 'SERVICE_UNAVAILABLE' || error.code === 'SERVICE_TIMEOUT'

/**
 * How long to wait after attempt number `attempt`: as long as the service asked for, within limits, else the backoff.
 */
export function delayMsAfter(
  error: SyncError,
  attempt: number,
  { rules, random }: { rules: RetryRules; random: () => number },
): number {
  const asked = askedToWaitMs(error)
  if (asked === undefined) return backoffMs(attempt, rules, random)
  // The lower bound keeps `Retry-After: 0` from becoming a tight loop.
  return Math.min(Math.max(asked, rules.retryDelayMsMin), rules.pauseMsMax)
}

/** Exponential backoff with full jitter: uniform between zero and a bound that doubles, so that clients spread out. */
export function backoffMs(attempt: number, rules: RetryRules, random: () => number): number {
  return random() * Math.min(rules.retryDelayMsMax, rules.retryDelayMsMin * 2 ** (attempt - 1))
}

/** The same error, saying how often it was tried; one that no repetition mends stays as it is. */
export function afterAttempts(error: SyncError, attempts: number): SyncError {
  if (error.retry === 'never' || error.code === 'CANCELLED') return error
  const message = attempts === 1 ? error.message : `${error.message} (${attempts} attempts)`
  return new SyncError(error.code, message, {
    cure: error.cure,
    data: { ...error.data, attempts },
    cause: error.cause,
    ...(error.report === undefined ? {} : { report: error.report }),
  })
}

/** What a request fails with whose repetition the service wants later than a run can wait for. */
export function afterTooLongWait(error: SyncError, attempts: number, { waitMs, now }: Wait): SyncError {
  const { code, message, cure, data, cause, report } = error
  return new SyncError(code, `${message}; it is to be asked not before ${shownTime(plusMs(now, waitMs))}`, {
    cure,
    data: { ...data, attempts, retryAfterMs: waitMs },
    cause,
    ...(report === undefined ? {} : { report }),
  })
}

/** What whoever would ask in a pause that is longer than a run can wait for is told instead. */
export const inLongPause = ({ waitMs, now }: Wait): SyncError =>
  new SyncError('RATE_LIMITED', `the service is to be asked not before ${shownTime(plusMs(now, waitMs))}, as it said`, {
    cure: 'Wait: runs go on by themselves after that. The owner of the service knows why it asks for so long a pause.',
    data: { retryAfterMs: waitMs },
  })

interface Wait {
  readonly waitMs: number
  readonly now: Instant
}

const shownTime = (instant: Instant): string => `${formatInstant(instant).slice(0, 19)}Z`

/** A token request has its own attempts within one of a report's; they are not multiplied. */
export const hasHadItsAttempts = (error: SyncError): boolean => 'attempts' in error.data

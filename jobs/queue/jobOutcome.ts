/** Decides what the queue does with a job that failed: retry, wait, give up or drop. */
import { DelayedError, type Job, UnrecoverableError, WaitingError } from 'bullmq'
import type { Clock } from '../../src/clock.ts'
import { asSyncError, type ErrorCode, errorCodes, SyncError } from '../../src/errors.ts'
import { MINUTE_MS, toMillis } from '../../src/instant.ts'

export const STOPPING = 'the worker stops'
export const OVERTAKEN = 'a newer job of the same report took over'
export const CANCELLED_ON_REQUEST = 'cancelled on request'

export type Verdict = 'hand back' | 'drop' | 'wait' | 'give up' | 'try again'

export function verdictOf(error: SyncError, abortReason?: string, waitsFor: readonly ErrorCode[] = []): Verdict {
  if (abortReason === STOPPING) return 'hand back'
  if (abortReason === CANCELLED_ON_REQUEST) return 'give up'
  // A newer run has replaced this run, or another process has taken over its job, and completes the work.
  if (abortReason !== undefined || error.code === 'FENCED') return 'drop'
  if (waitsFor.includes(error.code)) return 'wait'
  return error.retry === 'never' ? 'give up' : 'try again'
}

/** Returns whether the error ended this run because another run does its work. */
export const isDropped = (error: SyncError | undefined, signal: AbortSignal): boolean =>
  error !== undefined && verdictOf(error, signal.aborted ? asSyncError(signal.reason).message : undefined) === 'drop'

export interface JobAttempt {
  readonly job: Job
  readonly token: string | undefined
  readonly abortReason: () => string | undefined
  readonly waitsFor?: readonly ErrorCode[] | undefined
  readonly clock: Pick<Clock, 'now'>
}

const WAITING_RETRY_MS = 5 * MINUTE_MS

export async function settleJob<T>(attempt: JobAttempt, work: () => Promise<T>): Promise<T | { dropped: string }> {
  try {
    return await work()
  } catch (thrown) {
    const error = asSyncError(thrown)
    const verdict = verdictOf(error, attempt.abortReason(), attempt.waitsFor)
    if (verdict === 'drop') return { dropped: attempt.abortReason() ?? error.code }
    if (verdict === 'hand back') {
      await attempt.job.moveToWait(attempt.token)
      throw new WaitingError()
    }
    if (verdict === 'wait') {
      await attempt.job.moveToDelayed(toMillis(attempt.clock.now()) + WAITING_RETRY_MS, attempt.token)
      throw new DelayedError()
    }
    if (verdict === 'try again' && !isLastTry(attempt.job)) throw error
    throw new UnrecoverableError(`${error.code}: ${error.message}`)
  }
}

const isLastTry = ({ attemptsMade, opts }: Job): boolean => attemptsMade + 1 >= (opts.attempts ?? 1)

/** Converts a stored reason, such as `CANCELLED: …`, back to an error. */
export function errorOfReason(reason: string): SyncError {
  const [, code, message] = /^([A-Z_]+): (.*)$/s.exec(reason) ?? []
  const known = errorCodes.find((each) => each === code)
  return new SyncError(known ?? 'UNEXPECTED', message ?? reason, { cure: 'Read the log of the worker of this job.' })
}

const DELAY_MS_MIN = 2_000
const DELAY_MS_MAX = 5 * MINUTE_MS

/** Returns the delay before the next try: random up to a bound that doubles with each try, or Retry-After if longer. */
export function retryDelayMs(tries: number, error: Error | undefined, random: () => number): number {
  const full = Math.min(DELAY_MS_MAX, DELAY_MS_MIN * 2 ** (tries - 1))
  const requestedMs = error instanceof SyncError ? error.data['retryAfterMs'] : undefined
  return Math.round(Math.max(full * (0.5 + random() / 2), typeof requestedMs === 'number' ? requestedMs : 0))
}

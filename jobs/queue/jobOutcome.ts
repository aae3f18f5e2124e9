/**
 * The one place that turns an error into a job's outcome; processors contain no `catch`. What may work later is tried
 * again with growing waits; what never will is given up at once; what was called off because the worker stops goes back
 * into the queue without using a try, and so does what waits for an operator; what a newer run has overtaken is dropped.
 */
import { DelayedError, type Job, UnrecoverableError, WaitingError } from 'bullmq'
import type { Clock } from '../../src/clock.ts'
import { asSyncError, type ErrorCode, errorCodes, SyncError } from '../../src/errors.ts'
import { MINUTE_MS, toMillis } from '../../src/instant.ts'

/** Why a job's signal was aborted: each has its own outcome. */
export const STOPPING = 'the worker stops'
export const OVERTAKEN = 'a newer job of the same report took over'
export const CALLED_OFF = 'called off on request'

export type Verdict = 'hand back' | 'drop' | 'wait' | 'give up' | 'try again'

/** `calledOff`: why the job was called off, if it was; `waitsFor`: errors after which it keeps its place. */
export function verdictOf(
  error: SyncError,
  calledOff: string | undefined,
  waitsFor: readonly ErrorCode[] = [],
): Verdict {
  if (calledOff === STOPPING) return 'hand back'
  if (calledOff === CALLED_OFF) return 'give up'
  // Overtaken or without its lock: somebody else has the work already.
  if (calledOff !== undefined || error.code === 'FENCED') return 'drop'
  if (waitsFor.includes(error.code)) return 'wait'
  return error.retry === 'never' ? 'give up' : 'try again'
}

/** The work of such a run is somebody else's, or comes again: who waits for it is to hear of that run, not of this one. */
export const isDropped = (error: SyncError | undefined, signal: AbortSignal): boolean =>
  error !== undefined && verdictOf(error, signal.aborted ? asSyncError(signal.reason).message : undefined) === 'drop'

export interface Taken {
  readonly job: Job
  readonly token: string | undefined
  /** Why it was called off, once it was. */
  readonly calledOff: () => string | undefined
  /** Somebody has to act before it can go on: it waits for that, however long it takes. */
  readonly waitsFor?: readonly ErrorCode[] | undefined
  readonly clock: Pick<Clock, 'now'>
}

/** Who acts lets it begin at once; this is for what nobody told the queue, such as other scopes in the configuration. */
const LOOK_AGAIN_MS = 5 * MINUTE_MS

/** Does the work and settles what becomes of the job when it fails. */
export async function settled<T>(taken: Taken, work: () => Promise<T>): Promise<T | { dropped: string }> {
  try {
    return await work()
  } catch (thrown) {
    const error = asSyncError(thrown)
    const verdict = verdictOf(error, taken.calledOff(), taken.waitsFor)
    if (verdict === 'drop') return { dropped: taken.calledOff() ?? error.code }
    if (verdict === 'hand back') {
      await taken.job.moveToWait(taken.token)
      throw new WaitingError()
    }
    if (verdict === 'wait') {
      await taken.job.moveToDelayed(toMillis(taken.clock.now()) + LOOK_AGAIN_MS, taken.token)
      throw new DelayedError()
    }
    if (verdict === 'try again' && !isLastTry(taken.job)) throw error
    throw new UnrecoverableError(`${error.code}: ${error.message}`)
  }
}

const isLastTry = ({ attemptsMade, opts }: Job): boolean => attemptsMade + 1 >= (opts.attempts ?? 1)

/** The error that a job of another process was given up with, as far as its words tell. */
export function errorOfReason(reason: string): SyncError {
  const [, code, message] = /^([A-Z_]+): (.*)$/s.exec(reason) ?? []
  const known = errorCodes.find((each) => each === code)
  return new SyncError(known ?? 'UNEXPECTED', message ?? reason, {
    cure: 'The log of the worker that did it says more.',
  })
}

const DELAY_MS_MIN = 2_000
const DELAY_MS_MAX = 5 * MINUTE_MS

/**
 * Before the next try: 2 s doubling to 5 min, between half of that and all of it; what the service asked for, if it is
 * longer.
 */
export function retryDelayMs(tries: number, error: Error | undefined, random: () => number): number {
  const full = Math.min(DELAY_MS_MAX, DELAY_MS_MIN * 2 ** (tries - 1))
  const asked = error instanceof SyncError ? error.data['retryAfterMs'] : undefined
  return Math.round(Math.max(full * (0.5 + random() / 2), typeof asked === 'number' ? asked : 0))
}

/** What a signal carries that is aborted with one of the reasons above. */
export const calledOffError = (why: string): SyncError =>
  new SyncError('CANCELLED', why, { cure: 'Start it again; it goes on where it stopped.' })

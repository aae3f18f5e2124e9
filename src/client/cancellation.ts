/**
 * Cancellation by hand: a signal that follows several others and is released from them afterwards
 * (`AbortSignal.any` stays attached to long-lived signals), and a race that no stream can hold up.
 */
import { SyncError } from '../errors.ts'

export interface LinkedSignal extends Disposable {
  readonly signal: AbortSignal
  abort(reason: unknown): void
}

/** A signal that aborts as soon as one of its parents does; disposing it lets go of the parents. */
export function linkedSignal(parents: readonly (AbortSignal | undefined)[]): LinkedSignal {
  const controller = new AbortController()
  const followed = parents.filter((parent) => parent !== undefined)
  const releases = followed.map((parent) => onAbort(parent, () => controller.abort(parent.reason)))
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    [Symbol.dispose]: () => releases.forEach((release) => release()),
  }
}

/** Settles as `work` does, or rejects at the abort, whether or not `work` ever ends. */
export async function raced<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  // Whatever the loser does later is of no interest, and must not count as an unhandled rejection.
  work.catch(() => undefined)
  const aborted = Promise.withResolvers<never>()
  const release = onAbort(signal, () => aborted.reject(reasonOf(signal)))
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    release()
  }
}

/** Throws what an abort stands for; does nothing while there is none. */
export function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw reasonOf(signal)
}

/**
 * What a cancelled call rejects with: the reason itself where somebody chose an error, else CANCELLED. The reasons that
 * the platform makes up (AbortError, TimeoutError) are DOMExceptions and say nothing to a caller.
 */
export function reasonOf(signal: AbortSignal): Error {
  const reason: unknown = signal.reason
  if (reason instanceof Error && !(reason instanceof DOMException)) return reason
  return cancelled('stopped on request')
}

export function cancelled(message: string): SyncError {
  return new SyncError('CANCELLED', message, { cure: 'Start it again; it goes on where it stopped.' })
}

function onAbort(signal: AbortSignal, action: () => void): () => void {
  if (signal.aborted) action()
  else signal.addEventListener('abort', action, { once: true })
  return () => signal.removeEventListener('abort', action)
}

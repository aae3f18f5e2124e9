/** Cancels calls. Does not use `AbortSignal.any`, whose signals stay attached to a long-lived parent after the call. */
import { cancelled } from '../errors.ts'
import { onAbort } from '../signals.ts'

interface LinkedSignal extends Disposable {
  readonly signal: AbortSignal
  abort(reason: unknown): void
}

/** Returns a signal that aborts as soon as a parent aborts. */
export function linkedSignal(parents: readonly (AbortSignal | undefined)[]): LinkedSignal {
  const controller = new AbortController()
  const followed = parents.filter((parent) => parent !== undefined)
  const links = followed.map((parent) => onAbort(parent, () => controller.abort(parent.reason)))
  return {
    signal: controller.signal,
    abort: (reason: unknown) => controller.abort(reason),
    [Symbol.dispose]: () => links.forEach((link) => link[Symbol.dispose]()),
  }
}

/** Rejects as soon as the signal aborts, even if `work` never settles. */
export async function raced<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  // Otherwise Node would report a later rejection of `work` as unhandled.
  work.catch(() => undefined)
  const aborted = Promise.withResolvers<never>()
  using _ = onAbort(signal, () => aborted.reject(reasonOf(signal)))
  return await Promise.race([work, aborted.promise])
}

export function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw reasonOf(signal)
}

/** Returns the signal's reason, or the error CANCELLED instead of a DOMException. */
export function reasonOf(signal: AbortSignal): Error {
  const reason: unknown = signal.reason
  if (reason instanceof Error && !(reason instanceof DOMException)) return reason
  return cancelled('stopped on request')
}

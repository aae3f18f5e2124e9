/** Listens to AbortSignals without leaving listeners behind on long-lived signals. */

/** Calls `action` when the signal aborts, or at once if the signal has already aborted. */
export function onAbort(signal: AbortSignal, action: () => void): Disposable {
  if (signal.aborted) action()
  else signal.addEventListener('abort', action, { once: true })
  return { [Symbol.dispose]: () => signal.removeEventListener('abort', action) }
}

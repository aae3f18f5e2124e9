/** Listens to AbortSignals without leaving listeners on signals that live long. */

/** Calls `action` when the signal aborts, or now if it is aborted. Disposing the result removes the listener. */
export function onAbort(signal: AbortSignal, action: () => void): Disposable {
  if (signal.aborted) action()
  else signal.addEventListener('abort', action, { once: true })
  return { [Symbol.dispose]: () => signal.removeEventListener('abort', action) }
}

/** Receives the active runs as server-sent events. Reconnects after errors. */
import { after } from './clock.js'

/** @typedef {{ begun: number, running: readonly import('../api/schemas.ts').RunningRun[] }} LiveState */

const RECONNECT_MS = 5_000

/**
 * `hasChanged` is true if a run has begun or ended since the last event.
 * @param {{ onState: (state: LiveState, hasChanged: boolean) => void, onConnection: (isConnected: boolean) => void }} listener
 */
export function watchLive({ onState, onConnection }) {
  /** @type {EventSource | undefined} */
  let source
  /** @type {(() => void) | undefined} */
  let cancelReconnect
  let runs = '0'
  const watch = () => {
    cancelReconnect?.()
    source?.close()
    // A hidden window closes its stream, because browsers open at most six connections to a host.
    source = document.hidden ? undefined : new EventSource('/api/live')
    source?.addEventListener('open', () => onConnection(true))
    source?.addEventListener('error', ({ target }) => {
      onConnection(false)
      // The browser reconnects by itself after a lost connection, but not after an error response.
      if (target === source && source?.readyState === EventSource.CLOSED) cancelReconnect = after(RECONNECT_MS, watch)
    })
    source?.addEventListener('message', ({ data }) => {
      const before = runs
      const state = /** @type {LiveState} */ (JSON.parse(data))
      runs = [state.begun, ...state.running.map(({ run_id: id }) => id)].join(' ')
      onState(state, runs !== before)
    })
  }
  document.addEventListener('visibilitychange', watch)
  watch()
}

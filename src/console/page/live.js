/** What runs, as the worker tells it while it happens; the page comes back by itself when the worker was away. */
import { after } from './clock.js'

/** @typedef {import('../api/shapes.ts').RunningRun} RunningRun */
/** @typedef {{ begun: number, running: RunningRun[] }} LiveState */

const AGAIN_MS = 5_000

/** @type {LiveState} */
let state = { begun: 0, running: [] }

export const liveNow = () => state

/**
 * @param {{ onState: (hasChanged: boolean) => void, onConnection: (isThere: boolean) => void }} listener
 */
export function watchLive({ onState, onConnection }) {
  /** @type {EventSource | undefined} */
  let source
  /** @type {(() => void) | undefined} */
  let callOff
  const watch = () => {
    callOff?.()
    source?.close()
    // A browser opens six connections to one address: six pages that listen behind others would leave none to ask with.
    source = document.hidden ? undefined : new EventSource('/api/live')
    source?.addEventListener('open', () => onConnection(true))
    source?.addEventListener('error', ({ target }) => {
      onConnection(false)
      // A browser tries again by itself where the connection broke, never where the answer was an error.
      if (target === source && source?.readyState === EventSource.CLOSED) callOff = after(AGAIN_MS, watch)
    })
    source?.addEventListener('message', ({ data }) => {
      const before = namesOf(state)
      state = JSON.parse(data)
      onState(namesOf(state) !== before)
    })
  }
  document.addEventListener('visibilitychange', watch)
  watch()
}

/** Changes when a run begins or ends, not while it goes on. @param {LiveState} now */
const namesOf = ({ begun, running }) => [begun, ...running.map(({ run_id: id }) => id)].join(' ')

/** The state of the page. `change` draws the page again after each change. */
import { placeNow } from './place.js'

/** @typedef {import('./html.js').Content} Content */
/** @typedef {import('./live.js').LiveState} LiveState */
/** @typedef {{ text: string, tone: 'good' | 'bad' }} Notice */
/** @typedef {{ title: string, text: string, yes: string }} Question */

export const state = {
  place: placeNow(),
  /** Draws the current view. It is undefined before the first response. @type {(() => Content) | undefined} */
  drawView: undefined,
  live: /** @type {LiveState} */ ({ begun: 0, running: [] }),
  isConnected: true,
  notices: /** @type {readonly Notice[]} */ ([]),
  /** If `mayAct` is false, the page shows no buttons that start actions. */
  mayAct: true,
  question: /** @type {Question | undefined} */ (undefined),
  /** The names of all reports are loaded once, before the first view. @type {readonly string[]} */
  reportNames: [],
}

/** @type {() => void} */
let draw = () => {}

/** @param {() => void} listener */
export function onChange(listener) {
  draw = listener
}

/** @param {Partial<typeof state>} changed */
export function change(changed) {
  Object.assign(state, changed)
  draw()
}

/** What the page shows now. Every change goes through `change`, which draws the page again. */
import { placeNow } from './place.js'

/** @typedef {import('./html.js').Content} Content */
/** @typedef {import('./live.js').LiveState} LiveState */
/** @typedef {{ text: string, tone: 'good' | 'bad' }} Notice */
/** @typedef {{ title: string, text: string, yes: string }} Question */

export const state = {
  place: placeNow(),
  /** Draws the view from the answers that arrived last; undefined until the first answer. @type {(() => Content) | undefined} */
  drawView: undefined,
  live: /** @type {LiveState} */ ({ begun: 0, running: [] }),
  isConnected: true,
  notices: /** @type {readonly Notice[]} */ ([]),
  question: /** @type {Question | undefined} */ (undefined),
  /** All reports of the configuration; read once, before the first view is drawn. @type {readonly string[]} */
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

/** The page's state. `change` sets some of its values and redraws the page. */

/** @typedef {import('./html.js').Content} Content */
/** @typedef {{ text: string, tone: 'good' | 'bad' }} Notice */
/** @typedef {{ title: string, text: string, yes: string }} Question */
/** @typedef {{ view: string, name: string, query: URLSearchParams }} Place */

/** Reads the current view from the URL. Example: `#/runs/ID?state=failed`. @returns {Place} */
export function placeNow() {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?')
  const [view = '', name = ''] = path.split('/')
  return { view, name, query: new URLSearchParams(query) }
}

export const state = {
  place: placeNow(),
  /** Undefined until the first response arrives. @type {(() => Content) | undefined} */
  drawView: undefined,
  live: /** @type {import('./live.js').LiveState} */ ({ begun: 0, running: [] }),
  isConnected: true,
  notices: /** @type {readonly Notice[]} */ ([]),
  mayAct: true,
  question: /** @type {Question | undefined} */ (undefined),
  /** @type {readonly string[]} */
  reportNames: [],
}

/** @param {Partial<typeof state>} changed */
export function change(changed) {
  Object.assign(state, changed)
  dispatchEvent(new Event('draw'))
}

export const reload = () => dispatchEvent(new Event('reload'))

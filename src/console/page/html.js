/** Preact elements in HTML syntax (htm). Values become text or attributes, so that no response can inject markup. */
import htm from './libraries/htm.js'
import { Component, createRef, Fragment, h, render } from './libraries/preact.js'

/** @typedef {import('preact').ComponentChildren} Content */

export { Component, createRef, Fragment, h, render }

/** @type {(strings: TemplateStringsArray, ...values: unknown[]) => import('preact').VNode} */
export const html = /** @type {never} */ (htm.bind(h))

/** @param {string} id */
export function byId(id) {
  const found = document.getElementById(id)
  if (found === null) throw new TypeError(`the page has no #${id}`)
  return found
}

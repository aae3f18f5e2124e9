/** Fields that filter by report or state. Filters are part of the page's address, so that links can be shared. */
import { wordFor } from './format.js'
import { html } from './html.js'
import { placeNow } from './place.js'
import { state } from './state.js'

/** @typedef {import('./place.js').Place} Place */

/** @param {Place} place @param {readonly string[]} [states] */
export const filters = ({ view, query }, states) => html`
  <div class="grid filters">
    ${select({ id: 'filter-report', label: 'Report', all: 'all reports', names: state.reportNames, chosen: query.get('report') }, choose(view, 'report'))}
    ${states && select({ id: 'filter-state', label: 'State', all: 'all states', names: states, chosen: query.get('state') }, choose(view, 'state'))}
  </div>
`

/** @param {string} view @param {string} name */
const choose = (view, name) => (/** @type {Event} */ event) => {
  // Reads the address now, because another filter can have changed it since the view was drawn.
  const { query } = placeNow()
  query.delete('from')
  const { value } = /** @type {HTMLSelectElement} */ (event.target)
  if (value === '') query.delete(name)
  else query.set(name, value)
  location.hash = `#/${view}${query.size === 0 ? '' : `?${query}`}`
}

/**
 * @param {{ id: string, label: string, all?: string, names: readonly string[], chosen: string | null }} field
 * @param {(event: Event) => void} [onChange]
 */
export const select = ({ id, label, all, names, chosen }, onChange) => html`
  <label>
    ${label}
    <select id=${id} name=${id} onChange=${onChange}>
      ${all && html`<option value="">${all}</option>`}
      ${names.map((name) => html`<option key=${name} value=${name} selected=${name === chosen}>${wordFor(name)}</option>`)}
    </select>
  </label>
`

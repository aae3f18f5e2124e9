/** Fields that filter by report or state. The address contains the filters, so that links can be shared. */
import { wordFor } from './format.js'
import { html } from './html.js'
import { placeNow, state } from './state.js'

/** @param {import('./state.js').Place} place @param {readonly string[]} [states] */
export const filters = ({ view, query }, states) => html`
  <div class="grid filters">
    ${select({ name: 'report', label: 'Report', all: 'all reports', names: state.reportNames, chosen: query.get('report') }, choose(view))}
    ${states && select({ name: 'state', label: 'State', all: 'all states', names: states, chosen: query.get('state') }, choose(view))}
  </div>
`

/** @param {string} view */
const choose = (view) => (/** @type {Event} */ event) => {
  // Reads the address again, because another filter may have changed it since the view was drawn.
  const { query } = placeNow()
  query.delete('from')
  const { name, value } = /** @type {HTMLSelectElement} */ (event.target)
  if (value === '') query.delete(name)
  else query.set(name, value)
  location.hash = `#/${view}${query.size === 0 ? '' : `?${query}`}`
}

/**
 * @param {{ name: string, label: string, all?: string, names: readonly string[], chosen: string | null }} field
 * @param {(event: Event) => void} [onChange]
 */
export const select = ({ name, label, all, names, chosen }, onChange) => html`
  <label>
    ${label}
    <select id=${name} name=${name} onChange=${onChange}>
      ${all && html`<option value="">${all}</option>`}
      ${names.map((each) => html`<option key=${each} value=${each} selected=${each === chosen}>${wordFor(each)}</option>`)}
    </select>
  </label>
`

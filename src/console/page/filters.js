/** Choosing a report and a state; the choice is part of the address, so it can be kept and sent. */
import { el } from './dom.js'
import { said } from './format.js'

/** @typedef {{ view: string, name: string, query: URLSearchParams }} Place */

/** Filled once, before the first view is drawn. @type {string[]} */
export const reportNames = []

/** @param {Place} place @param {{ view: string, states: readonly string[] }} parts */
export function filters({ query }, { view, states }) {
  const choose = (/** @type {string} */ name) => (/** @type {Event} */ event) => {
    // The address is ahead of what is drawn: another choice may just have been made.
    const next = new URLSearchParams(location.hash.split('?')[1])
    next.delete('from')
    const { value } = /** @type {HTMLSelectElement} */ (event.target)
    if (value === '') next.delete(name)
    else next.set(name, value)
    location.hash = `#/${view}${next.size === 0 ? '' : `?${next}`}`
  }
  return el(
    'div',
    { class: 'form filters' },
    field(
      'Report',
      select(
        { id: 'filter-report', all: 'all reports', names: reportNames, chosen: query.get('report') },
        choose('report'),
      ),
    ),
    states.length === 0
      ? null
      : field(
          'State',
          select({ id: 'filter-state', all: 'all states', names: states, chosen: query.get('state') }, choose('state')),
        ),
  )
}

/** @param {{ id: string, all?: string, names: readonly string[], chosen: string | null }} parts @param {(event: Event) => void} [onChange] */
export function select({ id, all, names, chosen }, onChange) {
  const options = names.map((name) => el('option', { value: name, selected: name === chosen }, said(name)))
  const first = all === undefined ? null : el('option', { value: '' }, all)
  return el('select', { id, name: id, ...(onChange && { change: onChange }) }, first, ...options)
}

/** @param {string} label @param {HTMLElement} input */
export const field = (label, input) => el('div', {}, el('label', { for: input.id }, label), input)

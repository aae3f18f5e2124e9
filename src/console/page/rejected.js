/** Rows that could not be stored: why, and as they were sent. */
import { retryButton } from './acts.js'
import { read } from './api.js'
import { el } from './dom.js'
import { filters, reportNames } from './filters.js'
import { counted, moment } from './format.js'
import { lead } from './pieces.js'

/** @typedef {import('zod').infer<typeof import('../api/shapes.ts').RejectedRow>} RejectedRow */
/** @typedef {{ total: number, rows: RejectedRow[] }} Rejected */
/** @typedef {import('./filters.js').Place} Place */

const ROWS_A_VIEW = 20

export const title = () => 'Rejected rows'

/** @param {Place} place */
const offsetOf = ({ query }) => Math.max(0, Number(query.get('from') ?? 0) || 0)

/** @param {Place} place @returns {Promise<Rejected>} */
export function load(place) {
  const asked = new URLSearchParams({ limit: String(ROWS_A_VIEW), offset: String(offsetOf(place)) })
  const report = place.query.get('report')
  if (report) asked.set('report', report)
  return read(`/api/rejected?${asked}`)
}

/** Somebody may be choosing while the list is drawn anew. */
export const keeps = 'rejected-list'

/** @param {Rejected} data @param {Place} place */
export const draw = (data, place) => [
  lead(
    'Rejected rows',
    'Each is kept as it was sent; everything else was loaded. Once the cause is mended, load them again.',
  ),
  filters(place, { view: 'rejected', states: [] }),
  el('div', { id: keeps, class: 'section' }, ...drawKept(data, place)),
]

/** @param {Rejected} data @param {Place} place */
export function drawKept({ total, rows }, place) {
  const reports = reportNames.filter((name) => rows.some(({ report }) => report === name))
  return [
    el('p', {}, total === 0 ? 'Every row that came could be stored.' : `${counted(total, 'row')} could not be stored.`),
    total === 0 ? null : el('div', { class: 'actions' }, ...reports.map(retryOf)),
    rows.length === 0 ? null : el('ul', { class: 'card flush rows' }, ...rows.map(rowOf)),
    pager(total, place),
  ]
}

/** @param {string} report */
function retryOf(report) {
  const button = retryButton(report, 'primary')
  button.textContent = `Load those of ${report} again`
  return button
}

/** @param {RejectedRow} row @param {number} n */
const rowOf = ({ report, scope, key, reason, observed_at: at, row, cut }, n) =>
  el(
    'li',
    {},
    el(
      'div',
      { class: 'grow section' },
      el('h2', {}, `${report}${key === null ? '' : ` ${key}`}${scope === '' ? '' : ` (${scope})`}`),
      el('p', { class: 'failure' }, reason),
      el('p', { class: 'faint small' }, at === null ? 'It is not known when it came.' : `Came at ${moment(at)} UTC`),
      el(
        'details',
        // What is unfolded stays so, also where other rows come before it.
        { id: `raw-${[report, scope, key ?? n, at ?? 0].map(encodeURIComponent).join('-')}` },
        el('summary', {}, 'The row as it was sent'),
        el(
          'pre',
          { tabindex: '0', 'aria-label': `The row of ${report} ${key ?? ''} as it was sent` },
          pretty(row, cut),
        ),
      ),
    ),
  )

/** @param {string} row @param {boolean} cut */
function pretty(row, cut) {
  if (cut) return `${row} …\n\n(longer than is shown here; tidemark.rejected_rows has it whole)`
  // Not parsed: a number of many digits must look as it was sent.
  return row.replaceAll(/("(?:[^"\\]|\\.)*")|([{,])/g, (all, text, mark) => (text === undefined ? `${mark}\n  ` : all))
}

/** @param {number} total @param {Place} place */
function pager(total, place) {
  const from = offsetOf(place)
  if (total <= ROWS_A_VIEW) return null
  const to = (/** @type {number} */ offset) => {
    const next = new URLSearchParams(place.query)
    next.set('from', String(offset))
    return `#/rejected?${next}`
  }
  return el(
    'p',
    { class: 'head' },
    from === 0 ? el('span') : el('a', { href: to(Math.max(0, from - ROWS_A_VIEW)) }, 'Newer'),
    el('span', { class: 'faint' }, `${from + 1} to ${Math.min(total, from + ROWS_A_VIEW)} of ${total}`),
    from + ROWS_A_VIEW >= total ? el('span') : el('a', { href: to(from + ROWS_A_VIEW) }, 'Older'),
  )
}

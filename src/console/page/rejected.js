/** Rows that could not be stored: the reason, and the row as the service sent it. */
import { reportButton } from './actions.js'
import { read } from './api.js'
import { lead } from './components.js'
import { filters } from './filters.js'
import { counted, moment } from './format.js'
import { html } from './html.js'
import { state } from './state.js'

/** @typedef {import('zod').infer<typeof import('../api/schemas.ts').RejectedRow>} RejectedRow */
/** @typedef {{ total: number, rows: RejectedRow[] }} Rejected */
/** @typedef {import('./state.js').Place} Place */

const PAGE_ROWS = 20

export const title = () => 'Rejected rows'

/** @param {Place} place */
const offsetOf = ({ query }) => Math.max(0, Number(query.get('from') ?? 0) || 0)

/** @param {Place} place @returns {Promise<Rejected>} */
export function load(place) {
  const filter = new URLSearchParams({ limit: String(PAGE_ROWS), offset: String(offsetOf(place)) })
  const report = place.query.get('report')
  if (report) filter.set('report', report)
  return read(`/api/rejected?${filter}`)
}

/** @param {Rejected} data @param {Place} place */
export function draw({ total, rows }, place) {
  const reports = state.reportNames.filter((name) => rows.some(({ report }) => report === name))
  return [
    lead(
      'Rejected rows',
      'Each row is kept as the service sent it; all other rows were loaded. Load them again once the cause is fixed, or dismiss them.',
    ),
    filters(place),
    html`<p>${total === 0 ? 'Every row that came could be stored.' : `${counted(total, 'row')} could not be stored.`}</p>`,
    total > 0 &&
      html`
        <div class="row">
          ${reports.map((report) => reportButton('rejected/retry', `Load those of ${report} again`)(report, ''))}
          ${reports.map((report) => reportButton('rejected/dismiss', `Dismiss those of ${report}`)(report))}
        </div>
      `,
    rows.length > 0 && rows.map(rejectedRow),
    total > PAGE_ROWS && pager(total, place),
  ]
}

/** @param {RejectedRow} row @param {number} n */
const rejectedRow = ({ report, scope, key, reason, observed_at: at, row, cut }, n) => html`
  <article key=${[report, scope, key ?? n, at].join(' ')}>
    <h2>${report} ${key} ${scope && `(${scope})`}</h2>
    <p class="failure">${reason}</p>
    <p><small>${at === null ? 'The time of arrival is unknown.' : `Arrived at ${moment(at)} UTC`}</small></p>
    <details>
      <summary>The row as it was sent</summary>
      <pre tabindex="0" aria-label="The row of ${report} ${key ?? ''} as it was sent"><code>${pretty(row, cut)}</code></pre>
    </details>
  </article>
`

/** Adds line breaks without parsing the JSON, so long numbers stay exact. @param {string} row @param {boolean} cut */
function pretty(row, cut) {
  if (cut) return `${row} …\n\n(cut here; tidemark.rejected_rows contains the whole row)`
  return row.replaceAll(/("(?:[^"\\]|\\.)*")|([{,])/g, (all, text, mark) => (text === undefined ? `${mark}\n  ` : all))
}

/** @param {number} total @param {Place} place */
function pager(total, place) {
  const from = offsetOf(place)
  const link = (/** @type {string} */ name, /** @type {number} */ offset) => {
    const query = new URLSearchParams(place.query)
    query.set('from', String(offset))
    return html`<a href="#/rejected?${query}">${name}</a>`
  }
  return html`
    <div class="row spread">
      ${from === 0 ? html`<span></span>` : link('Newer', Math.max(0, from - PAGE_ROWS))}
      <span class="faint">${from + 1} to ${Math.min(total, from + PAGE_ROWS)} of ${total}</span>
      ${from + PAGE_ROWS >= total ? html`<span></span>` : link('Older', from + PAGE_ROWS)}
    </div>
  `
}

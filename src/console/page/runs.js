/** All runs, newest first, by report and state. */
import { read } from './api.js'
import { el } from './dom.js'
import { duration, grouped, moment, said } from './format.js'
import { lead, pill, table } from './pieces.js'
import { filters } from './filters.js'

/** @typedef {import('../api/shapes.ts').Run} Run */
/** @typedef {import('./filters.js').Place} Place */

export const title = () => 'Runs'

/** @param {Place} place @returns {Promise<{ runs: Run[] }>} */
export const load = ({ query }) => {
  const asked = new URLSearchParams({ limit: '100' })
  for (const name of ['report', 'state']) if (query.get(name)) asked.set(name, query.get(name) ?? '')
  return read(`/api/runs?${asked}`)
}

/** Somebody may be choosing while the list is drawn anew. */
export const keeps = 'run-list'

/** @param {{ runs: Run[] }} data @param {Place} place */
export const draw = (data, place) => [
  lead('Runs', 'Each execution for one report, with what came of it. Open one to read its log.'),
  filters(place, { view: 'runs', states: ['running', 'done', 'failed', 'stopped'] }),
  el('div', { id: keeps, class: 'section' }, ...drawKept(data)),
]

/** @param {{ runs: Run[] }} data */
export const drawKept = ({ runs }) => [
  runs.length === 0
    ? el('p', { class: 'card' }, 'There is no such run.')
    : el('div', { class: 'card flush' }, runsTable(runs)),
]

const HEADS = [
  { name: 'Began (UTC)' },
  { name: 'Report' },
  { name: 'Kind' },
  { name: 'State' },
  { name: 'Took', right: true },
  { name: 'Rows', right: true },
  { name: 'New', right: true },
  { name: 'Changed', right: true },
  { name: 'Rejected', right: true },
]

/** @param {readonly Run[]} runs */
export const runsTable = (runs) =>
  table({
    caption: 'Runs, newest first',
    heads: HEADS,
    rows: runs.map((run) => [
      el('a', { href: `#/runs/${run.run_id}`, id: `run-${run.run_id}` }, moment(run.started_at)),
      run.report,
      said(run.kind),
      pill(run.state),
      run.seconds === null ? '' : duration(run.seconds),
      ...[run.rows, run.inserted, run.updated, run.rejected].map((number) => (number === 0 ? '' : grouped(number))),
    ]),
  })

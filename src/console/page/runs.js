/** The view that lists the runs, newest first, and the jobs in the queues. */
import { read, failureText } from './api.js'
import { lead, pill, section, table } from './components.js'
import { filters } from './filters.js'
import { counted, duration, moment, unlessZero, wordFor } from './format.js'
import { html } from './html.js'
import { reload } from './state.js'

/** @import { Jobs, Run } from '../api/schemas.ts' */
/** @typedef {import('./state.js').Place} Place */

const STATES = ['running', 'done', 'failed', 'stopped']

export const title = () => 'Runs'

/** @param {Place} place @returns {Promise<{ runs: Run[], jobs: Jobs | Error }>} */
export async function load({ query }) {
  const filter = new URLSearchParams({ limit: '100' })
  for (const name of ['report', 'state']) if (query.get(name)) filter.set(name, query.get(name) ?? '')
  if (hidesEmpty()) filter.set('empty', 'hide')
  /** @type {Promise<Jobs | Error>} */
  const jobs = read('/api/jobs').catch((/** @type {Error} */ error) => error)
  const { runs } = /** @type {{ runs: Run[] }} */ (await read(`/api/runs?${filter}`))
  return { runs, jobs: await jobs }
}

/** @param {{ runs: Run[], jobs: Jobs | Error }} data @param {Place} place */
export const draw = ({ runs, jobs }, place) => [
  lead('Runs', 'Each run reads one report. Open a run to see its result and its log.'),
  filters(place, STATES),
  html`<label><input type="checkbox" id="hide-empty" checked=${hidesEmpty()} onChange=${hideEmpty} /> Hide runs without rows</label>`,
  runsTable(runs, 'No such run.'),
  section('jobs-title', 'Jobs in the queues', jobsSection(jobs)),
]

const HIDE_EMPTY = 'hide runs without rows'
const hidesEmpty = () => localStorage.getItem(HIDE_EMPTY) === 'yes'

/** @param {Event} event */
function hideEmpty({ target }) {
  localStorage.setItem(HIDE_EMPTY, /** @type {HTMLInputElement} */ (target).checked ? 'yes' : 'no')
  reload()
}

/** @param {readonly Run[]} runs @param {string} [empty] */
export const runsTable = (runs, empty) => table('Runs, newest first', runs.map(runRow), empty)

/** @param {Run} run */
const runRow = ({ run_id: id, state, error, seconds, ...run }) => ({
  key: id,
  'Began (UTC)': html`<a href="#/runs/${id}" id="run-${id}">${moment(run.started_at)}</a>`,
  Report: run.report,
  Kind: wordFor(run.kind),
  State: error === null ? pill(state) : [pill(state), html` <small>${error.code}</small>`],
  Took: seconds === null ? '' : duration(seconds),
  Rows: unlessZero(run.rows),
  New: unlessZero(run.inserted),
  Changed: unlessZero(run.updated),
  Rejected: unlessZero(run.rejected),
})

/** @param {Jobs | Error} answer */
function jobsSection(answer) {
  if (answer instanceof Error) return html`<article class="bad">${failureText(answer)}</article>`
  const { jobs, depths } = answer
  const total = Object.values(depths).reduce((sum, { waiting, active, failed }) => sum + waiting + active + failed, 0)
  if (jobs.length === 0) return html`<article>No job is running, waiting or failed.</article>`
  return [
    html`<p class="faint">${counted(total, 'job')}. Scheduled ticks are not listed.</p>`,
    table('Jobs of the queues: running, waiting, failed', jobs.map(jobRow)),
  ]
}

/** @param {Jobs['jobs'][number]} job */
const jobRow = ({ id, queue, name, state, tries, added_at: addedAt, error }) => ({
  key: `${queue} ${id}`,
  'Added (UTC)': moment(addedAt),
  Queue: queue,
  Job: name,
  State: pill(state),
  Tries: unlessZero(tries),
  'Reason of the last failure': error,
})

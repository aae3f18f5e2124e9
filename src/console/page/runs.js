/** The view that lists the runs, newest first, and the jobs in the queues. */
import { read, failureText } from './api.js'
import { lead, pill, section, table } from './components.js'
import { filters } from './filters.js'
import { duration, grouped, moment, wordFor, counted } from './format.js'
import { html } from './html.js'

/** @import { Jobs, Run } from '../api/schemas.ts' */
/** @typedef {import('./place.js').Place} Place */

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
  runs.length === 0 ? html`<article>No such run.</article>` : runsTable(runs),
  section('jobs-title', 'Jobs in the queues', jobsSection(jobs)),
]

const HIDE_EMPTY = 'hide runs without rows'
const hidesEmpty = () => localStorage.getItem(HIDE_EMPTY) === 'yes'

/** The browser stores the user's choice. @param {Event} event */
function hideEmpty({ target }) {
  localStorage.setItem(HIDE_EMPTY, /** @type {HTMLInputElement} */ (target).checked ? 'yes' : 'no')
  dispatchEvent(new Event('hashchange'))
}

const COLUMNS = [
  'Began (UTC)',
  'Report',
  'Kind',
  'State',
  { right: 'Took' },
  { right: 'Rows' },
  { right: 'New' },
  { right: 'Changed' },
  { right: 'Rejected' },
]

/** @param {readonly Run[]} runs */
export const runsTable = (runs) =>
  table({
    caption: 'Runs, newest first',
    columns: COLUMNS,
    rows: runs.map((run) => ({
      key: run.run_id,
      cells: [
        html`<a href="#/runs/${run.run_id}" id="run-${run.run_id}">${moment(run.started_at)}</a>`,
        run.report,
        wordFor(run.kind),
        run.error === null ? pill(run.state) : [pill(run.state), html` <small>${run.error.code}</small>`],
        run.seconds === null ? '' : duration(run.seconds),
        ...[run.rows, run.inserted, run.updated, run.rejected].map((number) => (number === 0 ? '' : grouped(number))),
      ],
    })),
  })

const JOB_COLUMNS = ['Added (UTC)', 'Queue', 'Job', 'State', { right: 'Tries' }, 'Reason of the last failure']

/** Shows the error if the jobs could not be read. @param {Jobs | Error} answer */
function jobsSection(answer) {
  if (answer instanceof Error) return html`<article class="bad">${failureText(answer)}</article>`
  const { jobs, depths } = answer
  const total = Object.values(depths).reduce((sum, { waiting, active, failed }) => sum + waiting + active + failed, 0)
  if (jobs.length === 0) return html`<article>No job is running, waiting or failed.</article>`
  return [
    html`<p class="faint">${counted(total, 'job')}. Scheduled ticks are not listed.</p>`,
    table({
      caption: 'Jobs of the queues: running, waiting, failed',
      columns: JOB_COLUMNS,
      rows: jobs.map((job) => ({
        key: `${job.queue} ${job.id}`,
        cells: [
          moment(job.added_at),
          job.queue,
          job.name,
          pill(job.state),
          job.tries === 0 ? '' : job.tries,
          job.error ?? '',
        ],
      })),
    }),
  ]
}

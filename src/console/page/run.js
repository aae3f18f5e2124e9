/** One run: its figures, what to do if it failed, and its log. */
import { resumeButton, syncButton } from './actions.js'
import { read } from './api.js'
import { cureText, facts, lead, pill, runningSection, section } from './components.js'
import { duration, grouped, moment, wordFor } from './format.js'
import { html } from './html.js'
import { state } from './state.js'

/** @typedef {import('zod').infer<typeof import('../api/schemas.ts').RunDetail>} RunDetail */
/** @typedef {NonNullable<RunDetail['run']>} Run */
/** @typedef {RunDetail['lines'][number]} Line */

/** @param {{ name: string }} place */
export const title = ({ name }) => `Run ${name.slice(0, 8)}`

/** @param {{ name: string }} place @returns {Promise<RunDetail>} */
export const load = ({ name }) => read(`/api/runs/${name}`)

/** @param {RunDetail} detail @param {{ name: string }} place */
export const draw = ({ run, lines }, { name }) => [
  run === null ? lead(`Run ${name}`, 'Only the log knows this run; the warehouse does not, or not yet.') : heading(run),
  runningSection(state.live.running.filter(({ run_id: id }) => id === name)),
  run?.error != null && failure(run.report, run.error),
  run !== null && factsOf(run),
  section('log-title', 'Log', log(lines)),
]

/** @param {Run} run */
const heading = ({ report, kind, state: ended, run_id: id }) => html`
  <hgroup>
    <div class="row spread"><h1 id="title" tabindex="-1">${wordFor(kind)} of ${report}</h1>${pill(ended)}</div>
    <p><a href="#/reports/${report}">${report}</a> · <code>${id}</code></p>
  </hgroup>
`

const PAUSING = new Set(['REPORT_FORBIDDEN', 'SCOPE_MISSING', 'CREDENTIALS_REFUSED'])

/** @param {string} report @param {NonNullable<Run['error']>} error */
const failure = (report, { code, message, cure }) => html`
  <article class="bad">
    <h2>What happened</h2>
    <p>${message} <code>${code}</code></p>
    <h2>What to do</h2>
    ${cureText(cure, PAUSING.has(code))}
    <div class="row">
      ${PAUSING.has(code) ? resumeButton(report, '') : syncButton(report, '')}
    </div>
  </article>
`

/** @param {Run} run */
const factsOf = (run) =>
  facts([
    ['Began (UTC)', moment(run.started_at)],
    ['Took', run.seconds === null ? 'still running' : duration(run.seconds)],
    ['Pages', grouped(run.pages)],
    ['Rows', grouped(run.rows)],
    ['New', grouped(run.inserted)],
    ['Changed', grouped(run.updated)],
    ['Deleted', grouped(run.deleted)],
    ['Rejected', grouped(run.rejected)],
    ['Misfits', grouped(run.misfits)],
  ])

const LEVELS = /** @type {Record<number, string>} */ ({ 10: 'trace', 20: 'debug', 30: 'info', 40: 'warn', 50: 'error' })

/** @param {readonly Line[]} lines */
const log = (lines) =>
  lines.length === 0
    ? html`<p class="faint">This run logged nothing, or its lines are older than the setting "history" keeps.</p>`
    : html`<article><ol class="log">${lines.map(logLine)}</ol></article>`

/** @param {Line} line */
const logLine = ({ time, level, msg, ...fields }) => html`
  <li>
    <time class="faint" datetime=${time}>${time.slice(11, 23)}</time>
    <span class=${level >= 40 ? 'failure' : 'faint'}>${LEVELS[level] ?? level}</span>
    <span>${msg} <span class="faint">${fieldsText(fields)}</span></span>
  </li>
`

const COMMON_FIELDS = new Set(['pid', 'hostname', 'runId', 'report', 'v'])

/** @param {Record<string, unknown>} fields */
const fieldsText = (fields) =>
  Object.entries(fields)
    .filter(([name]) => !COMMON_FIELDS.has(name))
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ')

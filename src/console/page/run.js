/** One run: what came of it, what to do if it failed, and what it logged. */
import { resumeButton, syncButton } from './acts.js'
import { read } from './api.js'
import { el } from './dom.js'
import { duration, grouped, moment, said } from './format.js'
import { liveNow } from './live.js'
import { cureText, facts, lead, pill, runningCard } from './pieces.js'

/** @typedef {import('zod').infer<typeof import('../api/shapes.ts').RunDetail>} RunDetail */
/** @typedef {RunDetail['lines'][number]} Line */

/** @param {{ name: string }} place */
export const title = ({ name }) => `Run ${name.slice(0, 8)}`

/** @param {{ name: string }} place @returns {Promise<RunDetail>} */
export const load = ({ name }) => read(`/api/runs/${encodeURIComponent(name)}`)

/** @param {RunDetail} detail @param {{ name: string }} place */
export function draw({ run, lines }, { name }) {
  const running = liveNow().running.filter(({ run_id: id }) => id === name)
  return [
    run === null ? lead(`Run ${name}`, 'It is in the log alone; the books do not know it, or not yet.') : heading(run),
    el('div', { id: 'running' }, runningCard(running)),
    run?.error == null ? null : failure(run.report, run.error),
    run === null ? null : el('div', { class: 'card' }, factsOf(run)),
    el(
      'section',
      { class: 'section', 'aria-labelledby': 'log-title' },
      el('h2', { id: 'log-title' }, 'Log'),
      log(lines),
    ),
  ]
}

/** @param {NonNullable<RunDetail['run']>} run */
const heading = ({ report, kind, state, run_id: id }) =>
  el(
    'div',
    { class: 'lead' },
    el('div', { class: 'head' }, el('h1', { id: 'title', tabindex: '-1' }, `${said(kind)} of ${report}`), pill(state)),
    el('p', {}, el('a', { href: `#/reports/${report}` }, report), ' · ', el('span', { class: 'code' }, id)),
  )

/** @param {string} report @param {{ code: string, message: string, cure: string }} error */
const failure = (report, { code, message, cure }) =>
  el(
    'div',
    { class: 'card need bad' },
    el('h2', {}, 'What happened'),
    el('p', { class: 'why' }, message, ' ', el('span', { class: 'code faint' }, code)),
    el('h2', {}, 'What to do'),
    cureText(cure, PAUSING.has(code)),
    el(
      'div',
      { class: 'actions' },
      PAUSING.has(code) ? resumeButton(report, 'primary') : syncButton(report, 'primary'),
    ),
  )

/** What the service refuses for good pauses the report. */
const PAUSING = new Set(['REPORT_FORBIDDEN', 'SCOPE_MISSING', 'CREDENTIALS_REFUSED'])

/** @param {NonNullable<RunDetail['run']>} run */
const factsOf = (run) =>
  facts([
    ['Began (UTC)', moment(run.started_at)],
    ['Took', run.seconds === null ? 'it runs' : duration(run.seconds)],
    ['Pages', grouped(run.pages)],
    ['Rows', grouped(run.rows)],
    ['New', grouped(run.inserted)],
    ['Changed', grouped(run.updated)],
    ['Deleted', grouped(run.deleted)],
    ['Rejected', grouped(run.rejected)],
  ])

const LEVELS = /** @type {Record<number, string>} */ ({ 10: 'trace', 20: 'debug', 30: 'info', 40: 'warn', 50: 'error' })

/** @param {readonly Line[]} lines */
function log(lines) {
  if (lines.length === 0)
    return el('p', { class: 'faint' }, 'It said nothing, or its lines are older than what is kept.')
  return el('ol', { class: 'card log code' }, ...lines.map(logLine))
}

/** @param {Line} line */
const logLine = ({ time, level, msg, ...fields }) =>
  el(
    'li',
    {},
    el('time', { class: 'faint', datetime: time }, time.slice(11, 23)),
    el('span', { class: level >= 40 ? 'failure' : 'faint' }, LEVELS[level] ?? String(level)),
    el('span', {}, msg, ' ', el('span', { class: 'faint' }, fieldsText(fields))),
  )

const LEFT_OUT = new Set(['pid', 'hostname', 'runId', 'report', 'v'])

/** @param {Record<string, unknown>} fields */
const fieldsText = (fields) =>
  Object.entries(fields)
    .filter(([name]) => !LEFT_OUT.has(name))
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ')

/** Components that several views use, such as tables and labels for states. */
import { cancelButton } from './actions.js'
import { counted, duration, grouped, moment, wordFor } from './format.js'
import { html } from './html.js'

/** @typedef {import('./html.js').Content} Content */
/** @import { Attention, RunningRun } from '../api/schemas.ts' */

const TONES = /** @type {Record<string, string>} */ ({
  done: 'good',
  failed: 'bad',
  paused: 'warn',
  running: 'busy',
  active: 'busy',
  cancelled: 'warn',
  stopped: 'warn',
  pending: 'warn',
})

/** @param {string} state */
export const pill = (state) =>
  html`<span class="pill ${TONES[state] ?? ''} ${state === 'running' ? 'pulse' : ''}">${wordFor(state)}</span>`

/** @param {{ report: string, state: string }} standing @param {readonly { report: string }[]} running */
export const standingPill = ({ report, state }, running) =>
  pill(state !== 'paused' && running.some((run) => run.report === report) ? 'running' : state)

/** Returns a view's title, which gets the focus when the view opens. @param {string} title @param {string} [text] */
export const lead = (title, text) => html`
  <hgroup>
    <h1 id="title" tabindex="-1">${title}</h1>
    ${text && html`<p>${text}</p>`}
  </hgroup>
`

/** @param {string} id @param {string} title @param {...Content} content */
export const section = (id, title, ...content) => html`
  <section aria-labelledby=${id}>
    <h2 id=${id}>${title}</h2>
    ${content}
  </section>
`

const RIGHT_ALIGNED = /^(?:Lag|Last run|Windows?|Rows|Requests|Took|New|Changed|Rejected|Tries)$/

/** @param {string} column */
const alignment = (column) => (RIGHT_ALIGNED.test(column) ? 'number' : '')

/** @param {string} column */
const headCell = (column) => html`<th scope="col" role="columnheader" class=${alignment(column)}>${column}</th>`

/**
 * Draws a row for each object. ARIA roles are set, because the CSS for phones removes the default roles.
 * @param {string} caption @param {readonly Readonly<Record<string, Content>>[]} rows @param {string} [empty]
 */
export function table(caption, rows, empty = 'None yet.') {
  if (rows.length === 0) return html`<article>${empty}</article>`
  const columns = Object.keys(rows[0] ?? {}).filter((name) => name !== 'key')
  const row = (/** @type {Readonly<Record<string, Content>>} */ cells) => html`
    <tr key=${cells['key']} role="row">
      ${columns.map((name) => html`<td role="cell" class=${alignment(name)} data-head=${name}>${cells[name]}</td>`)}
    </tr>
  `
  return html`
    <article>
      <table class="stacks" role="table" aria-label=${caption}>
        <thead role="rowgroup"><tr role="row">${columns.map(headCell)}</tr></thead>
        <tbody role="rowgroup">${rows.map(row)}</tbody>
      </table>
    </article>
  `
}

/** @param {readonly (readonly [string, Content])[]} pairs */
export const facts = (pairs) => html`
  <article>
    <dl class="grid facts">${pairs.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
  </article>
`

/** @param {readonly RunningRun[]} running */
export const runningSection = (running) =>
  running.length > 0 &&
  html`<div id="running">${section('running-title', 'Running now', running.map(runningRow))}</div>`

/** @param {RunningRun} run */
function runningRow(run) {
  const { run_id: id, report, kind } = run
  const name = `${wordFor(kind)} of ${report}`
  return html`
    <article key=${id}>
      <div class="row spread">
        <span class="row"><a href="#/runs/${id}">${name}</a>${pill('running')}</span>
        ${cancelButton(id, `the ${name}`)}
      </div>
      <progress aria-label="Progress of the ${name}" ...${progressOf(run)} />
      <small>${progressText(run)}</small>
    </article>
  `
}

/** @param {RunningRun} run */
function progressOf({ rows, rows_expected: expected, windows }) {
  if (windows !== null) return { max: windows.total || 1, value: windows.done }
  return expected === null ? {} : { max: expected, value: Math.min(rows, expected) }
}

/** @param {RunningRun} run */
function progressText({ windows, pages, rows, rows_expected: expected }) {
  // A run that reads all pages twice can read more rows than expected.
  const read =
    expected === null || rows > expected ? counted(rows, 'row') : `${grouped(rows)} of ${counted(expected, 'row')}`
  const done = `${read}, ${counted(pages, 'page')}`
  if (windows === null) return done
  const left = windows.ms_left === null ? '' : `, about ${duration(windows.ms_left / 1_000)} left`
  const failed = windows.failed === 0 ? '' : `, ${windows.failed} failed`
  return `${windows.done} of ${counted(windows.total, 'window')}${failed}, ${done}${left}`
}

/** @param {Attention} attention @param {'h2' | 'h3'} heading @param {Content} [links] */
export const needCard = ({ reports, kind, title, why, cure, action, urgent, next_try: next }, heading, links) => html`
  <article key="${reports[0]} ${kind}" class=${urgent ? 'bad' : 'warn'}>
    <${heading}>${title}<//>
    <p class="faint">${why}</p>
    ${cureText(cure, action === 'resume')}
    ${next && html`<p>It tries again by itself, at ${moment(next).slice(11, 16)} UTC at the latest.</p>`}
    ${links}
  </article>
`

/** Matches the end of a cure. Example: `…, then run: tidemark resume events`. */
const RESUME_COMMAND = /\brun: (tidemark (?:resume|check)\b.*)$/is

/** Adds "Press Resume" to `cure` if there is a Resume button. @param {string} cure @param {boolean} hasResumeButton */
export function cureText(cure, hasResumeButton) {
  const [found, command] = RESUME_COMMAND.exec(cure) ?? []
  if (found === undefined || !hasResumeButton) return html`<p>${cure}</p>`
  const before = cure.slice(0, -found.length)
  return html`
    <p>
      ${before}${before === '' ? 'Press ' : 'press '}<strong>Resume</strong> (or run: <code>${command}</code>)
    </p>
  `
}

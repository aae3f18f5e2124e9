/** The first view: what needs attention, what is running, and the state of each report. */
import { resumeButton, retryButton, syncButton } from './actions.js'
import { read } from './api.js'
import { sparkline } from './charts.js'
import { lead, needCard, runningSection, section, standingPill, table } from './components.js'
import { ago, counted, duration, grouped, unlessZero } from './format.js'
import { html } from './html.js'
import { state } from './state.js'

/** @import { Attention, Overview } from '../api/schemas.ts' */

export const title = () => 'Overview'

/** @returns {Promise<Overview>} */
export const load = () => read('/api/overview')

/** @param {Overview} overview */
export const draw = ({ attention, receivers_behind: behind, reports, figures, running, owner }) => [
  verdict(attention, reports),
  !owner && html`<article>Another process owns the warehouse. This is the published copy as of its last run.</article>`,
  attention.length > 0 &&
    section('needs-title', 'What needs you', html`<div class="grid needs">${attention.map(need)}</div>`),
  behind.length > 0 &&
    section('behind-title', 'Receivers that are behind', html`<div class="grid needs">${behind.map(receiver)}</div>`),
  runningSection(owner ? state.live.running : running),
  section('reports-title', 'Reports', table('Reports and their state', reports.map(reportRow(running)))),
  figures.map((line) => html`<p class="faint">${line}</p>`),
]

/** @param {readonly Attention[]} attention @param {Overview['reports']} reports */
function verdict(attention, reports) {
  const on = reports.filter(({ state: standing }) => standing !== 'off')
  const inNeed = new Set(attention.flatMap((each) => each.reports)).size
  const lags = on.flatMap(({ lag_seconds: lag, per_record: isQuiet }) => (isQuiet ? [] : (lag ?? [])))
  const quiet = on.filter((report) => report.per_record).length
  const leftOut = quiet === 0 ? '' : ` (without ${counted(quiet, 'audit report')}, whose mark moves only with a change)`
  const behind =
    lags.length === 0 ? '' : ` The furthest behind is ${duration(Math.max(...lags))} behind the service${leftOut}.`
  const rows = on.reduce((sum, report) => sum + report.rows, 0)
  const stored = `${counted(rows, 'row')} in ${counted(on.length, 'report')}.`
  if (inNeed > 0) {
    return lead(`${counted(inNeed, 'report')} ${inNeed === 1 ? 'needs' : 'need'} you`, `${stored}${behind}`)
  }
  if (on.some(({ mark }) => mark === null))
    return lead('Reading for the first time', `${stored} Reports appear as they are read.`)
  return lead('Everything is up to date', `${stored}${behind}`)
}

const BUTTONS = /** @type {const} */ ({ resume: resumeButton, sync: syncButton, 'retry-rejected': retryButton })

/** @param {Attention} attention */
function need(attention) {
  const { reports, kind, action } = attention
  const button = action === null || action === 'backfill' ? null : BUTTONS[action](reports, '')
  const links = html`
    <div class="row">
      ${action === 'backfill' ? html`<a href="#/backfills?report=${reports[0]}">Backfill …</a>` : button}
      ${reports.map((report) => html`<a href=${detailsOf(kind, report)} aria-label="Details of ${report}: ${kind}">${reports.length === 1 ? 'Details' : report}</a>`)}
    </div>
  `
  return needCard(attention, 'h3', links)
}

/** @param {Overview['receivers_behind'][number]} problem */
const receiver = ({ receiver: name, since, why, cure }) => html`
  <article key=${name} class="warn">
    <h3>${name} did not accept a message (${ago(since)})</h3>
    <p class="faint">It is ${why}</p>
    <p>${cure}</p>
  </article>
`

/** @param {Attention['kind']} kind @param {string} report */
const detailsOf = (kind, report) => (kind === 'rejected' ? `#/rejected?report=${report}` : `#/reports/${report}`)

/** @param {Overview['running']} running */
const reportRow = (running) => (/** @type {Overview['reports'][number]} */ report) => {
  const { report: name, state: standing, lag_seconds: lag, last_run: lastRun, not_running_because: because } = report
  const isOff = standing === 'off'
  return {
    key: name,
    Report: html`<a href="#/reports/${name}" id="report-${name}">${name}</a>`,
    State: standingPill(report, running),
    Lag: isOff || lag === null ? '' : duration(Math.max(0, lag)),
    'Last run': isOff || lastRun === null ? '' : ago(lastRun),
    Rows: isOff ? '' : grouped(report.rows),
    Rejected: isOff ? '' : unlessZero(report.rejected),
    'Recent rows': isOff ? html`<span class="faint">${because}</span>` : sparkline(report.recent),
  }
}

/** The first view: is everything fine, what needs somebody, what runs, and how each report stands. */
import { resumeButton, retryButton, syncButton } from './acts.js'
import { read } from './api.js'
import { spark } from './charts.js'
import { el } from './dom.js'
import { ago, counted, duration, grouped } from './format.js'
import { liveNow } from './live.js'
import { cureText, lead, pill, runningCard, table } from './pieces.js'

/** @typedef {import('../api/shapes.ts').Overview} Overview */
/** @typedef {import('../api/shapes.ts').Attention} Attention */

export const title = () => 'Overview'

/** @returns {Promise<Overview>} */
export const load = () => read('/api/overview')

/** @param {Overview} overview */
export function draw(overview) {
  const { attention, reports, running, owner } = overview
  return [
    verdict(overview),
    owner
      ? null
      : el(
          'p',
          { class: 'card' },
          'Another process owns the warehouse: this is the published copy, as of its last run.',
        ),
    attention.length === 0 ? null : needs(attention),
    el('div', { id: 'running' }, runningCard(owner ? liveNow().running : running)),
    el(
      'section',
      { class: 'section', 'aria-labelledby': 'reports-title' },
      el('h2', { id: 'reports-title' }, 'Reports'),
      el('div', { class: 'card flush' }, reportTable(reports, new Set(running.map(({ report }) => report)))),
    ),
  ]
}

/** @param {Overview} overview */
function verdict({ attention, reports }) {
  const on = reports.filter(({ state }) => state !== 'off')
  const inNeed = new Set(attention.map(({ report }) => report)).size
  const lags = on.flatMap(({ lag_seconds: lag, per_record: isQuiet }) => (isQuiet ? [] : (lag ?? [])))
  const behind = lags.length === 0 ? '' : ` The furthest behind is ${duration(Math.max(...lags))} behind the service.`
  const rows = on.reduce((sum, report) => sum + report.rows, 0)
  const held = `${counted(rows, 'row')} in ${counted(on.length, 'report')}.`
  if (inNeed > 0) return lead(`${counted(inNeed, 'report')} ${inNeed === 1 ? 'needs' : 'need'} you`, `${held}${behind}`)
  if (on.some(({ mark }) => mark === null))
    return lead('Reading for the first time', `${held} Reports appear as they are read.`)
  return lead('Everything is up to date', `${held}${behind}`)
}

/** @param {readonly Attention[]} attention */
const needs = (attention) =>
  el(
    'section',
    { class: 'section', 'aria-labelledby': 'needs-title' },
    el('h2', { id: 'needs-title' }, 'What needs you'),
    el('ul', { class: 'needs' }, ...attention.map(need)),
  )

const ACTIONS = /** @type {const} */ ({ resume: resumeButton, sync: syncButton, 'retry-rejected': retryButton })

/** @param {Attention} attention */
function need({ report, kind, title: what, why, cure, action, urgent }) {
  const details = kind === 'rejected' ? `#/rejected?report=${report}` : `#/reports/${report}`
  return el(
    'li',
    { class: `card need ${urgent ? 'bad' : ''}` },
    el('h3', {}, what),
    el('p', { class: 'why faint' }, why),
    cureText(cure, action === 'resume'),
    el(
      'div',
      { class: 'actions' },
      action === 'backfill'
        ? el('a', { class: 'button', href: `#/backfills?report=${report}` }, 'Backfill …')
        : action === null
          ? null
          : ACTIONS[action](report, 'primary'),
      el('a', { class: 'button', href: details, 'aria-label': `Details of ${report}: ${kind}` }, 'Details'),
    ),
  )
}

const HEADS = [
  { name: 'Report' },
  { name: 'State' },
  { name: 'Lag', right: true },
  { name: 'Last run', right: true },
  { name: 'Rows', right: true },
  { name: 'Rejected', right: true },
  { name: 'Recent rows' },
]

/** @param {Overview['reports']} reports @param {ReadonlySet<string>} running */
const reportTable = (reports, running) =>
  table({
    caption: 'Reports and how they stand',
    heads: HEADS,
    rows: reports.map((report) => {
      const { report: name, state, lag_seconds: lag, rejected, not_running_because: because } = report
      const shown = running.has(name) && state !== 'paused' ? 'running' : state
      const link = el('a', { href: `#/reports/${name}`, class: 'name', id: `report-${name}` }, name)
      if (state === 'off') return [link, pill('off'), '', '', '', '', el('span', { class: 'faint' }, because ?? '')]
      return [
        link,
        pill(shown),
        lag === null ? '' : duration(Math.max(0, lag)),
        report.last_run === null ? '' : ago(report.last_run),
        grouped(report.rows),
        rejected === 0 ? '' : grouped(rejected),
        spark(report.recent),
      ]
    }),
  })

/** One report: how it stands in words, what can be done, its lag and rows over time, covered time, its last runs. */
import { pauseButton, reconcileButton, resumeButton, retryButton, syncButton } from './acts.js'
import { read } from './api.js'
import { lagChart, rowsChart } from './charts.js'
import { el } from './dom.js'
import { duration, grouped, moment } from './format.js'
import { liveNow } from './live.js'
import { cureText, facts, pill, runningCard } from './pieces.js'
import { runsTable } from './runs.js'
import { timelines } from './timeline.js'

/** @typedef {import('zod').infer<typeof import('../api/shapes.ts').ReportDetail>} ReportDetail */

/** @param {{ name: string }} place */
export const title = ({ name }) => name

/** @param {{ name: string }} place @returns {Promise<ReportDetail>} */
export const load = ({ name }) => read(`/api/reports/${name}`)

/** @param {ReportDetail} detail */
export function draw({ standing, explained, settings, attention, marks, runs }) {
  const { report, state } = standing
  const running = liveNow().running.filter((run) => run.report === report)
  return [
    el(
      'div',
      { class: 'head' },
      el(
        'div',
        { class: 'head' },
        el('h1', { id: 'title', tabindex: '-1' }, report),
        pill(running.length > 0 && state !== 'paused' ? 'running' : state),
      ),
      state === 'off' ? null : buttons(standing),
    ),
    el('p', {}, explained),
    ...attention.map(({ title: what, why, cure, urgent, action }) =>
      el(
        'div',
        { class: `card need ${urgent ? 'bad' : ''}` },
        el('h2', {}, what),
        el('p', { class: 'why faint' }, why),
        cureText(cure, action === 'resume'),
      ),
    ),
    el('div', { id: 'running' }, runningCard(running)),
    el('div', { class: 'card' }, factsOf(standing, settings)),
    el(
      'div',
      { class: 'columns' },
      card(
        'Lag',
        'How far the mark stood behind the clock. It grows between runs and falls with each.',
        lagChart(marks),
      ),
      card('Rows of each run', 'Syncs, backfills and reconciles.', rowsChart(runs)),
    ),
    card(
      'Covered time',
      'What was asked for and read whole, with a proof.',
      timelines(standing.coverage, settings.start),
    ),
    el(
      'section',
      { class: 'section', 'aria-labelledby': 'runs-title' },
      el('h2', { id: 'runs-title' }, 'Last runs'),
      el('div', { class: 'card flush' }, runsTable(runs.slice(0, 20))),
    ),
  ]
}

/** @param {ReportDetail['standing']} standing */
const buttons = ({ report, state, rejected }) =>
  el(
    'div',
    { class: 'actions' },
    state === 'paused' ? resumeButton(report, 'primary') : syncButton(report, 'primary'),
    state === 'paused' ? null : pauseButton(report),
    reconcileButton(report),
    el('a', { class: 'button', href: `#/backfills?report=${report}` }, 'Backfill …'),
    rejected > 0 ? retryButton(report) : null,
  )

/** @param {ReportDetail['standing']} standing @param {ReportDetail['settings']} settings */
const factsOf = (standing, settings) =>
  facts([
    ['Mark (UTC)', moment(standing.mark)],
    ['Lag', standing.lag_seconds === null ? '–' : duration(Math.max(0, standing.lag_seconds))],
    ['Runs every', settings.every],
    ['Rows', grouped(standing.rows)],
    ['Of them deleted', grouped(standing.deleted)],
    ['Rejected', grouped(standing.rejected)],
    ['Late in 30 days', standing.late_rows === null ? 'not measured' : grouped(standing.late_rows)],
    ['Overlap', duration(settings.overlap_seconds)],
  ])

/** @param {string} name @param {string} text @param {Node} content */
const card = (name, text, content) =>
  el(
    'section',
    { class: 'card' },
    el('div', { class: 'lead' }, el('h2', {}, name), el('p', { class: 'small' }, text)),
    content,
  )

/** Draws one report: its state, its actions, charts and its last runs. */
import { pauseButton, reconcileButton, resetButton, resumeButton, retryButton, syncButton } from './actions.js'
import { read } from './api.js'
import { lagChart, rowsChart } from './charts.js'
import { facts, needCard, runningSection, section, standingPill } from './components.js'
import { duration, grouped, moment } from './format.js'
import { html } from './html.js'
import { runsTable } from './runs.js'
import { state } from './state.js'
import { timelines } from './timeline.js'

/** @typedef {import('zod').infer<typeof import('../api/schemas.ts').ReportDetail>} ReportDetail */

const RUNS_LISTED = 20

/** @param {{ name: string }} place */
export const title = ({ name }) => name

/** @param {{ name: string }} place @returns {Promise<ReportDetail>} */
export const load = ({ name }) => read(`/api/reports/${name}`)

/** @param {ReportDetail} detail */
export function draw({ standing, explained, settings, attention, marks, runs }) {
  const running = state.live.running.filter((run) => run.report === standing.report)
  return [
    html`
      <hgroup>
        <div class="row spread">
          <div class="row"><h1 id="title" tabindex="-1">${standing.report}</h1>${standingPill(standing, running)}</div>
          ${standing.state !== 'off' && buttons(standing)}
        </div>
        <p>${explained}</p>
      </hgroup>
    `,
    attention.map((each) => needCard(each, 'h2')),
    runningSection(running),
    factsOf(standing, settings),
    html`
      <div class="grid">
        ${card('Lag', 'How far the mark was behind the clock. It grows between runs and falls with each.', lagChart(marks))}
        ${card('Rows of each run', 'Syncs, backfills and reconciles.', rowsChart(runs))}
      </div>
    `,
    card('Covered time', 'Time that was read completely, with a proof.', timelines(standing.coverage, settings.start)),
    section('runs-title', 'Last runs', runsTable(runs.slice(0, RUNS_LISTED))),
  ]
}

/** @param {ReportDetail['standing']} standing */
const buttons = ({ report, state: now, rejected }) => html`
  <div class="row">
    ${now === 'paused' ? resumeButton(report, '') : [syncButton(report, ''), pauseButton(report)]}
    ${reconcileButton(report)} ${resetButton(report)}
    <a href="#/backfills?report=${report}">Backfill …</a>
    ${rejected > 0 && retryButton(report)}
  </div>
`

/** @param {ReportDetail['standing']} standing @param {ReportDetail['settings']} settings */
const factsOf = (standing, settings) =>
  facts([
    ['Mark (UTC)', moment(standing.mark)],
    ['Lag', standing.lag_seconds === null ? '–' : duration(Math.max(0, standing.lag_seconds))],
    ['Runs every', settings.every],
    ['Rows', grouped(standing.rows)],
    ['Of them deleted', grouped(standing.deleted)],
    ['Rejected', grouped(standing.rejected)],
    ['Misfits', grouped(standing.misfits)],
    ['Late in 30 days', standing.late_rows === null ? 'not measured' : grouped(standing.late_rows)],
    ['Overlap', duration(settings.overlap_seconds)],
  ])

/** @param {string} name @param {string} text @param {import('./html.js').Content} content */
const card = (name, text, content) => html`
  <article>
    <hgroup><h2>${name}</h2><p>${text}</p></hgroup>
    ${content}
  </article>
`

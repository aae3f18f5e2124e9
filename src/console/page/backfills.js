/** Reading a range again: the form with its dry run, and what became of those that were asked for. */
import { cancelButton, carryOut, pressed } from './acts.js'
import { act, Failure, read } from './api.js'
import { byId, el, fill } from './dom.js'
import { field, reportNames, select } from './filters.js'
import { counted, grouped, moment } from './format.js'
import { liveNow } from './live.js'
import { lead, pill, runningCard, table } from './pieces.js'

/** @typedef {import('zod').infer<typeof import('../api/shapes.ts').Backfill>} Backfill */
/** @typedef {import('zod').infer<typeof import('../api/shapes.ts').Plan>} Plan */
/** @typedef {import('./filters.js').Place} Place */

export const title = () => 'Backfills'

/** The form is drawn once; what was typed must not be lost when the list is drawn anew. */
export const keeps = 'backfill-list'

/** @returns {Promise<{ backfills: Backfill[] }>} */
export const load = () => read('/api/backfills')

/** @param {{ backfills: Backfill[] }} data @param {Place} place */
export const draw = (data, { query }) => [
  lead(
    'Backfills',
    'Reads a range of modification time again, in proven windows, newest first. It moves no mark and gives way to syncs.',
  ),
  form(query.get('report')),
  el('div', { id: keeps, class: 'section' }, ...drawKept(data)),
]

/** @param {{ backfills: Backfill[] }} data */
export const drawKept = ({ backfills }) => [
  el('div', { id: 'running' }, runningCard(liveNow().running.filter(({ kind }) => kind === 'backfill'))),
  el('h2', {}, 'Asked for before'),
  backfills.length === 0
    ? el('p', { class: 'card' }, 'None yet.')
    : el('div', { class: 'card flush' }, listed(backfills)),
]

/** @param {string} id */
const timeInput = (id) => el('input', { id, name: id, placeholder: '2024-01-31T08:00Z', autocomplete: 'off' })

/** @param {Event} event */
function submitted(event) {
  event.preventDefault()
  void dryRun()
}

/** @param {string | null} chosen */
function form(chosen) {
  const plan = el('div', { id: 'plan', 'aria-live': 'polite' })
  const failure = el('p', { id: 'backfill-failure', class: 'failure', role: 'alert' })
  return el(
    'form',
    { class: 'card', 'aria-label': 'Backfill', submit: submitted },
    el(
      'div',
      { class: 'form' },
      field('Report', select({ id: 'backfill-report', names: reportNames, chosen })),
      field('From (UTC)', timeInput('backfill-from')),
      field('To (UTC)', timeInput('backfill-to')),
    ),
    el('p', { class: 'faint small' }, 'Left empty: from where the report is configured to start, up to now.'),
    failure,
    el(
      'div',
      { class: 'actions' },
      el('button', { type: 'submit', id: 'backfill-plan' }, 'Dry run'),
      el('button', { type: 'button', id: 'backfill-begin', class: 'primary', click: pressed(begin) }, 'Begin backfill'),
    ),
    plan,
  )
}

/** @param {string} id */
const typed = (id) => /** @type {HTMLInputElement} */ (byId(id)).value.trim()

function asked() {
  const from = typed('backfill-from')
  const to = typed('backfill-to')
  return { report: typed('backfill-report'), ...(from && { from }), ...(to && { to }) }
}

/** How often something was asked for: a plan that comes late is not of what was asked last. */
let asking = 0

async function dryRun() {
  const mine = (asking += 1)
  // The view may be left, or another of its kind be there, when the plan comes.
  const [plan, failure] = [byId('plan'), byId('backfill-failure')]
  failure.textContent = ''
  fill(plan, el('p', { class: 'faint' }, 'Asking …'))
  try {
    const answer = /** @type {Plan} */ (await act('/api/backfills/plan', asked()))
    if (mine === asking) fill(plan, planned(answer))
  } catch (error) {
    if (mine !== asking) return
    fill(plan)
    failure.textContent = error instanceof Failure ? `${error.message}. ${error.cure}` : String(error)
  }
}

async function begin() {
  asking += 1
  byId('backfill-failure').textContent = ''
  fill(byId('plan'))
  await carryOut('/api/backfills', asked())
}

const WINDOWS_SHOWN = 12

/** @param {Plan} plan */
function planned({ report, since, until, goes_on: goesOn, requests, windows }) {
  const more = windows.length - WINDOWS_SHOWN
  const what = goesOn ? 'It was begun before and goes on' : 'It would read'
  return el(
    'div',
    { class: 'section' },
    el(
      'p',
      {},
      `${what}: ${counted(windows.length, 'window')}, about ${counted(requests, 'request')}, for ${report} from ${moment(since)} to ${moment(until)}. Nothing was written.`,
    ),
    table({
      caption: 'Windows of the plan, newest first',
      heads: [
        { name: 'Window', right: true },
        { name: 'From' },
        { name: 'To' },
        { name: 'Scope' },
        { name: 'Rows', right: true },
        { name: 'Requests', right: true },
      ],
      rows: windows
        .slice(0, WINDOWS_SHOWN)
        .map((each) => [
          each.number,
          moment(each.since),
          moment(each.until),
          each.scope,
          each.rows === null ? 'unknown' : grouped(each.rows),
          grouped(each.requests),
        ]),
    }),
    more > 0 ? el('p', { class: 'faint' }, `and ${counted(more, 'older window')}`) : null,
  )
}

/** @param {readonly Backfill[]} backfills */
const listed = (backfills) =>
  table({
    caption: 'Backfills, those asked for last first',
    heads: [
      { name: 'Report' },
      { name: 'State' },
      { name: 'From' },
      { name: 'To' },
      { name: 'Windows', right: true },
      { name: 'Rows', right: true },
      { name: 'Act' },
    ],
    rows: backfills.map((each) => [
      el('a', { href: `#/runs/${each.backfill_id}`, class: 'name' }, each.report),
      pill(each.state),
      moment(each.since),
      moment(each.until),
      `${each.done} / ${each.windows}${each.failed > 0 ? `, ${each.failed} failed` : ''}`,
      grouped(each.rows),
      each.state === 'pending' || each.state === 'failed'
        ? cancelButton(each.backfill_id, `the backfill of ${each.report}`)
        : '',
    ]),
  })

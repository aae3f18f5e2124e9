/** Pieces that several views show: states as pills, tables that become cards on a phone, what runs now. */
import { cancelButton } from './acts.js'
import { el } from './dom.js'
import { counted, duration, grouped, said } from './format.js'

/** @typedef {import('./dom.js').Child} Child */
/** @typedef {import('../api/shapes.ts').RunningRun} RunningRun */

const TONES = /** @type {Record<string, string>} */ ({
  done: 'good',
  failed: 'bad',
  paused: 'warn',
  running: 'busy',
  cancelled: 'warn',
  stopped: 'warn',
  pending: 'warn',
})

/** @param {string} state */
export const pill = (state) =>
  el('span', { class: `pill ${TONES[state] ?? ''} ${state === 'running' ? 'pulse' : ''}` }, said(state))

/**
 * @param {{ caption: string, heads: { name: string, right?: boolean }[], rows: Child[][] }} parts
 */
export function table({ caption, heads, rows }) {
  const headCells = heads.map(({ name, right }) =>
    el('th', { scope: 'col', role: 'columnheader', class: right ? 'number' : '' }, name),
  )
  const bodyRows = rows.map((cells) => el('tr', { role: 'row' }, ...cells.map((cell, n) => cellOf(cell, heads[n]))))
  return el(
    'table',
    { class: 'stacks', role: 'table' },
    el('caption', { class: 'hidden-words' }, caption),
    el('thead', { role: 'rowgroup' }, el('tr', { role: 'row' }, ...headCells)),
    el('tbody', { role: 'rowgroup' }, ...bodyRows),
  )
}

/** @param {Child} content @param {{ name: string, right?: boolean } | undefined} head */
const cellOf = (content, head) =>
  el(
    'td',
    {
      role: 'cell',
      class: `${head?.right ? 'number' : ''} ${content === '' ? 'empty' : ''}`,
      'data-head': head?.name ?? '',
    },
    content,
  )

/** @param {[string, Child][]} pairs */
export const facts = (pairs) =>
  el('dl', { class: 'facts' }, ...pairs.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))))

/** @param {readonly RunningRun[]} running */
export function runningCard(running) {
  if (running.length === 0) return null
  return el(
    'section',
    { class: 'section', 'aria-labelledby': 'running-title' },
    el('h2', { id: 'running-title' }, 'Running now'),
    el('ul', { class: 'card flush rows' }, ...running.map(runningRow)),
  )
}

/** @param {RunningRun} run */
function runningRow(run) {
  const { run_id: id, report, kind, windows } = run
  const name = `${said(kind)} of ${report}`
  const bar =
    windows === null
      ? el('progress', { 'aria-label': `Progress of the ${name}`, max: run.rows_expected ?? 1, value: barValue(run) })
      : el('progress', { 'aria-label': `Progress of the ${name}`, max: windows.total || 1, value: windows.done })
  return el(
    'li',
    {},
    el(
      'div',
      { class: 'grow progress' },
      el('div', { class: 'head' }, el('a', { href: `#/runs/${id}`, class: 'name' }, name), pill('running')),
      bar,
      el('p', { class: 'faint small' }, progressText(run)),
    ),
    cancelButton(id, `the ${name}`),
  )
}

/** Undefined shows a bar that says only that something goes on. @param {RunningRun} run */
const barValue = ({ rows, rows_expected: expected }) => (expected === null ? undefined : Math.min(rows, expected))

/** @param {RunningRun} run */
function progressText({ windows, pages, rows, rows_expected: expected }) {
  // A walk that is proven by a second one reads more than there is.
  const known =
    expected === null || rows > expected ? counted(rows, 'row') : `${grouped(rows)} of ${counted(expected, 'row')}`
  const done = `${known}, ${counted(pages, 'page')}`
  if (windows === null) return done
  const left = windows.ms_left === null ? '' : `, about ${duration(windows.ms_left / 1_000)} left`
  const failed = windows.failed === 0 ? '' : `, ${windows.failed} failed`
  return `${windows.done} of ${counted(windows.total, 'window')}${failed}, ${done}${left}`
}

/** A command that the button beside it spares: at the end of a sentence that says when. */
const RESUMING = /\brun: (tidemark (?:resume|check)\b.*)$/is

/**
 * What to do, said for this page: which button to press, with the command as the other way.
 * @param {string} cure
 * @param {boolean} canResume whether a button beside it resumes
 */
export function cureText(cure, canResume) {
  const [found, command] = RESUMING.exec(cure) ?? []
  if (found === undefined || command === undefined || !canResume) return el('p', {}, cure)
  const before = cure.slice(0, -found.length)
  const press = before === '' ? 'Press ' : 'press '
  return el(
    'p',
    {},
    before,
    press,
    el('strong', {}, 'Resume'),
    ' (or run: ',
    el('span', { class: 'code' }, command),
    ')',
  )
}

/** @param {string} title @param {string} [text] */
export const lead = (title, text) =>
  el('div', { class: 'lead' }, el('h1', { id: 'title', tabindex: '-1' }, title), text ? el('p', {}, text) : null)

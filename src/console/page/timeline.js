/**
 * Covered time as a band: what was read whole, and the gaps. The same stands below it as a list, for who does not see it and
 * for who wants the exact times.
 */
import { nowMs } from './clock.js'
import { el, svg } from './dom.js'
import { counted, millis, moment } from './format.js'

/** @typedef {{ since: string | null, until: string }} Span */
/** @typedef {{ scope: string, asked: boolean, covered: Span[], gaps: Span[], reading_again: (Span & { because: readonly string[] }) | null }} Coverage */

const WIDTH = 1_000
const HEIGHT = 26
/** A gap of a minute in twenty years must still be seen. */
const WIDTH_MIN = 3
const SPANS_LISTED = 12

/** @param {readonly Coverage[]} coverage @param {string} start where the report is configured to start */
export function timelines(coverage, start) {
  const read = coverage.filter(({ covered }) => covered.length > 0)
  if (read.length === 0)
    return el('p', { class: 'faint' }, 'No time was read whole yet, or the report is read record by record.')
  return el(
    'div',
    { class: 'section' },
    ...read.map((scope) => timeline(scope, start)),
    el(
      'p',
      { class: 'legend', 'aria-hidden': 'true' },
      el('span', { class: 'covered' }, 'read whole'),
      el('span', { class: 'gap' }, 'gap'),
      el('span', {}, 'not asked for'),
    ),
  )
}

/** @param {Coverage} coverage @param {string} start */
function timeline({ scope, asked, covered, gaps, reading_again: again }, start) {
  const now = nowMs()
  const from = Math.min(millis(start), ...covered.map(({ since }) => (since === null ? Infinity : millis(since))))
  const x = (/** @type {string | null} */ time) =>
    time === null ? 0 : Math.max(0, Math.min(WIDTH, ((millis(time) - from) / (now - from)) * WIDTH))
  const band =
    (/** @type {string} */ kind) =>
    (/** @type {Span} */ { since, until }) => {
      const left = x(since)
      const title = svg('title', {}, `${kind}: ${spanText({ since, until })}`)
      return svg(
        'rect',
        { class: kind, x: left, y: 3, width: Math.max(WIDTH_MIN, x(until) - left), height: HEIGHT - 6 },
        title,
      )
    }
  const words = wordsOf(scope, covered, gaps)
  return el(
    'div',
    { class: 'section' },
    scope === '' ? null : el('h3', {}, scope),
    svg(
      'svg',
      {
        class: 'timeline',
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        preserveAspectRatio: 'none',
        role: 'img',
        'aria-label': words,
      },
      svg('rect', { class: 'never', x: 0, y: 3, width: WIDTH, height: HEIGHT - 6, rx: 4 }),
      ...covered.map(band('covered')),
      ...gaps.map(band('gap')),
    ),
    el('p', { class: 'head faint small' }, el('span', {}, moment(new Date(from).toISOString())), el('span', {}, 'now')),
    el('p', {}, words),
    asked ? null : el('p', {}, 'It is not asked for any more: the configuration names it no longer.'),
    again === null
      ? null
      : el('p', {}, `Being read again up to ${moment(again.until)}, since ${again.because.join(' and ')} changed.`),
    gaps.length === 0 ? null : spanList('Gaps', gaps),
  )
}

/** @param {string} title @param {readonly Span[]} spans */
function spanList(title, spans) {
  const more = spans.length - SPANS_LISTED
  return el(
    'ul',
    { 'aria-label': title },
    ...spans.slice(0, SPANS_LISTED).map((span) => el('li', {}, spanText(span))),
    more > 0 ? el('li', {}, `and ${more} more`) : null,
  )
}

/** @param {Span} span */
const spanText = ({ since, until }) => `${since === null ? 'the beginning' : moment(since)} to ${moment(until)}`

/** @param {string} scope @param {readonly Span[]} covered @param {readonly Span[]} gaps */
function wordsOf(scope, covered, gaps) {
  const first = covered[0]?.since ?? null
  const from = first === null ? 'from the beginning' : `from ${moment(first)}`
  const holes = gaps.length === 0 ? 'without a gap' : `with ${counted(gaps.length, 'gap')}`
  return `${scope === '' ? 'Read' : `${scope}: read`} ${from} to ${moment(covered.at(-1)?.until ?? null)}, ${holes}.`
}

/** Draws a line for each currency or entity of a report: the periods that were read completely, and the gaps. */
import { nowMs } from './clock.js'
import { counted, millis, moment } from './format.js'
import { html } from './html.js'

/** @typedef {import('../../status/coverage.ts').ScopeCoverage} Coverage */
/** @typedef {Coverage['gaps'][number]} Span */

const WIDTH = 1_000
const HEIGHT = 26
/** The minimal width of a period in SVG units. Without it, short gaps would be invisible. */
const SPAN_WIDTH_MIN = 3
const SPANS_LISTED = 12

/** @param {readonly Coverage[]} coverage @param {string} start the configured start of the report */
export function timelines(coverage, start) {
  const read = coverage.filter(({ covered }) => covered.length > 0)
  if (read.length === 0)
    return html`<p class="faint">No time was read completely yet, or the report is read record by record.</p>`
  return html`
    ${read.map((scope) => timeline(scope, start))}
    <small class="row" aria-hidden="true">
      <span><span class="covered">■</span> read completely</span>
      <span><span class="gap">■</span> gap</span>
      <span><span class="never">■</span> not requested</span>
    </small>
  `
}

/** @param {Coverage} coverage @param {string} start */
function timeline({ scope, asked, covered, gaps, reading_again: again }, start) {
  const from = Math.min(millis(start), ...covered.map(({ since }) => (since === null ? Infinity : millis(since))))
  const words = wordsOf(scope, covered, gaps)
  return html`
    <div>
      ${scope && html`<h3>${scope}</h3>`}
      ${band({ covered, gaps, words, from })}
      <small class="row spread"><span>${moment(new Date(from).toISOString())}</span><span>now</span></small>
      <p>${words}</p>
      ${!asked && html`<p>No longer requested: the configuration does not name it any more.</p>`}
      ${again && html`<p>Being read again up to ${moment(again.until)}, ${again.because.includes('reset') ? 'after a reset' : `because ${again.because.join(' and ')} changed`}.</p>`}
      ${gaps.length > 0 && gapList(gaps)}
    </div>
  `
}

/** @param {{ covered: readonly Span[], gaps: readonly Span[], words: string, from: number }} content */
function band({ covered, gaps, words, from }) {
  const toNow = nowMs() - from
  const x = (/** @type {string | null} */ time) =>
    time === null ? 0 : Math.max(0, Math.min(WIDTH, ((millis(time) - from) / toNow) * WIDTH))
  const rect = (/** @type {string} */ kind) => (/** @type {Span} */ span) => {
    const left = x(span.since)
    const width = Math.max(SPAN_WIDTH_MIN, x(span.until) - left)
    return html`
      <rect class=${kind} x=${left} y="3" width=${width} height=${HEIGHT - 6}><title>${kind}: ${spanText(span)}</title></rect>
    `
  }
  return html`
    <svg width="100%" height=${HEIGHT} viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label=${words}>
      <rect class="never" x="0" y="3" width=${WIDTH} height=${HEIGHT - 6} rx="4" />
      ${covered.map(rect('covered'))} ${gaps.map(rect('gap'))}
    </svg>
  `
}

/** @param {readonly Span[]} gaps */
const gapList = (gaps) => html`
  <ul aria-label="Gaps">
    ${gaps.slice(0, SPANS_LISTED).map((span) => html`<li>${spanText(span)}</li>`)}
    ${gaps.length > SPANS_LISTED && html`<li>and ${gaps.length - SPANS_LISTED} more</li>`}
  </ul>
`

/** @param {Span} span */
const spanText = ({ since, until }) => `${since === null ? 'the beginning' : moment(since)} to ${moment(until)}`

/** @param {string} scope @param {readonly Span[]} covered @param {readonly Span[]} gaps */
function wordsOf(scope, covered, gaps) {
  const first = covered[0]?.since ?? null
  const from = first === null ? 'from the beginning' : `from ${moment(first)}`
  const holes = gaps.length === 0 ? 'without a gap' : `with ${counted(gaps.length, 'gap')}`
  return `${scope === '' ? 'Read' : `${scope}: read`} ${from} to ${moment(covered.at(-1)?.until ?? null)}, ${holes}.`
}

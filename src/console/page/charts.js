/** Charts drawn with uPlot. Screen readers read a text with the same facts. */
import { duration, grouped, millis, moment } from './format.js'
import { Component, createRef, html } from './html.js'
import uPlot from './libraries/uplot.js'
import { isDark } from './theme.js'

/** @typedef {{ words: string, data: [number[], number[]], text: (value: number) => string, bars?: boolean }} ChartProps */

const HEIGHT = 200
const tooFew = () => html`<p class="faint">The chart begins with the second run.</p>`

/** @param {readonly { at: string, mark: string }[]} marks */
export function lagChart(marks) {
  if (marks.length < 2) return tooFew()
  const points = marks.flatMap(({ at, mark }, n) => {
    const seconds = millis(at) / 1_000
    const before = marks[n - 1]
    const lagAfter = /** @type {const} */ ([seconds, seconds - millis(mark) / 1_000])
    if (before === undefined) return [lagAfter]
    // Draws a vertical line at the end of each run, where the lag drops.
    return [/** @type {const} */ ([seconds - 0.001, seconds - millis(before.mark) / 1_000]), lagAfter]
  })
  const lags = points.map(([, lag]) => lag)
  const words = `Lag between ${moment(marks[0]?.at ?? null)} and ${moment(marks.at(-1)?.at ?? null)}: at most ${duration(Math.max(...lags))}, at the end ${duration(lags.at(-1) ?? 0)}.`
  return chart({ words, data: [points.map(([seconds]) => seconds), lags], text: duration })
}

/** @param {readonly { ended_at: string | null, rows: number }[]} runs newest first */
export function rowsChart(runs) {
  const ended = runs.filter(({ ended_at: at }) => at !== null).toReversed()
  if (ended.length < 2) return tooFew()
  const times = ended.map(({ ended_at: at }) => millis(at ?? '') / 1_000)
  const rows = ended.map((run) => run.rows)
  const words = `Rows of the last ${ended.length} runs: at most ${grouped(Math.max(...rows))}, in the last one ${grouped(rows.at(-1) ?? 0)}.`
  return chart({ words, data: [times, rows], text: grouped, bars: true })
}

/** The key makes Preact create a new chart when the text or the colours change. @param {ChartProps} props */
const chart = (props) => html`
  <${Chart} key=${`${isDark()} ${props.words}`} ...${props} />
`

/** @extends {Component<ChartProps>} */
class Chart extends Component {
  /** @type {uPlot | undefined} */
  plot
  ref = /** @type {{ current: HTMLElement | null }} */ (createRef())
  resizing = new ResizeObserver(() => this.plot?.setSize({ width: this.ref.current?.clientWidth ?? 0, height: HEIGHT }))

  componentDidMount() {
    const place = /** @type {HTMLElement} */ (this.ref.current)
    this.plot = plotIn(place, this.props)
    this.resizing.observe(place)
  }

  componentWillUnmount() {
    this.resizing.disconnect()
    this.plot?.destroy()
  }

  /** @param {ChartProps} props */
  render({ words }) {
    return html`<div ref=${this.ref} class="chart" role="img" aria-label=${words}></div>`
  }
}

/** @param {HTMLElement} place @param {ChartProps} props */
function plotIn(place, { data, text, bars = false }) {
  const { color, stroke, fill } = getComputedStyle(place)
  const axis = {
    stroke: color,
    grid: { stroke, width: 1 },
    ticks: { stroke, width: 1 },
    font: '12px system-ui, sans-serif',
  }
  const paths = bars ? uPlot.paths.bars?.({ size: [0.7, 14, 2] }) : undefined
  const line = { stroke: fill, width: 2, points: { show: false } }
  return new uPlot(
    {
      width: place.clientWidth,
      height: HEIGHT,
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC'),
      cursor: { show: false },
      legend: { show: false },
      scales: { y: { range: (_, __, max) => [0, max <= 0 ? 1 : max * 1.1] } },
      axes: [
        { ...axis, space: 76, values: (_, seconds) => seconds.map(clockText(seconds)) },
        { ...axis, size: 92, values: (_, values) => values.map(text) },
      ],
      series: [{}, paths === undefined ? line : { ...line, paths, fill }],
    },
    data,
    place,
  )
}

const DAY_SECONDS = 86_400

/** Returns, for example, `11-21`, `10:22` or `10:22:16`. @param {readonly number[]} seconds */
function clockText(seconds) {
  const span = (seconds.at(-1) ?? 0) - (seconds[0] ?? 0)
  const [from, to] = span > 2 * DAY_SECONDS ? [5, 10] : span < 300 ? [11, 19] : [11, 16]
  return (/** @type {number} */ each) => new Date(each * 1_000).toISOString().slice(from, to)
}

const SPARK = { width: 112, height: 26, bars: 12 }

/** @param {readonly number[]} rows of the last runs */
export function sparkline(rows) {
  if (rows.length === 0) return ''
  const max = Math.max(1, ...rows)
  const step = SPARK.width / Math.max(rows.length, SPARK.bars)
  const bar = (/** @type {number} */ value, /** @type {number} */ n) => {
    const height = Math.max(1, (value / max) * SPARK.height)
    return html`<rect x=${n * step} y=${SPARK.height - height} width=${step * 0.7} height=${height} rx="1" />`
  }
  const words = `Rows of the last ${rows.length} runs, at most ${grouped(max)}`
  return html`
    <svg width=${SPARK.width} height=${SPARK.height} role="img" aria-label=${words}>${rows.map(bar)}</svg>
  `
}

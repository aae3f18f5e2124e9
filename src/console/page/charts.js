/**
 * Charts by uPlot, in the page's own colours. Each has the same in words for who does not see it, and beside them the table
 * of runs has every number.
 */
import uPlot from './uplot/uPlot.esm.js'
import { el, svg } from './dom.js'
import { duration, grouped, millis, moment } from './format.js'

/** @typedef {{ at: string, mark: string }} MarkPoint */
/** @typedef {{ ended_at: string | null, rows: number, kind: string }} RunPoint */

const HEIGHT = 200

/** @type {Set<{ chart: uPlot, place: HTMLElement }>} */
const drawn = new Set()

/** Charts of a view that is gone are forgotten. */
export function forgetCharts() {
  for (const { chart } of drawn) chart.destroy()
  drawn.clear()
}

addEventListener('resize', () => {
  for (const { chart, place } of drawn) chart.setSize({ width: place.clientWidth, height: HEIGHT })
})

/**
 * How far the mark stood behind the clock: it grows between runs and falls with each.
 * @param {readonly MarkPoint[]} marks
 */
export function lagChart(marks) {
  if (marks.length < 2) return el('p', { class: 'faint' }, 'The chart begins with the second run.')
  const times = /** @type {number[]} */ ([])
  const lags = /** @type {number[]} */ ([])
  let before = /** @type {MarkPoint | undefined} */ (undefined)
  for (const point of marks) {
    const at = millis(point.at) / 1_000
    if (before !== undefined) {
      times.push(at - 0.001)
      lags.push(at - millis(before.mark) / 1_000)
    }
    times.push(at)
    lags.push(at - millis(point.mark) / 1_000)
    before = point
  }
  const words = `Lag between ${moment(marks[0]?.at ?? null)} and ${moment(marks.at(-1)?.at ?? null)}: at most ${duration(Math.max(...lags))}, at the end ${duration(lags.at(-1) ?? 0)}.`
  return chartIn(words, (place) => plot(place, { data: [times, lags], text: duration }))
}

/** @param {readonly RunPoint[]} runs newest first */
export function rowsChart(runs) {
  const ended = runs.filter(({ ended_at: at }) => at !== null).toReversed()
  if (ended.length < 2) return el('p', { class: 'faint' }, 'The chart begins with the second run.')
  const times = ended.map(({ ended_at: at }) => millis(at ?? '') / 1_000)
  const rows = ended.map((run) => run.rows)
  const words = `Rows of the last ${ended.length} runs: at most ${grouped(Math.max(...rows))}, in the last one ${grouped(rows.at(-1) ?? 0)}.`
  const bars = uPlot.paths.bars?.({ size: [0.7, 14, 2] })
  return chartIn(words, (place) => plot(place, { data: [times, rows], text: grouped, paths: bars }))
}

/** @param {string} words @param {(place: HTMLElement) => uPlot} draw */
function chartIn(words, draw) {
  const place = el('div', { class: 'chart', role: 'img', 'aria-label': words })
  // It is drawn when it has a width.
  requestAnimationFrame(() => {
    if (place.isConnected) drawn.add({ chart: draw(place), place })
  })
  return el('figure', { class: 'figure' }, place)
}

/** @param {string} name */
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name)

/**
 * @param {HTMLElement} place
 * @param {{ data: [number[], number[]], text: (value: number) => string, paths?: uPlot.Series.PathBuilder | undefined }} parts
 */
function plot(place, { data, text, paths }) {
  const axis = {
    stroke: colour('--faint'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { stroke: colour('--line'), width: 1 },
    font: '12px system-ui, sans-serif',
  }
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
      series: [
        {},
        {
          stroke: colour('--series'),
          width: 2,
          points: { show: false },
          ...(paths && { paths, fill: colour('--series') }),
        },
      ],
    },
    data,
    place,
  )
}

const DAY_SECONDS = 86_400

/** As short as tells the marks of an axis apart. @param {readonly number[]} seconds */
function clockText(seconds) {
  const span = (seconds.at(-1) ?? 0) - (seconds[0] ?? 0)
  const [from, to] = span > 2 * DAY_SECONDS ? [5, 10] : span < 300 ? [11, 19] : [11, 16]
  return (/** @type {number} */ each) => new Date(each * 1_000).toISOString().slice(from, to)
}

const SPARK = { width: 112, height: 26 }

/** Small bars: the rows of the last runs. @param {readonly number[]} rows */
export function spark(rows) {
  if (rows.length === 0) return ''
  const max = Math.max(1, ...rows)
  const step = SPARK.width / Math.max(rows.length, 12)
  const bars = rows.map((value, n) => {
    const height = Math.max(1, (value / max) * SPARK.height)
    return svg('rect', { x: n * step, y: SPARK.height - height, width: step * 0.7, height, rx: 1 })
  })
  const words = `Rows of the last ${rows.length} runs, at most ${grouped(max)}`
  return svg(
    'svg',
    { class: 'spark', viewBox: `0 0 ${SPARK.width} ${SPARK.height}`, role: 'img', 'aria-label': words },
    ...bars,
  )
}

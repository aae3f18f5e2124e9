/** Draws `docs/images/year.png` from the samples of a soak of a year, `docs/images/year.csv`. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { ROOT } from '../../test/rules/source.ts'
import { samplesOf } from '../soak/year/samples.ts'
import { PASS_MS, type YearRow } from '../soak/year/year.ts'
import { COLOURS, drawPicture, FAINT, GRID, type Place, svgOf, textAt } from './picture.ts'

interface Panel {
  readonly title: string
  readonly lines: readonly string[]
  readonly bound: string
}

const PANELS: readonly Panel[] = [
  { title: 'Files', lines: ['warehouse bytes', 'published bytes'], bound: 'freed blocks are used again' },
  { title: 'Memory', lines: ['rss bytes', 'heap bytes'], bound: 'warehouse_memory, fixed pools' },
  {
    title: 'Books: what history trims',
    lines: ['tidemark.runs', 'tidemark.windows', 'tidemark.loads'],
    bound: 'history (here 7d)',
  },
  {
    title: 'Books: marks and coverage',
    lines: ['tidemark.marks', 'tidemark.covered', 'tidemark.countings'],
    bound: 'one row per report and scope',
  },
  {
    title: 'Books: repairs',
    lines: ['tidemark.reconciles', 'tidemark.backfills', 'tidemark.absences'],
    bound: 'history; absences end with the next reconcile',
  },
  { title: 'Queue: files', lines: ['queue bytes'], bound: 'max_wal_size 64 MB, VACUUM every 30 min' },
  { title: 'Queue: jobs', lines: ['queue jobs'], bound: 'JOBS_KEPT_MS: 1 h, failed 7 d' },
  { title: 'Run logs: files', lines: ['run log files'], bound: 'history, one file an hour' },
  { title: 'Run logs: bytes', lines: ['run log bytes'], bound: 'LOGS_BYTES_MAX 256 MiB, history' },
  { title: 'Staging: entries', lines: ['staging entries'], bound: 'each load removes its files' },
  { title: 'Open handles', lines: ['open handles'], bound: 'what is opened is closed' },
  { title: 'Rows of the reports', lines: ['rows of reports'], bound: 'the service adds no rows here' },
]

const COLUMNS = 3
const PANEL = { width: 400, height: 190 }
const PLOT = { left: 62, top: 34, width: 316, height: 116 }
const HEAD = 56
const DAY_MS = 24 * 3_600_000

const MIB = 2 ** 20
const shown = (value: number, isBytes: boolean): string =>
  isBytes ? `${(value / MIB).toFixed(value < 10 * MIB ? 1 : 0)} MiB` : Math.round(value).toLocaleString('en')

const daysOf = (ticks: number): number => (ticks * PASS_MS) / DAY_MS

function drawPanel({ title, lines, bound }: Panel, rows: readonly YearRow[], { x, y }: Place): string {
  const isBytes = lines.every((name) => name.endsWith('bytes'))
  const largest = Math.max(1, ...rows.flatMap(({ sample }) => lines.map((name) => sample[name] ?? 0))) * 1.1
  const [left, bottom] = [x + PLOT.left, y + PLOT.top + PLOT.height]
  const ticks = rows.at(-1)?.tick ?? 1
  const across = (tick: number) => left + (tick / ticks) * PLOT.width
  const up = (value: number) => bottom - (value / largest) * PLOT.height
  const grid = [0, 0.5, 1].map((share) => {
    const height = up(largest * share)
    const rule = `<line x1="${left}" y1="${height}" x2="${left + PLOT.width}" y2="${height}" stroke="${GRID}"/>`
    return (
      rule +
      textAt({ x: left - 6, y: height + 4 }, shown(largest * share, isBytes), {
        size: 10,
        colour: FAINT,
        anchor: 'end',
      })
    )
  })
  const drawn = lines.map((name, place) => {
    const points = rows.map(({ tick, sample }) => `${across(tick).toFixed(1)},${up(sample[name] ?? 0).toFixed(1)}`)
    const colour = COLOURS[place % COLOURS.length] as string
    const label = name.replace(/^tidemark\.| bytes$/g, '')
    const key =
      lines.length === 1 ? '' : textAt({ x: left + 6 + place * 92, y: y + PLOT.top + 12 }, label, { size: 11, colour })
    return `<polyline points="${points.join(' ')}" fill="none" stroke="${colour}" stroke-width="1.8"/>${key}`
  })
  const days = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const day = `${Math.round(daysOf(ticks * share))} d`
    return textAt({ x: left + share * PLOT.width, y: bottom + 14 }, day, { size: 10, colour: FAINT, anchor: 'middle' })
  })
  const head = [
    textAt({ x: x + 8, y: y + 14 }, title, { size: 13, bold: true }),
    textAt({ x: x + 8, y: y + 28 }, bound, { size: 11, colour: FAINT }),
  ]
  return [...head, ...grid, ...drawn, ...days].join('')
}

export async function drawYear(): Promise<void> {
  const rows = samplesOf(readFileSync(path.join(ROOT, 'docs/images/year.csv'), 'utf8'))
  const ticks = rows.at(-1)?.tick ?? 0
  const size = { width: COLUMNS * PANEL.width, height: HEAD + Math.ceil(PANELS.length / COLUMNS) * PANEL.height }
  const days = Math.round(daysOf(ticks))
  const head = [
    textAt(
      { x: 8, y: 22 },
      `A worker over ${days} days: ${ticks.toLocaleString('en')} ticks with edits and deletions`,
      { size: 15, bold: true },
    ),
    textAt({ x: 8, y: 40 }, 'One tick is 53 minutes. Below each title: what bounds the lines.', { colour: FAINT }),
  ]
  const panels = PANELS.map((panel, place) =>
    drawPanel(panel, rows, {
      x: (place % COLUMNS) * PANEL.width,
      y: HEAD + Math.floor(place / COLUMNS) * PANEL.height,
    }),
  )
  await drawPicture('year.png', svgOf(size, [...head, ...panels]), size)
}

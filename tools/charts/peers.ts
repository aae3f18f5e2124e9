/** Draws `docs/images/peers.png`: the section `peers` of bench/RESULTS.md, one panel for each question. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { ROOT } from '../../test/rules/source.ts'
import { COLOURS, drawPicture, FAINT, GRID, type Place, svgOf, textAt } from './picture.ts'

interface Figure {
  readonly program: string
  readonly what: string
  readonly measured: string
  readonly detail: string
}

interface Panel {
  readonly title: string
  /** Returns undefined if the figure does not belong to the panel. */
  readonly bar: (figure: Figure) => { readonly value: number; readonly label: string } | undefined
}

const COMPARED = 'against the service at the end'

const speed = (what: string) => (figure: Figure) => {
  const value = Number.parseFloat(figure.measured)
  return figure.what === what ? { value, label: `${thousands(value)} rows/s` } : undefined
}

const PANELS: readonly Panel[] = [
  { title: 'First sync', bar: speed('first sync') },
  { title: '1 % of the rows changed', bar: speed('1 % changed') },
  { title: 'First sync, 150 ms a response', bar: speed('first sync, 150 ms a response') },
  { title: 'First sync, 50 changes a second', bar: speed('first sync, 50 changes a second') },
  {
    title: 'Peak memory of the first sync',
    bar: ({ what, detail }) => {
      const megabytes = Number(/([\d.]+) MB/.exec(detail)?.[1])
      return what === 'first sync' ? { value: megabytes, label: `${thousands(megabytes)} MB` } : undefined
    },
  },
  {
    title: 'Wrong rows after changes',
    bar: ({ what, measured }) => {
      if (what !== COMPARED) return undefined
      const counts = [...measured.matchAll(/(\d+) (lost|stale|doubled|extra)/g)].filter(([, count]) => count !== '0')
      const value = counts.reduce((sum, [, count]) => sum + Number(count), 0)
      return { value, label: value === 0 ? 'none' : counts.map(([words]) => words).join(', ') }
    },
  },
]

const thousands = (value: number): string => Math.round(value).toLocaleString('en')

/** Throws if there is no section of the suite. */
export function peersOf(results: string): { readonly figures: Figure[]; readonly about: string } {
  const section = results.split(/^(?=## )/m).find((each) => each.startsWith('## peers:'))
  if (section === undefined) throw new TypeError('RESULTS.md has no section peers. Type: npm run bench -- peers')
  const figures = [...section.matchAll(/^\| (.+?): (.+?) \| (.+?) \| .*? \| .*? \| (.*) \|$/gm)]
    .filter(([line]) => !line.includes('÷'))
    .map(([, program = '', what = '', measured = '', detail = '']) => ({ program, what, measured, detail }))
  const [, when = '', rows = '', machine = ''] = /^(\S+)T\S+ · (\d+) rows, [^·]*· ([^·]*)/m.exec(section) ?? []
  const largest = /(\d+) rows:/.exec(figures.find(({ what }) => what === 'first sync')?.detail ?? '')?.[1] ?? rows
  return {
    figures,
    about: `events with two collections, ${thousands(Number(largest))} rows, ${machine.trim()}, ${when}`,
  }
}

const COLUMNS = 3
const PANEL = { width: 400, height: 152 }
const BAR = { height: 18, step: 26, labels: 118, width: 130 }
const HEAD = 64
const MARGIN = 16

function drawPanel({ title, bar }: Panel, figures: readonly Figure[], { x, y }: Place): string {
  const bars = figures.flatMap((figure) => {
    const drawn = bar(figure)
    return drawn === undefined ? [] : [{ program: figure.program, ...drawn }]
  })
  const largest = Math.max(1, ...bars.map(({ value }) => value))
  const parts = bars.map(({ program, value, label }, place) => {
    const top = y + 16 + place * BAR.step
    const width = Math.max(1, (value / largest) * BAR.width)
    const colour = COLOURS[place % COLOURS.length] as string
    return [
      textAt({ x: x + BAR.labels - 8, y: top + 13 }, program, { size: 12, anchor: 'end' }),
      `<rect x="${x + BAR.labels}" y="${top}" width="${width}" height="${BAR.height}" rx="2" fill="${colour}"/>`,
      textAt({ x: x + BAR.labels + width + 6, y: top + 13 }, label, { size: 12, bold: place === 0 }),
    ].join('')
  })
  const line = `<line x1="${x}" y1="${y + 6}" x2="${x + PANEL.width - 24}" y2="${y + 6}" stroke="${GRID}"/>`
  return [textAt({ x, y }, title, { size: 13, bold: true }), line, ...parts].join('')
}

export async function drawPeers(): Promise<void> {
  const { figures, about } = peersOf(readFileSync(path.join(ROOT, 'bench/RESULTS.md'), 'utf8'))
  const panels = PANELS.filter(({ bar }) => figures.some((figure) => bar(figure) !== undefined))
  const rows = Math.ceil(panels.length / COLUMNS)
  const size = { width: COLUMNS * PANEL.width + MARGIN, height: HEAD + rows * PANEL.height }
  const head = [
    textAt({ x: MARGIN, y: 22 }, 'The same service, rows and machine, in one run', { size: 15, bold: true }),
    textAt({ x: MARGIN, y: 40 }, about, { colour: FAINT }),
  ]
  const drawn = panels.map((panel, place) => {
    const [x, y] = [MARGIN + (place % COLUMNS) * PANEL.width, HEAD + 10 + Math.floor(place / COLUMNS) * PANEL.height]
    return drawPanel(panel, figures, { x, y })
  })
  await drawPicture('peers.png', svgOf(size, [...head, ...drawn]), size)
}

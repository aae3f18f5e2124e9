/**
 * Runs the named suites or all suites: `node bench/main.ts [SUITE…] [--rows N] [--rounds N]`. Prints a table of ratios,
 * and writes it to RESULTS.md.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { machineText } from './machine.ts'
import type { Line, Suite } from './measure.ts'
import { floorSuite } from './suites/floor.ts'
import { idleSuite } from './suites/idle.ts'
import { incrementalSuite } from './suites/incremental.ts'
import { latencySuite } from './suites/latency.ts'
import { memorySuite } from './suites/memory.ts'
import { peersSuite } from './suites/peers.ts'
import { publishingSuite } from './suites/publishing.ts'
import { queueSuite } from './suites/queue.ts'
import { requestsSuite } from './suites/requests.ts'
import { scalingSuite } from './suites/scaling.ts'
import { takeoverSuite } from './suites/takeover.ts'
import { ticksSuite } from './suites/ticks.ts'
import { workerSuite } from './suites/worker.ts'

const SUITES: readonly Suite[] = [
  floorSuite,
  incrementalSuite,
  ticksSuite,
  memorySuite,
  requestsSuite,
  latencySuite,
  publishingSuite,
  queueSuite,
  workerSuite,
  idleSuite,
  takeoverSuite,
  scalingSuite,
  peersSuite,
]
const RESULTS = new URL('RESULTS.md', import.meta.url)
const HEAD = `# Results

Written by \`node bench/main.ts\`; one section a suite, each from one run, medians of rounds in turns. Ratios count;
seconds only set the scale.
`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rows: { type: 'string', default: '100000' }, rounds: { type: 'string', default: '3' } },
})
const options = { rows: Number(values.rows), rounds: Number(values.rounds) }

const verdict = ({ isMet }: Line): string => (isMet === undefined ? '' : isMet ? 'yes' : '**no**')

function sectionText(suite: Suite, lines: readonly Line[], minutes: number): string {
  const rows = lines.map(
    (line) => `| ${line.what} | ${line.measured} | ${line.goal} | ${verdict(line)} | ${line.detail} |`,
  )
  return [
    `## ${suite.name}: ${suite.about}`,
    '',
    `${new Date().toISOString().slice(0, 16)}Z · ${options.rows} rows, ${options.rounds} rounds · ${machineText()} · took ${minutes.toFixed(1)} min`,
    '',
    '| what | measured | goal | met | |',
    '|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}

/** Replaces one suite's section in RESULTS.md. */
function keep(suite: Suite, text: string): void {
  const sections = known().filter((section) => !section.startsWith(`## ${suite.name}:`))
  const order = SUITES.map(({ name }) => name)
  const place = (section: string) => order.indexOf(/^## (\w+):/.exec(section)?.[1] ?? '')
  const all = [...sections, text].toSorted((a, b) => place(a) - place(b))
  writeFileSync(RESULTS, `${HEAD}\n${all.map((section) => section.trimEnd()).join('\n\n')}\n`)
}

function known(): string[] {
  try {
    return readFileSync(RESULTS, 'utf8')
      .split(/^(?=## )/m)
      .slice(1)
  } catch {
    return []
  }
}

for (const suite of SUITES) {
  if (positionals.length > 0 && !positionals.includes(suite.name)) continue
  const startedAt = performance.now()
  const lines = await suite.run(options)
  const text = sectionText(suite, lines, (performance.now() - startedAt) / 60_000)
  process.stdout.write(`${text}\n`)
  keep(suite, text)
}

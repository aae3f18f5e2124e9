/** Runs seeds (`npm run simulate`) and prints a summary. For a failing seed, prints all that is needed to repeat it. */
import { parseArgs } from 'node:util'
import { type Fault, faultNames, Tally } from '../../test/simulation/faults.ts'
import { failureText } from '../../test/simulation/failure.ts'
import { drawScenario } from '../../test/simulation/scenario.ts'
import { type Figures, simulate } from '../../test/simulation/simulate.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    seed: { type: 'string' },
    first: { type: 'string', default: '1' },
    fault: { type: 'string' },
    json: { type: 'boolean', default: false },
    'stop-at-first': { type: 'boolean', default: false },
  },
})

const GAP = /^(?:gap|died) after /
const range =
  values.seed === undefined
    ? Array.from({ length: Number(values.seeds) }, (_, n) => Number(values.first) + n)
    : [Number(values.seed)]
/** With `--fault`, only seeds that have this fault. */
const seeds = range.filter((seed) => values.fault === undefined || drawScenario(seed).faults.has(values.fault as Fault))
const started = performance.now()
const tally = new Tally()
const sums: Record<string, number> = {}
const failed: number[] = []
let broken: string | undefined
let done = 0
for (const seed of seeds) {
  const result = await simulate(seed, { historyLines: values.seed === undefined ? 40 : 400 })
  done += 1
  tally.addAll(result.tally)
  for (const [name, figure] of Object.entries(result.figures) as [keyof Figures, number][]) {
    sums[name] = name === 'requestsOfLongestRun' ? Math.max(sums[name] ?? 0, figure) : (sums[name] ?? 0) + figure
  }
  if (result.broken.length === 0) continue
  failed.push(seed)
  broken ??= result.broken[0]
  process.stderr.write(`${failureText(result)}\n\n`)
  if (values['stop-at-first']) break
}
const elapsedMs = Math.round(performance.now() - started)
const sorted = [...tally.counts].toSorted(([a], [b]) => a.localeCompare(b))
const counts = Object.fromEntries(sorted.filter(([what]) => !GAP.test(what)))
/** A gap is a moment between two statements of a load. */
const gaps = {
  kinds: sorted.filter(([what]) => what.startsWith('gap after')).length,
  diedIn: sorted.filter(([what]) => what.startsWith('died after')).length,
  passed: sorted.reduce((sum, [what, times]) => sum + (what.startsWith('gap after') ? times : 0), 0),
  deaths: sorted.reduce((sum, [what, times]) => sum + (what.startsWith('died after') ? times : 0), 0),
  neverDiedIn: sorted.flatMap(([what]) => {
    const kind = /^gap after (.*)/.exec(what)?.[1]
    return kind === undefined || tally.of(`died after ${kind}`) > 0 ? [] : [kind]
  }),
}
const summary = {
  seeds: done,
  failed,
  broken,
  elapsedMs,
  msPerSeed: Math.round(elapsedMs / Math.max(1, done)),
  ...sums,
  /** `crashes` counts the faults that killed the process. */
  faults: faultNames.reduce((sum, fault) => sum + tally.of(fault), 0),
  crashes: tally.of('crash'),
  gaps,
  counts,
}
process.stdout.write(`${JSON.stringify(summary, null, values.json ? 0 : 2)}\n`)
process.exitCode = failed.length === 0 ? 0 : 1

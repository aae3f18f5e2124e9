/**
 * Runs a year in an hour (`npm run soak:year`), and checks the bounds of its samples. `--check` only checks the file.
 */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { brokenBounds } from './bounds.ts'
import { headOf, lineOf, samplesOf } from './samples.ts'
import { soakYear, YEAR_TICKS, type YearRow } from './year.ts'

const { values } = parseArgs({
  options: {
    ticks: { type: 'string', default: String(YEAR_TICKS) },
    every: { type: 'string', default: '100' },
    csv: { type: 'string', default: 'docs/images/year.csv' },
    check: { type: 'boolean', default: false },
  },
})
/** Short, so that most of the year shows the final level. */
const HISTORY_DAYS = 7
const startedAt = performance.now()
let isFirst = true

function write(row: YearRow): void {
  if (isFirst) writeFileSync(values.csv, headOf(row))
  isFirst = false
  appendFileSync(values.csv, lineOf(row))
  process.stderr.write(`tick ${row.tick} after ${Math.round((performance.now() - startedAt) / 1_000)} s\n`)
}

if (!values.check) {
  const [ticks, sampleEvery] = [Number(values.ticks), Number(values.every)]
  const { failures } = await soakYear({ ticks, sampleEvery, historyDays: HISTORY_DAYS, onSample: write })
  for (const [failure, times] of failures) process.stdout.write(`logged ${times} × ${failure}\n`)
}
const rows = samplesOf(readFileSync(values.csv, 'utf8'))
const broken = brokenBounds(rows, HISTORY_DAYS)
process.stdout.write(`${rows.length} samples, ${rows.at(-1)?.tick ?? 0} ticks\n`)
for (const line of broken) process.stdout.write(`${line}\n`)
process.stdout.write(broken.length === 0 ? 'every value is bounded\n' : `${broken.length} values are not bounded\n`)
process.exitCode = broken.length === 0 ? 0 : 1

/** Measures the peak memory of a first sync with collections, and of one with five times as many rows. */
import { type Line, type Options, type Suite, formatted } from '../measure.ts'
import { startTide } from '../programs/start.ts'
import { startService } from '../service/start.ts'

const TIMES = 5

async function peakMb(rows: number): Promise<number> {
  await using service = await startService('nine', rows)
  await using tide = await startTide({ url: service.url })
  return (await tide.order({ do: 'sync', reports: ['events'] })).peakMb
}

async function run({ rows }: Options): Promise<Line[]> {
  const once = await peakMb(rows)
  const more = await peakMb(TIMES * rows)
  return [
    {
      what: `peak memory of a first sync of ${rows} rows with nine collections`,
      measured: `${formatted(once, 0)} MB`,
      goal: '≤ 600 MB',
      isMet: once <= 600,
      detail: 'resident set of the whole process, Node and DuckDB',
    },
    {
      what: `the same of ${TIMES * rows} rows ÷ of ${rows}`,
      measured: formatted(more / once),
      goal: '≤ 1.2',
      isMet: more / once <= 1.2,
      detail: `${formatted(more, 0)} MB`,
    },
  ]
}

export const memorySuite: Suite = { name: 'memory', about: 'bounded by settings, not by data', run }

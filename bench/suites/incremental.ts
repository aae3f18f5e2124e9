/** Measures the cost of a change: 1,000 changed rows are synced into a small table and into a large one. */
import { type Line, median, type Options, type Suite, formatted } from '../measure.ts'
import { startTide, type Tide } from '../programs/start.ts'
import type { Done } from '../programs/tide.ts'
import { type Service, startService } from '../service/start.ts'
import { setTimeout as sleep } from 'node:timers/promises'

const CHANGED = 1_000
const SMALL_SHARE = 100
/** With the default overlap, each run would read the changes of all rounds again. */
const OVERLAP = '1s'
/** The service's clock has whole seconds. */
const NEXT_SECOND_MS = 1_100

interface Place {
  readonly service: Service
  readonly tide: Tide
}

async function changeAndSync({ service, tide }: Place): Promise<Done> {
  await service.change(CHANGED)
  await sleep(NEXT_SECOND_MS)
  return tide.order({ do: 'sync', reports: ['events'] })
}

const BOOKS_SQL = `
  SELECT string_agg(table_name || '=' || estimated_size, ' ' ORDER BY table_name) AS books
  FROM duckdb_tables() WHERE schema_name = 'tidemark' AND estimated_size > 0`

async function quiet({ tide }: Place): Promise<{ requests: number; ms: number; before: string; after: string }> {
  const books = async () => String((await tide.order({ do: 'rows', sql: BOOKS_SQL })).rows?.[0]?.['books'])
  const before = await books()
  const { requests, ms } = await tide.order({ do: 'sync', reports: ['events'] })
  return { requests, ms, before, after: await books() }
}

/** A load that runs out of memory raises the limit. */
async function memoryLimit({ tide }: Place): Promise<string> {
  const { rows } = await tide.order({ do: 'rows', sql: `SELECT current_setting('memory_limit') AS limit` })
  return String(rows?.[0]?.['limit'])
}

async function run({ rows, rounds }: Options): Promise<Line[]> {
  const smallRows = Math.max(2 * CHANGED, Math.round(rows / SMALL_SHARE))
  await using largeService = await startService('two', rows)
  await using smallService = await startService('two', smallRows)
  await using largeTide = await startTide({ url: largeService.url, overlap: OVERLAP })
  await using smallTide = await startTide({ url: smallService.url, overlap: OVERLAP })
  const large = { service: largeService, tide: largeTide }
  const small = { service: smallService, tide: smallTide }
  for (const { tide } of [small, large]) await tide.order({ do: 'sync', reports: ['events'] })
  for (const { tide } of [small, large]) await tide.order({ do: 'checkpoint' })
  // This run is not measured, because its window begins before the first sync.
  await large.tide.order({ do: 'sync', reports: ['events'] })
  const tick = await quiet(large)
  const files: number[] = []
  const runs = { large: [] as Done[], small: [] as Done[] }
  for (let n = 0; n < Math.max(5, 2 * rounds); n += 1) {
    runs.small.push(await changeAndSync(small))
    const done = await changeAndSync(large)
    runs.large.push(done)
    files.push(done.fileMb)
  }
  const limit = await memoryLimit(large)
  const of = (key: 'ms' | 'cpuMs') => ({
    large: median(runs.large.map((done) => done[key])),
    small: median(runs.small.map((done) => done[key])),
  })
  const [wall, processor] = [of('ms'), of('cpuMs')]
  // Wall time grows when other programs run.
  const ratio = processor.large / processor.small
  const growth = ((files.at(-1) ?? 0) / (files[0] ?? 1) - 1) * 100
  return [
    {
      what: `${CHANGED} changed rows with children into ${rows} rows ÷ into ${smallRows}, processor time`,
      measured: formatted(ratio),
      goal: '≤ 1.5',
      isMet: ratio <= 1.5,
      detail: `${formatted(processor.large, 0)} ms against ${formatted(processor.small, 0)} ms, whole runs; wall time ${formatted(wall.large, 0)} ms against ${formatted(wall.small, 0)} ms`,
    },
    {
      what: `growth of the file over ${files.length} such loads`,
      measured: `${formatted(growth, 1)} %`,
      goal: '≤ 10 % over 100',
      isMet: files.length >= 100 ? growth <= 10 : undefined,
      detail: `${formatted(files[0] ?? 0, 0)} MB → ${formatted(files.at(-1) ?? 0, 0)} MB; DuckDB's limit at the end: ${limit}`,
    },
    {
      what: 'requests of a tick that finds no change',
      measured: String(tick.requests),
      goal: '1 for each walk',
      isMet: tick.requests <= 1,
      detail: `${formatted(tick.ms, 0)} ms; books before: ${tick.before}; after: ${tick.after}`,
    },
  ]
}

export const incrementalSuite: Suite = { name: 'incremental', about: 'a cost that follows the change', run }

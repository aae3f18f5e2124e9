/** Measures how long a first sync waits for a service that needs 150 ms for each response. */
import type { ReportName } from '../../schema/index.ts'
import { startSandbox } from '../../src/sandbox/server.ts'
import { formatted, type Line, median, type Options, type Suite } from '../measure.ts'
import { startTide } from '../programs/start.ts'

const PAGE_ROWS = 500
const ROWS_MAX = 50_000
const LATENCY_MS = 150
/** Fixed, so that a higher setting does not raise the goal. */
const CONCURRENCY = 4
const GOAL = 1.3
const CURRENCIES = ['EUR']
const EACH = ['events', 'enquiries', 'budgets'] as const
/** Budgets are read twice, with and without deleted rows. */
const READS: Partial<Record<ReportName, number>> = { budgets: 2 }

interface First {
  readonly ms: number
  readonly requests: number
  readonly least: number
}

async function first(rows: number, latencyMs: number, reports: readonly (typeof EACH)[number][]): Promise<First> {
  const faults = latencyMs === 0 ? [] : [`slow:${latencyMs}`]
  await using sandbox = await startSandbox({ rows, faults, collections: false })
  await using tide = await startTide({ url: sandbox.url, pageSize: PAGE_ROWS, currencies: CURRENCIES })
  const { ms, requests } = await tide.order({ do: 'sync', reports })
  const pages = reports.map((report) => Math.ceil(sandbox.world.keys(report).length / PAGE_ROWS) * (READS[report] ?? 1))
  return { ms, requests, least: pages.reduce((sum, count) => sum + count, 0) }
}

async function line(reports: readonly (typeof EACH)[number][], { rows, rounds }: Options): Promise<Line> {
  const slow: First[] = []
  const quick: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    slow.push(await first(Math.min(rows, ROWS_MAX), LATENCY_MS, reports))
    quick.push((await first(Math.min(rows, ROWS_MAX), 0, reports)).ms)
  }
  const [{ least, requests }] = slow as [First]
  const waits = (least * LATENCY_MS) / CONCURRENCY
  const ms = median(slow.map((each) => each.ms))
  const ratio = ms / Math.max(waits, median(quick))
  return {
    what: `first sync of ${reports.join(', ')}: time ÷ bound`,
    measured: formatted(ratio),
    goal: `≤ ${GOAL}`,
    isMet: ratio <= GOAL,
    detail: `${formatted(ms / 1_000, 1)} s, ${requests} requests; ${least} pages, ${CONCURRENCY} at once: ${formatted(waits / 1_000, 1)} s; without latency: ${formatted(median(quick) / 1_000, 1)} s`,
  }
}

async function run(options: Options): Promise<Line[]> {
  const lines: Line[] = []
  for (const reports of [...EACH.map((report) => [report]), EACH]) lines.push(await line(reports, options))
  return lines
}

export const latencySuite: Suite = { name: 'latency', about: 'a first sync from a service with latency', run }

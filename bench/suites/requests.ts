/**
 * Compares the number of fetched pages with the least possible number. The sandbox's rows become denser towards the
 * present, and after a bulk import many rows have one instant. Measures without changes, and while rows change all the
 * time.
 */
import { type SandboxOptions, startSandbox } from '../../src/sandbox/server.ts'
import { type Line, type Options, type Suite, formatted } from '../measure.ts'
import { startTide } from '../programs/start.ts'

const PAGE_ROWS = 500
const ROWS_MAX = 100_000
const REPORTS = ['events', 'enquiries'] as const

async function pages(options: SandboxOptions, report: (typeof REPORTS)[number]) {
  await using sandbox = await startSandbox(options)
  await using tide = await startTide({ url: sandbox.url, pageSize: PAGE_ROWS })
  const { requests } = await tide.order({ do: 'sync', reports: [report] })
  const least = Math.ceil(sandbox.world.keys(report).length / PAGE_ROWS)
  return { requests, least, ratio: requests / least }
}

async function run({ rows }: Options): Promise<Line[]> {
  const lines: Line[] = []
  for (const report of REPORTS) {
    for (const [manner, changesPerSecond] of [
      ['quiet', 0],
      ['drifting', 20],
    ] as const) {
      const { requests, least, ratio } = await pages({ rows: Math.min(rows, ROWS_MAX), changesPerSecond }, report)
      lines.push({
        what: `first sync of ${report}, ${manner} service: requests ÷ least pages`,
        measured: formatted(ratio),
        goal: '–',
        isMet: undefined,
        detail: `${requests} against ${least} pages of ${PAGE_ROWS} rows`,
      })
    }
  }
  return lines
}

export const requestsSuite: Suite = { name: 'requests', about: 'pages fetched against the least possible', run }

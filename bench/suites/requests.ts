/**
 * Compares the number of fetched pages with the least possible number. Changes follow the requests, not the clock, so
 * that a busy machine counts the same requests.
 */
import { type SandboxOptions, startSandbox, type WorldReport } from '../../src/sandbox/server.ts'
import { type Line, type Options, type Suite, formatted } from '../measure.ts'
import { startTide } from '../programs/start.ts'

const PAGE_ROWS = 500
const ROWS_MAX = 100_000
const REPORTS = ['events', 'enquiries', 'automated_bookings', 'office_reservations', 'merf_submissions'] as const
/** At 50 requests a second, 25 rows change. */
const REQUESTS_A_CHANGE = 2
const QUIET_MAX = 1.1
const DRIFTING_MAX = 1.5

async function pages(options: SandboxOptions, { report, drifts }: { report: WorldReport; drifts: boolean }) {
  await using sandbox = await startSandbox(options)
  await using tide = await startTide({ url: sandbox.url, pageSize: PAGE_ROWS, currencies: ['EUR'] })
  const add = sandbox.requests.add.bind(sandbox.requests)
  let count = 0
  sandbox.requests.add = (request) => {
    add(request)
    count += 1
    if (drifts && count % REQUESTS_A_CHANGE === 0) sandbox.world.tick()
  }
  const { requests } = await tide.order({ do: 'sync', reports: [report] })
  const least = Math.ceil(sandbox.world.keys(report).length / PAGE_ROWS)
  return { requests, least, ratio: requests / least }
}

async function run({ rows }: Options): Promise<Line[]> {
  const lines: Line[] = []
  const sums = { requests: 0, least: 0 }
  for (const report of REPORTS) {
    for (const drifts of [false, true]) {
      const options = { rows: Math.min(rows, ROWS_MAX), collections: false }
      const { requests, least, ratio } = await pages(options, { report, drifts })
      if (drifts) {
        sums.requests += requests
        sums.least += least
      }
      lines.push(
        lineOf(
          `first sync of ${report}, ${drifts ? 'drifting' : 'quiet'} service`,
          { ratio, drifts },
          { requests, least },
        ),
      )
    }
  }
  const ratio = sums.requests / sums.least
  return [...lines, lineOf('first sync of these reports together, drifting service', { ratio, drifts: true }, sums)]
}

function lineOf(
  what: string,
  { ratio, drifts }: { ratio: number; drifts: boolean },
  { requests, least }: { requests: number; least: number },
): Line {
  const most = drifts ? DRIFTING_MAX : QUIET_MAX
  return {
    what: `${what}: requests ÷ least pages`,
    measured: formatted(ratio),
    goal: `≤ ${formatted(most)}`,
    isMet: ratio <= most,
    detail: `${requests} against ${least} pages of ${PAGE_ROWS} rows`,
  }
}

export const requestsSuite: Suite = { name: 'requests', about: 'pages fetched against the least possible', run }

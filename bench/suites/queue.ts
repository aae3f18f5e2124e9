/** Measures the time from a tick to committed rows, on Redis and on the embedded store. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { reportNames } from '../../schema/index.ts'
import { startSandbox } from '../../src/sandbox/server.ts'
import { programOnPath } from '../../test/support/programsOnPath.ts'
import { startRedis } from '../../test/support/redisServer.ts'
import { type Line, quantile, type Suite, formatted } from '../measure.ts'

const LAUNCHER = fileURLToPath(new URL('../../bin/tidemark.js', import.meta.url))
const EVERY_MS = 2_000
const RUNS = 20
const ROWS = 2_000
const CHANGES_A_SECOND = 20
/** The first runs read everything, compile code and open files. */
const WARM_UP = 3

interface Ended {
  readonly time: string
  readonly ms: number
}

/** Returns the log lines of ended runs when there are enough of them. */
async function runsOf(worker: ReturnType<typeof spawn>): Promise<Ended[]> {
  const runs: Ended[] = []
  if (worker.stderr === null) return runs
  for await (const line of createInterface({ input: worker.stderr })) {
    const entry = line.startsWith('{') ? (JSON.parse(line) as Record<string, unknown>) : {}
    if (entry['kind'] === 'incremental' && entry['state'] === 'done') runs.push(entry as unknown as Ended)
    if (runs.length >= RUNS + WARM_UP) break
  }
  return runs
}

/** Returns the milliseconds from the last tick before the run to the run's end. */
function sinceTick({ time, ms }: Ended): number {
  const offset = Math.floor((0.5 / reportNames.length) * EVERY_MS)
  const ended = Date.parse(time)
  const began = ended - ms
  return ended - (Math.floor((began - offset) / EVERY_MS) * EVERY_MS + offset)
}

async function latencies(queue: string): Promise<number[]> {
  await using sandbox = await startSandbox({ rows: ROWS, changesPerSecond: CHANGES_A_SECOND })
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-queue-'))
  const others = reportNames.filter((name) => name !== 'events').map((name) => [name, { enabled: false }])
  const settings = {
    service: { base_url: sandbox.url, client_id: 'demo' },
    queue,
    defaults: { every: `${EVERY_MS / 1_000}s`, reconcile_every: 'never' },
    reports: Object.fromEntries(others) as object,
  }
  await writeFile(join(folder, 'tidemark.yaml'), JSON.stringify(settings))
  const env = { ...process.env, REPORTING_CLIENT_SECRET: 'demo-secret', TIDEMARK_CONSOLE_PORT: '0' }
  const worker = spawn(process.execPath, [LAUNCHER, 'worker'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  try {
    return (await runsOf(worker)).slice(WARM_UP).map(sinceTick)
  } finally {
    const ended = once(worker, 'exit')
    worker.kill('SIGTERM')
    worker.stderr.resume()
    await ended
    await rm(folder, { recursive: true, force: true })
  }
}

function lineOf(store: string, ms: readonly number[]): Line {
  return {
    what: `${store}: from tick to committed rows, p50 / p95`,
    measured: `${formatted(quantile(ms, 0.5), 0)} / ${formatted(quantile(ms, 0.95), 0)} ms`,
    goal: '–',
    isMet: undefined,
    detail: `${ms.length} runs, one every ${EVERY_MS / 1_000} s, about ${(CHANGES_A_SECOND * EVERY_MS) / 1_000} changed rows each; longest ${formatted(Math.max(...ms), 0)} ms`,
  }
}

async function run(): Promise<Line[]> {
  const lines: Line[] = []
  if (programOnPath('redis-server') !== undefined) {
    await using redis = await startRedis()
    lines.push(lineOf('Redis', await latencies(redis.url)))
  }
  lines.push(lineOf('embedded', await latencies('embedded')))
  return lines
}

export const queueSuite: Suite = { name: 'queue', about: 'from tick to committed rows', run }

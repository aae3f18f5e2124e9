/**
 * Measures how long readers wait after a worker is killed in a run. A standby takes over, or the worker is restarted.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { DuckDBInstance } from '@duckdb/node-api'
import { reportNames } from '../../schema/index.ts'
import { startSandbox } from '../../src/sandbox/server.ts'
import { findPostgres, startPostgres } from '../../test/support/postgresServer.ts'
import { programOnPath } from '../../test/support/programsOnPath.ts'
import { startRedis } from '../../test/support/redisServer.ts'
import { type Line, median, type Suite, formatted } from '../measure.ts'

interface Case {
  readonly queue: string
  /** Workers that wait for the lock. */
  readonly standbys: number
  readonly goalMs: number
}

const LAUNCHER = fileURLToPath(new URL('../../bin/tidemark.js', import.meta.url))
const ROWS = 500
/** Slow responses make runs long enough for a kill in a run. */
const RESPONSE_MS = 300
const EVERY_S = 2
const ROUNDS = 3
const LOOK_EVERY_MS = 50
const STANDBY_READY_MS = 4_000
const WAIT_MS_MAX = 120_000
const PUBLISHED_GOAL_MS = 6_000
const ASKED_GOAL_MS = 3_000

async function until(isDone: () => Promise<boolean> | boolean): Promise<number> {
  const startedAt = performance.now()
  while (!(await isDone())) {
    if (performance.now() - startedAt > WAIT_MS_MAX) throw new TypeError('a bench waited too long')
    await delay(LOOK_EVERY_MS)
  }
  return performance.now() - startedAt
}

/** Returns an empty text while there is no copy. */
async function newestPublished(path: string): Promise<string> {
  try {
    const database = await DuckDBInstance.create(path, { access_mode: 'READ_ONLY' })
    const connection = await database.connect()
    const reader = await connection.runAndReadAll('SELECT max(aggregate_record_modified)::VARCHAR FROM events')
    connection.closeSync()
    database.closeSync()
    return String(reader.getRows()[0]?.[0] ?? '')
  } catch {
    return ''
  }
}

async function startWorker(folder: string): Promise<ChildProcess> {
  const env = { ...process.env, REPORTING_CLIENT_SECRET: 'demo-secret', TIDEMARK_CONSOLE_PORT: '0' }
  return spawn(process.execPath, [LAUNCHER, 'worker'], { cwd: folder, env, stdio: 'ignore' })
}

/** Reads the kernel's table of locks. */
async function ownerOf(path: string): Promise<number> {
  const { ino } = await stat(path)
  const lock = (await readFile('/proc/locks', 'utf8')).split('\n').find((line) => line.includes(`:${ino} `))
  return Number(lock?.trim().split(/\s+/)[4])
}

async function end(worker: ChildProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  const ended = once(worker, 'exit')
  worker.kill(signal)
  await ended
}

/** Kills the worker in a run, and then each standby but the last in its own run. */
async function takeOverMs(queue: string, standbys: number): Promise<number> {
  await using sandbox = await startSandbox({ rows: ROWS })
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-takeover-'))
  const published = join(folder, 'published.duckdb')
  const others = reportNames.filter((name) => name !== 'events').map((name) => [name, { enabled: false }])
  const settings = {
    service: { base_url: sandbox.url, client_id: 'demo' },
    queue,
    warehouse: './warehouse.duckdb',
    defaults: { every: `${EVERY_S}s`, reconcile_every: 'never' },
    reports: Object.fromEntries(others) as object,
  }
  await writeFile(join(folder, 'tidemark.yaml'), JSON.stringify(settings))
  const first = await startWorker(folder)
  await until(async () => (await newestPublished(published)) !== '')
  const workers = [first]
  while (workers.length <= standbys) workers.push(await startWorker(folder))
  if (standbys > 0) await delay(STANDBY_READY_MS)
  const before = await newestPublished(published)
  sandbox.setFaults([`slow:${RESPONSE_MS}`])
  const [key = 0] = sandbox.world.keys('events')
  sandbox.world.edit('events', key)
  let asked = sandbox.requests.total
  for (let kills = 0; kills < Math.max(1, standbys); kills += 1) {
    await until(() => sandbox.requests.total > asked)
    const owner = await ownerOf(join(folder, 'warehouse.duckdb'))
    const killed = workers.findIndex(({ pid }) => pid === owner)
    if (killed === -1)
      throw new TypeError(`process ${owner} holds the lock of the warehouse and is no worker of this bench`)
    for (const worker of workers.splice(killed, 1)) await end(worker, 'SIGKILL')
    asked = sandbox.requests.total
  }
  if (standbys === 0) workers.push(await startWorker(folder))
  const ms =
    standbys === 0
      ? await until(() => sandbox.requests.total > asked)
      : await until(async () => (await newestPublished(published)) !== before)
  for (const worker of workers) await end(worker, 'SIGTERM')
  await rm(folder, { recursive: true, force: true })
  return ms
}

async function lineFor(what: string, { queue, standbys, goalMs }: Case): Promise<Line> {
  const times: number[] = []
  for (let round = 1; round <= ROUNDS; round += 1) times.push(await takeOverMs(queue, standbys))
  const ms = median(times)
  return {
    what,
    measured: `${formatted(ms / 1_000, 1)} s`,
    goal: `≤ ${goalMs / 1_000} s`,
    isMet: ms <= goalMs,
    detail: `${ROUNDS} rounds, longest ${formatted(Math.max(...times) / 1_000, 1)} s; the service takes ${RESPONSE_MS} ms for each response`,
  }
}

async function linesOf(name: string, queue: string): Promise<Line[]> {
  const goalMs = PUBLISHED_GOAL_MS
  return [
    await lineFor(`${name}: from kill -9 to the next published copy`, { queue, standbys: 1, goalMs }),
    await lineFor(`${name}: the same from the kill -9 of the standby that took over`, { queue, standbys: 2, goalMs }),
  ]
}

async function run(): Promise<Line[]> {
  const lines: Line[] = []
  if (programOnPath('redis-server') !== undefined) {
    await using redis = await startRedis()
    lines.push(...(await linesOf('Redis', redis.url)))
  }
  const postgres = findPostgres()
  if (postgres !== undefined) {
    const server = await startPostgres(postgres)
    lines.push(...(await linesOf('PostgreSQL', server.url)))
    await server.stop()
  }
  const embedded = { queue: 'embedded', standbys: 0, goalMs: ASKED_GOAL_MS }
  lines.push(await lineFor('embedded: from a restart to the first request', embedded))
  return lines
}

export const takeoverSuite: Suite = { name: 'takeover', about: 'after a worker was killed in the middle of a run', run }

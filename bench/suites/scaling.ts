/** Measures what more workers of one lake bring, for a backfill and for the first sync of eight reports. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { reportNames } from '../../schema/index.ts'
import { DEMO_CLIENT } from '../../src/sandbox/options.ts'
import prepareExtensions, { extensionsFolder } from '../../test/support/extensions.ts'
import { type PostgresServer, startPostgresHere } from '../../test/support/postgresServer.ts'
import { type RedisServer, startRedis } from '../../test/support/redisServer.ts'
import { formatted, type Line, type Options, type Suite } from '../measure.ts'
import { type LakeWorker, parentOf, peakMb, startLakeWorker, treeSeconds } from '../programs/lakeWorker.ts'
import { startService } from '../service/start.ts'
import { LAUNCHER } from './worker.ts'

const WORKERS = [1, 2, 4]
const LATENCY_MS = 150
/** With 128 MB, DuckDB cannot write a window of 30,000 rows as Parquet. */
const MEMORY = '512MB'
/** Each event and each enquiry has its own audit trail. */
const REPORT_ROWS = 4_000
const START = '2020-01-01'
const LOOK_EVERY_MS = 200
const WAIT_MS_MAX = 1_800_000
const MILLION = 1_000_000
const PAGE_ROWS = 1_000

interface Machine {
  readonly postgres: PostgresServer
  readonly postgresPid: number
  readonly redis: RedisServer
}

interface ServiceProcess {
  readonly url: string
  readonly pid: number
  readonly requests: () => Promise<number>
}

interface Measurement {
  readonly workers: number
  readonly active: number
  readonly seconds: number
  readonly rows: number
  readonly workerSeconds: number
  readonly postgresSeconds: number
  readonly serviceSeconds: number
  /** Cores that workers, PostgreSQL and service use on average. */
  readonly cores: number
  readonly requests: number
  /** The peak memory of one worker. */
  readonly peakMb: number
  readonly snapshots: number
  /** Each try of a commit rolls back one transaction, and each lost try another. */
  readonly rollbacks: number
  readonly catalogueMb: number
  readonly filesMb: number
}

interface Work {
  readonly served: ServiceProcess
  readonly settings: object
  /** Each waits for a part of the work, and returns the rows since the start. */
  readonly parts: readonly ((lake: Lake) => Promise<number>)[]
  /** Waits after the start of the workers, before the measurement. */
  readonly prepare?: (lake: Lake) => Promise<void>
  /** Throws if the lake lacks rows. */
  readonly check?: (lake: Lake) => Promise<void>
}

interface Lake {
  readonly folder: string
  readonly env: NodeJS.ProcessEnv
  readonly workers: readonly LakeWorker[]
}

async function until(isDone: () => boolean): Promise<void> {
  for (let waitedMs = 0; waitedMs < WAIT_MS_MAX; waitedMs += LOOK_EVERY_MS) {
    if (isDone()) return
    await delay(LOOK_EVERY_MS)
  }
  throw new TypeError('a bench waited too long')
}

async function query<T>(url: string, sql: string): Promise<T> {
  const client = new Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(sql)
  await client.end()
  return rows[0] as T
}

/** The server is the parent of each connection's process. */
async function postmasterOf(url: string): Promise<number> {
  const client = new Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
  const pid = await parentOf((rows[0] as { pid: number }).pid)
  await client.end()
  return pid
}

async function measured({ postgres, postgresPid, redis }: Machine, count: number, work: Work): Promise<Measurement[]> {
  await redis.tell('FLUSHALL')
  const catalogue = await postgres.newDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-scaling-'))
  const settings = {
    service: { base_url: work.served.url, client_id: DEMO_CLIENT.clientId },
    warehouse: `ducklake:postgres:${catalogue}`,
    lake_data: join(folder, 'files'),
    extensions: extensionsFolder(),
    queue: redis.url,
    limits: { warehouse_memory: MEMORY },
    ...work.settings,
  }
  await writeFile(join(folder, 'tidemark.yaml'), JSON.stringify(settings))
  const env = { PATH: process.env['PATH'], REPORTING_CLIENT_SECRET: DEMO_CLIENT.clientSecret }
  await using started = new AsyncDisposableStack()
  const workers = Array.from({ length: count }, () => started.use(startLakeWorker(folder, env)))
  const lake = { folder, env, workers }
  if (work.prepare !== undefined) await work.prepare(lake)
  const pids = [...workers.map(({ pid }) => pid), postgresPid, work.served.pid]
  const readings = () => Promise.all([...pids.map(treeSeconds), work.served.requests()])
  const before = await readings()
  const startedAt = performance.now()
  const all: Measurement[] = []
  for (const part of work.parts) {
    const rows = await part(lake)
    const seconds = (performance.now() - startedAt) / 1_000
    const used = (await readings()).map((value, n) => value - (before[n] ?? 0))
    const [postgresSeconds = 0, serviceSeconds = 0, requests = 0] = used.slice(count)
    const workerSeconds = used.slice(0, count).reduce((sum, value) => sum + value, 0)
    all.push({
      workers: count,
      active: workers.filter(({ runs }) => runs.some((each) => each.rows > 0)).length,
      seconds,
      rows,
      workerSeconds,
      postgresSeconds,
      serviceSeconds,
      cores: (workerSeconds + postgresSeconds + serviceSeconds) / seconds,
      requests,
      peakMb: Math.max(...(await Promise.all(workers.map(({ pid }) => peakMb(pid))))),
      ...(await sizesOf(new URL(`/${/dbname=(\w+)/.exec(catalogue)?.[1] ?? ''}`, postgres.url).href)),
    })
  }
  await work.check?.(lake)
  const failures = workers.flatMap((worker) => worker.failures)
  for (const each of all) console.error(JSON.stringify({ ...each, failures }))
  await started.disposeAsync()
  await rm(folder, { recursive: true, force: true })
  return all
}

async function sizesOf(url: string): Promise<Pick<Measurement, 'snapshots' | 'rollbacks' | 'catalogueMb' | 'filesMb'>> {
  const sql = `SELECT (SELECT count(*)::INT FROM ducklake_snapshot) AS snapshots,
    (SELECT xact_rollback::INT FROM pg_stat_database WHERE datname = current_database()) AS rollbacks,
    (pg_database_size(current_database()) / 1e6)::FLOAT AS "catalogueMb",
    (SELECT coalesce(sum(file_size_bytes), 0) / 1e6 FROM ducklake_data_file WHERE end_snapshot IS NULL)::FLOAT AS "filesMb"`
  return await query(url, sql)
}

const off = (...on: readonly string[]) =>
  Object.fromEntries(reportNames.filter((name) => !on.includes(name)).map((name) => [name, { enabled: false }]))

const command = async ({ folder, env }: Lake, ...args: readonly string[]) =>
  (await promisify(execFile)(process.execPath, [LAUNCHER, ...args], { cwd: folder, env, maxBuffer: 2 ** 26 })).stdout

/** Backfills one report without collections into an empty lake. */
async function backfills(machine: Machine, rows: number): Promise<readonly Measurement[]> {
  await using service = await startService('none', rows, LATENCY_MS)
  const served = { url: service.url, pid: service.pid, requests: async () => (await service.counters()).requests }
  const settings = {
    defaults: { start: START, every: '1h', reconcile_every: 'never', page_size: PAGE_ROWS },
    reports: off('events'),
  }
  // The first sync finds an empty report, so the backfill reads each row for the first time.
  const prepare = async ({ workers }: Lake) => {
    await service.empty(true)
    await Promise.all(workers.map(({ ready }) => ready))
    await until(() => workers.some(({ runs }) => runs.length > 0))
    await service.empty(false)
  }
  const run = async (lake: Lake) => {
    await command(lake, 'backfill', 'events', '--json')
    return rows
  }
  const check = async (lake: Lake) => {
    const counted = await command(lake, 'query', '--format', 'csv', 'SELECT count(*) FROM main.events')
    if (Number(counted.split('\n')[1]) !== rows) throw new TypeError(`the lake has ${counted} of ${rows} rows`)
  }
  const all: Measurement[] = []
  for (const count of WORKERS)
    all.push(...(await measured(machine, count, { served, settings, prepare, parts: [run], check })))
  return all
}

/** `six` ends before the audit trails are read. */
async function eightReports(machine: Machine): Promise<Readonly<Record<'six' | 'eight', readonly Measurement[]>>> {
  const settings = {
    defaults: { every: '1h', reconcile_every: 'never' },
    currencies: ['EUR'],
    reports: {
      audit_entries: { entities: [{ entity_id: 3, follows: 'events' }], every: '5s' },
      enquiry_audit_entries: { every: '5s' },
    },
  }
  const records = new Map<string, number>([
    ['audit_entries', REPORT_ROWS],
    ['enquiry_audit_entries', REPORT_ROWS / 2],
  ])
  const partOf =
    (reports: readonly string[]) =>
    async ({ workers }: Lake) => {
      const runs = () => workers.flatMap((worker) => worker.runs.filter(({ report }) => reports.includes(report)))
      const pages = (report: string) => runs().reduce((sum, each) => sum + (each.report === report ? each.pages : 0), 0)
      await until(() => reports.every((report) => pages(report) >= (records.get(report) ?? 1)))
      return runs().reduce((sum, each) => sum + each.rows, 0)
    }
  const parts = [partOf(reportNames.filter((name) => !records.has(name))), partOf(reportNames)]
  const six: Measurement[] = []
  const eight: Measurement[] = []
  for (const count of WORKERS) {
    await using served = await startSlowSandbox()
    const [first, second] = await measured(machine, count, { served, settings, parts })
    six.push(...(first === undefined ? [] : [first]))
    eight.push(...(second === undefined ? [] : [second]))
  }
  return { six, eight }
}

/** A separate process has its own processor time. */
async function startSlowSandbox(): Promise<ServiceProcess & AsyncDisposable> {
  const args = ['sandbox', '--port', '0', '--rows', String(REPORT_ROWS), '--fault', `slow:${LATENCY_MS}`, '--json']
  const child = spawn(process.execPath, [LAUNCHER, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  const { url } = JSON.parse(line) as { url: string }
  return {
    url,
    pid: child.pid ?? 0,
    requests: async () => ((await (await fetch(`${url}/_control/requests`)).json()) as { total: number }).total,
    [Symbol.asyncDispose]: async () => {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    },
  }
}

function loadOf({ cores, requests, seconds }: Measurement): string {
  const inFlight = (requests * LATENCY_MS) / 1_000 / seconds
  return `${formatted(cores)} of ${availableParallelism()} cores are busy, ${formatted(inFlight, 1)} requests in flight`
}

function linesOf(what: string, all: readonly Measurement[]): Line[] {
  const [one] = all
  const pace = ({ rows, seconds }: Measurement) => rows / seconds
  return all.flatMap((each) => {
    const name = `${what}, ${each.workers} ${each.workers === 1 ? 'worker' : 'workers'}`
    const of = (seconds: number) => `${formatted((seconds / each.rows) * MILLION, 0)} s`
    const ratio = one === undefined ? Number.NaN : pace(each) / pace(one)
    const detail = [
      `${each.rows} rows in ${formatted(each.seconds, 1)} s`,
      `${formatted(ratio)} × one worker`,
      `processor time for a million rows: workers ${of(each.workerSeconds)}, PostgreSQL ${of(each.postgresSeconds)}, service ${of(each.serviceSeconds)}`,
      `${each.requests} requests`,
      loadOf(each),
      `rows loaded by ${each.active} of the workers`,
      `${each.snapshots} snapshots and ${each.rollbacks} rollbacks, catalogue ${formatted(each.catalogueMb, 0)} MB, files ${formatted(each.filesMb, 0)} MB`,
      `largest worker ${formatted(each.peakMb, 0)} MB`,
    ]
    return [
      {
        what: name,
        measured: `${formatted(pace(each), 0)} rows/s`,
        goal: '–',
        isMet: undefined,
        detail: detail.join('. '),
      },
    ]
  })
}

async function run({ rows }: Options): Promise<Line[]> {
  await prepareExtensions()
  await using postgres = await startPostgresHere()
  await using redis = await startRedis()
  const machine = { postgres, redis, postgresPid: await postmasterOf(postgres.url) }
  const backfill = await backfills(machine, rows)
  const { six, eight } = await eightReports(machine)
  return [
    ...linesOf('backfill of one report', backfill),
    ...linesOf('first sync of six reports', six),
    ...linesOf('the same and two audit reports', eight),
  ]
}

export const scalingSuite: Suite = {
  name: 'scaling',
  about: 'workers of one lake, PostgreSQL and Redis, 150 ms a response',
  run,
}

/**
 * `npm run demo:lake`: two workers load one lake. One is killed while rows change, and `verify` compares the lake with
 * the service.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { stringify } from 'yaml'
import { DEMO_CLIENT } from '../../src/sandbox/options.ts'
import { startSandbox } from '../../src/sandbox/server.ts'
import { ROOT } from '../../test/rules/source.ts'
import prepareExtensions, { extensionsFolder } from '../../test/support/extensions.ts'
import { BUCKET, startStorage, STORAGE_ENV } from '../../test/support/objectStorage.ts'
import { startPostgresHere } from '../../test/support/postgresServer.ts'
import { freePort } from '../../test/support/programsOnPath.ts'
import { startRedis } from '../../test/support/redisServer.ts'

const FOLDER = path.join(ROOT, 'data/demo-lake')
const TIDEMARK = path.join(ROOT, 'bin/tidemark.js')
const ROWS = 300
const CHANGES = 30
const POLL_EVERY_MS = 500
const WAIT_MS_MAX = 180_000

interface ReportStatus {
  readonly report: string
  readonly state: string
  readonly mark: string | null
  readonly rows: number
}

const heading = (text: string): void => console.log(`\n${text}\n${'═'.repeat(text.length)}\n`)

async function main(): Promise<void> {
  await prepareExtensions()
  await rm(FOLDER, { recursive: true, force: true })
  await mkdir(FOLDER, { recursive: true })

  heading('1. PostgreSQL, object storage, Redis and a reporting service')
  await using service = await startSandbox({ rows: ROWS, amounts: 'cents' })
  const postgres = await startPostgresHere()
  await using storage = await startStorage()
  await using redis = await startRedis()
  const catalogue = await postgres.newDatabase()
  const settings = {
    service: { base_url: service.url, client_id: DEMO_CLIENT.clientId },
    warehouse: `ducklake:postgres:${catalogue}`,
    lake_data: `s3://${BUCKET}/tidemark`,
    lake_endpoint: storage.endpoint,
    extensions: extensionsFolder(),
    queue: redis.url,
    currencies: ['EUR'],
    defaults: { every: '5s' },
  }
  await writeFile(path.join(FOLDER, 'tidemark.yaml'), stringify(settings))
  console.log(`The service runs at ${service.url}. The configuration is data/demo-lake/tidemark.yaml.`)

  heading('2. Two workers share the queue and read everything')
  const workers = [await startWorker(1), await startWorker(2)] as const
  try {
    await until('every report is read', async () => {
      const reports = await statuses()
      return reports.length > 0 && reports.every(isRead)
    })
    printTable(await statuses())

    heading('3. Rows change, and one worker is killed')
    workers[0].kill('SIGKILL')
    for (let change = 0; change < CHANGES; change += 1) service.world.tick()
    const since = new Date().toISOString()
    await until('the other worker has read the changes', async () =>
      (await statuses()).every(({ mark, state }) => state === 'off' || (mark ?? '') > since),
    )
    printTable(await statuses())

    heading('4. Any DuckDB reads the lake')
    const question = 'SELECT status, count(*) AS events FROM current.events GROUP BY ALL ORDER BY 2 DESC'
    console.log(await tidemark('query', question))

    heading('5. Each window is compared with the service')
    console.log(await tidemark('verify'))
  } finally {
    await Promise.all(workers.map(ended))
    await postgres.stop()
  }
}

const isRead = ({ mark, state }: ReportStatus): boolean => mark !== null || state === 'off'

/** Each worker needs its own port. */
async function startWorker(number: number): Promise<ChildProcess> {
  const log = createWriteStream(path.join(FOLDER, `worker-${number}.log`))
  const env = { ...environment(), TIDEMARK_CONSOLE_PORT: String(await freePort()) }
  const worker = spawn(process.execPath, [TIDEMARK, 'worker'], { cwd: FOLDER, env, stdio: ['ignore', 'pipe', 'pipe'] })
  worker.stdout.pipe(log)
  worker.stderr.pipe(log)
  console.log(`Worker ${number} is process ${worker.pid}; its log is data/demo-lake/worker-${number}.log.`)
  return worker
}

/** The user's variables can name the user's real service. */
const environment = (): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  HOME: process.env['HOME'],
  REPORTING_CLIENT_SECRET: DEMO_CLIENT.clientSecret,
  ...STORAGE_ENV,
})

async function tidemark(...args: string[]): Promise<string> {
  const options = { cwd: FOLDER, env: environment(), maxBuffer: 2 ** 26 }
  return (await promisify(execFile)(process.execPath, [TIDEMARK, ...args], options)).stdout
}

async function statuses(): Promise<readonly ReportStatus[]> {
  return (JSON.parse(await tidemark('status', '--json')) as { reports: readonly ReportStatus[] }).reports
}

function printTable(reports: readonly ReportStatus[]): void {
  for (const { report, state, mark, rows } of reports)
    console.log(`${report.padEnd(24)}${state.padEnd(10)}${String(rows).padStart(8)} rows   mark ${mark ?? '-'}`)
}

async function until(what: string, isDone: () => Promise<boolean>): Promise<void> {
  for (let waitedMs = 0; waitedMs < WAIT_MS_MAX; waitedMs += POLL_EVERY_MS) {
    if (await isDone().catch(() => false)) return
    await sleep(POLL_EVERY_MS)
  }
  throw new TypeError(`after ${WAIT_MS_MAX / 1_000} s still not: ${what}. Read the logs in ${FOLDER}.`)
}

async function ended(worker: ChildProcess): Promise<void> {
  if (worker.exitCode !== null || worker.signalCode !== null) return
  const exit = new Promise((resolve) => worker.once('exit', resolve))
  worker.kill('SIGTERM')
  await exit
}

await main()

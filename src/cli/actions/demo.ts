/** `tidemark demo`: starts a service and a worker that reads from it, makes changes, and runs example queries. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { glob, mkdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { reportNames } from '../../../schema/index.ts'
import type { Clock } from '../../clock.ts'
import { SyncError } from '../../errors.ts'
import { LAUNCHER } from '../../wiring/version.ts'
import { type Config, loadConfig } from '../../config/config.ts'
import { DEMO_CLIENT } from '../../sandbox/options.ts'
import { startSandbox, type World, type WorldChange } from '../../sandbox/server.ts'
import { configText, makeChanges, questionsOf, SUBJECTS } from '../demo/story.ts'
import { counted, duration, table } from '../layout.ts'
import { openPublished } from '../../wiring/published.ts'
import { tablePrinter } from '../results.ts'
import type { Action, Shell } from '../shell.ts'
import { errorFrom } from '../../operations/contract.ts'
import { findWorker, type WorkerConnection } from '../../operations/worker.ts'

const FOLDER = 'data/demo'
const ROWS = 300
const TOKEN_BYTES = 12

export const demo: Action<{ readonly keep?: boolean }> = async (shell, { keep = false }) => {
  const { out } = shell
  const folder = path.join(shell.cwd, FOLDER)
  if (!keep) await removeOldFiles(folder)
  out.write(heading('1. A local reporting service'))
  await using service = await startSandbox({ rows: ROWS, amounts: 'cents' })
  out.write(`It runs at ${service.url}.\n`)
  const token = randomBytes(TOKEN_BYTES).toString('hex')
  const config = await configure(folder, service.url, token)

  out.write(heading('2. A worker: first it reads everything'))
  await using worker = await startWorker(shell, config, folder)
  out.write('It runs on the embedded queue, in a process of its own, and begins at once.\n')
  out.write(`Its console is at ${worker.console}, with the token ${token}, while the demo runs.\n\n`)
  // The worker may have loaded rows before this sync. So the printed table counts the rows of all loads.
  const startedMs = shell.clock.monotonicMs()
  await syncAll(shell, worker.connection)
  out.write(tableOf(await readSince(config, 0)))
  out.write(`All eight reports in ${duration(shell.clock.monotonicMs() - startedMs)}.\n\n`)
  out.write(await tablesText(config))

  out.write(heading('3. Meanwhile, people work with the service'))
  const before = await lastLoad(config)
  const changed = await changeRows(service.world, config)
  out.write(changed.map((each) => `${changeText(each)}\n`).join(''))

  out.write(heading('4. The worker reads only what changed'))
  await syncAll(shell, worker.connection)
  const changes = await readSince(config, before)
  const moved = changes.filter(({ inserted, updated, deleted }) => inserted + updated + deleted > 0)
  out.write(`${tableOf(changes)}${counted(moved.length, 'report')} changed.\n`)
  await showQueries(shell, config, changed[0]?.key ?? 0)
  out.write(closingText())
  if (out.isTerminal) await keepRunning(shell, worker.console, token)
  return 0
}

async function keepRunning({ out, stop }: Shell, console: string, token: string): Promise<void> {
  out.write(`\nThe console stays at ${console} (token ${token}).\nCtrl-C ends the demo.\n`)
  stop.endsWell()
  await stop.requested()
}

const heading = (title: string): string => `\n${title}\n${'═'.repeat(title.length)}\n`

async function removeOldFiles(folder: string): Promise<void> {
  const files = glob('{tidemark.yaml,.env,worker.log,published.duckdb,warehouse.duckdb*}', { cwd: folder })
  for await (const name of files) await rm(path.join(folder, name), { recursive: true, force: true })
}

/** Ignores environment variables, because they can name the user's real service. */
async function configure(folder: string, url: string, token: string): Promise<Config> {
  const { clientId, clientSecret } = DEMO_CLIENT
  await mkdir(folder, { recursive: true })
  await writeFile(path.join(folder, 'tidemark.yaml'), configText(url, clientId))
  const secrets = `REPORTING_CLIENT_SECRET=${clientSecret}\nTIDEMARK_CONSOLE_TOKEN=${token}\n`
  await writeFile(path.join(folder, '.env'), secrets, { mode: 0o600 })
  return loadConfig({ file: 'tidemark.yaml', cwd: folder, env: {} })
}

/** Throws the error of the first report that has failed. */
async function syncAll({ stop }: Shell, worker: WorkerConnection): Promise<void> {
  const caller = { by: 'demo', tell: () => undefined, signal: stop.signal }
  const { outcomes, publishError } = await worker.ask({ do: 'sync', reports: [...reportNames] }, caller)
  const problem = outcomes.find(({ error }) => error !== undefined)?.error ?? publishError
  if (problem !== undefined) throw errorFrom(problem)
}

async function tablesText(config: Config): Promise<string> {
  await using copy = await openPublished(config)
  const tables = await copy.rows<{ name: string }>(
    `SELECT table_name AS name FROM duckdb_tables() WHERE schema_name = 'main' ORDER BY name`,
  )
  const counts = tables.map(({ name }) => `SELECT '${name}' AS name, count(*) AS rows FROM main."${name}"`)
  const rows = await copy.rows<{ name: string; rows: number }>(`${counts.join(' UNION ALL ')} ORDER BY name`)
  const cells = rows.map(({ name, rows }) => [name, rows])
  return table(['table', 'rows'], cells)
}

async function changeRows(world: World, config: Config): Promise<readonly WorldChange[]> {
  await using copy = await openPublished(config)
  const subjects = (await copy.rows<{ event_id: number }>(SUBJECTS)).map((event) => event.event_id)
  return makeChanges(world, subjects)
}

const DONE: Readonly<Record<string, string>> = {
  edit: 'was edited',
  editChild: 'has a changed entry',
  addChild: 'has a new entry',
  softDelete: 'was deleted',
  insert: 'is new',
}

function changeText({ report, key, action, field }: WorldChange): string {
  const where = field === undefined ? '' : ` (${field})`
  return `  ${report.padEnd(20)} ${key} ${DONE[action] ?? action}${where}`
}

async function lastLoad(config: Config): Promise<number> {
  await using copy = await openPublished(config)
  const [last] = await copy.rows<{ id: number }>('SELECT coalesce(max(load_id), 0) AS id FROM tidemark.loads')
  return last?.id ?? 0
}

interface ReportLoads extends Readonly<Record<(typeof FIGURES)[number], number>> {
  readonly report: string
  readonly pages: number
}

async function readSince(config: Config, load: number): Promise<ReportLoads[]> {
  await using copy = await openPublished(config)
  const read = await copy.rows<ReportLoads>(`
    SELECT report, coalesce(any_value(w.pages), 0)::BIGINT AS pages, ${FIGURES.map((figure) => `sum(${figure})::BIGINT AS ${figure}`).join(', ')}
    FROM tidemark.loads LEFT JOIN (
      SELECT report, sum(pages) AS pages FROM tidemark.windows WHERE load_id > ${load} GROUP BY report) w USING (report)
    WHERE load_id > ${load} GROUP BY report`)
  return reportNames.flatMap((name) => read.filter(({ report }) => report === name))
}

function tableOf(read: readonly ReportLoads[]): string {
  const rows = read.map((each) => [each.report, each.pages, ...FIGURES.map((figure) => each[figure])])
  return table(['report', 'pages', 'rows read', 'new', 'changed', 'deleted'], rows)
}

const FIGURES = ['rows', 'inserted', 'updated', 'deleted'] as const

async function showQueries({ out }: Shell, config: Config, changedEvent: number): Promise<void> {
  out.write(heading('5. Questions to the published copy'))
  await using copy = await openPublished(config)
  for (const { title, sql } of questionsOf(changedEvent)) {
    out.write(`\n${title}\n\n${sql.replaceAll(/^/gm, '    ')}\n\n`)
    const printer = tablePrinter(out, ROWS)
    printer.end(await copy.query(sql, printer.take))
  }
}

const closingText = (): string => `${heading('6. Yours to look at')}
The tables are in ${FOLDER}/published.duckdb; any DuckDB opens it. Next:

  npx tidemark query  --config ${FOLDER}/tidemark.yaml "SELECT * FROM tidemark.freshness"
  npx tidemark status --config ${FOLDER}/tidemark.yaml
  npx tidemark sandbox        the same service, to try your own configuration on
  npx tidemark --help
`

interface DemoWorker extends AsyncDisposable {
  readonly connection: WorkerConnection
  readonly console: string
}

const POLL_EVERY_MS = 100
const START_MS_MAX = 120_000
const END_MS_MAX = 5_000

/** Starts `tidemark worker` in its own process. The worker ends when its channel to the demo closes. */
async function startWorker(shell: Shell, config: Config, folder: string): Promise<DemoWorker> {
  const log = openSync(`${folder}/worker.log`, 'w')
  const child = spawn(process.execPath, [LAUNCHER, 'worker'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', log, 'ipc'],
    // Passes only these two variables. Others, such as TIDEMARK_WAREHOUSE, would change the configuration.
    env: { PATH: shell.env['PATH'], HOME: shell.env['HOME'] },
  })
  closeSync(log)
  const end = () => endChild(child, shell.clock)
  try {
    const connection = await awaitOwner(child, shell, config)
    const caller = { by: 'demo', tell: () => undefined, signal: shell.stop.signal }
    const { console = '' } = await connection.ask({ do: 'status' }, caller)
    return { connection, console, [Symbol.asyncDispose]: end }
  } catch (error) {
    await end()
    throw error
  }
}

async function awaitOwner(child: ChildProcess, shell: Shell, config: Config): Promise<WorkerConnection> {
  const { clock, stop } = shell
  const startedMs = clock.monotonicMs()
  while (child.exitCode === null && clock.monotonicMs() - startedMs < START_MS_MAX) {
    const connection = await findWorker(config, clock)
    if (connection !== undefined) return connection
    await clock.sleep(POLL_EVERY_MS, stop.signal)
  }
  throw new SyncError('WORKER_LOST', "the demo's worker did not start", {
    cure: 'Look at worker.log in the folder of the demo.',
  })
}

async function endChild(child: ChildProcess, clock: Clock): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  if (child.connected) child.disconnect()
  const cancelTimer = clock.after(END_MS_MAX, () => child.kill('SIGKILL'))
  await exit
  cancelTimer()
}

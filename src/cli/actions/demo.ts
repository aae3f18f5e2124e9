/** `tidemark demo`: starts a service and a worker that reads from it, makes changes, and runs example queries. */
import { randomBytes } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { glob, mkdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { reportNames } from '../../../schema/index.ts'
import { type Config, loadConfig } from '../../config/config.ts'
import { Tidemark } from '../../library/tidemark.ts'
import { createLog } from '../../log.ts'
import { errorFrom } from '../../operations/contract.ts'
import { findWorker } from '../../operations/findWorker.ts'
import { DEMO_CLIENT } from '../../sandbox/options.ts'
import { ENTITY_IDS, startSandbox, type World, type WorldChange, type WorldReport } from '../../sandbox/server.ts'
import { openWarehouse } from '../../wiring/openContext.ts'
import { counted, duration, table } from '../layout.ts'
import { tablePrinter } from '../results.ts'
import type { Action, Shell } from '../shell.ts'

const FOLDER = 'data/demo'
const ROWS = 300
const TOKEN_BYTES = 12

export const demo: Action<{ readonly keep?: boolean }> = async (shell, { keep = false }) => {
  const { out, clock } = shell
  const folder = path.join(shell.cwd, FOLDER)
  if (!keep) await removeOldFiles(folder)
  out.write(heading('1. A local reporting service'))
  await using service = await startSandbox({ rows: ROWS, amounts: 'cents' })
  out.write(`It runs at ${service.url}.\n`)
  const token = randomBytes(TOKEN_BYTES).toString('hex')
  const config = await configure(folder, service.url, token)

  out.write(heading('2. A worker: first it reads everything'))
  const log = { level: 'info', pretty: false, destination: createWriteStream(`${folder}/worker.log`) } as const
  // Passes no environment variables, because they could make the demo read from the user's real service.
  await using tidemark = new Tidemark({ config, clock, env: {}, openLog: (keep) => createLog({ ...log, keep }) })
  const console = await startWorker(tidemark, shell)
  out.write('It runs on the embedded queue, and begins at once.\n')
  out.write(`Its console is at ${console}, with the token ${token}, while the demo runs.\n\n`)
  // Lists all loads, because the worker may load rows before `syncAll` requests them.
  const startedMs = clock.monotonicMs()
  await syncAll(tidemark, shell)
  out.write(tableOf(await readSince(tidemark, 0)))
  out.write(`All eight reports in ${duration(clock.monotonicMs() - startedMs)}.\n\n`)
  out.write(await tablesText(tidemark))

  out.write(heading('3. Meanwhile, people work with the service'))
  const last = await tidemark.query<{ id: number }>('SELECT max(load_id) AS id FROM tidemark.loads')
  const changed = await changeRows(service.world, tidemark)
  out.write(changed.map((each) => `${changeText(each)}\n`).join(''))

  out.write(heading('4. The worker reads only what changed'))
  await syncAll(tidemark, shell)
  const changes = await readSince(tidemark, last.rows[0]?.id ?? 0)
  const moved = changes.filter(({ inserted, updated, deleted }) => inserted + updated + deleted > 0)
  out.write(`${tableOf(changes)}${counted(moved.length, 'report')} changed.\n`)
  await showQueries(shell, tidemark, changed[0]?.key ?? 0)
  out.write(closingText())
  if (out.isTerminal) await keepRunning(shell, console, token)
  await tidemark[Symbol.asyncDispose]()
  // Publishes the last rows now. The service ends with the demo, so no later sync would publish them.
  await using warehouse = await openWarehouse(config)
  await warehouse.publish(config.published)
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

async function configure(folder: string, url: string, token: string): Promise<Config> {
  const { clientId, clientSecret } = DEMO_CLIENT
  await mkdir(folder, { recursive: true })
  await writeFile(path.join(folder, 'tidemark.yaml'), configText(url, clientId))
  const secrets = `REPORTING_CLIENT_SECRET=${clientSecret}\nTIDEMARK_CONSOLE_TOKEN=${token}\n`
  await writeFile(path.join(folder, '.env'), secrets, { mode: 0o600 })
  return loadConfig({ file: 'tidemark.yaml', cwd: folder, env: {} })
}

const configText = (url: string, clientId: string): string => `# Written by "tidemark demo".
service:
  base_url: ${url}
  client_id: ${clientId}
warehouse: ./warehouse.duckdb
published: ./published.duckdb
console: { port: 0 }
currencies: [EUR]
defaults: { every: 15s }
reports:
  audit_entries: { entities: [{ entity_id: ${ENTITY_IDS.events}, follows: events }] }
`

async function startWorker(tidemark: Tidemark, { clock, stop: { signal } }: Shell): Promise<string> {
  const worker = tidemark.startWorker({ signal })
  worker.catch(() => undefined)
  while ((await findWorker(tidemark.config, clock)) === undefined)
    await Promise.race([worker, clock.sleep(POLL_EVERY_MS, signal)])
  const status = await tidemark.status({ signal })
  return (status.from === 'worker' && status.console) || ''
}

const POLL_EVERY_MS = 100

async function syncAll(tidemark: Tidemark, { stop: { signal } }: Shell): Promise<void> {
  const { outcomes, publishError } = await tidemark.sync([], { signal })
  const problem = outcomes.find(({ error }) => error !== undefined)?.error ?? publishError
  if (problem !== undefined) throw errorFrom(problem)
}

async function tablesText(tidemark: Tidemark): Promise<string> {
  const { rows: tables } = await tidemark.query<{ name: string }>(
    `SELECT table_name AS name FROM duckdb_tables() WHERE schema_name = 'main' ORDER BY name`,
  )
  const counts = tables.map(({ name }) => `SELECT '${name}' AS name, count(*) AS rows FROM main."${name}"`)
  const { rows } = await tidemark.query<{ name: string; rows: number }>(`${counts.join(' UNION ALL ')} ORDER BY name`)
  const cells = rows.map(({ name, rows }) => [name, rows])
  return table(['table', 'rows'], cells)
}

const SUBJECTS = `
  SELECT DISTINCT event_id FROM current.events JOIN current.events__meeting_rooms USING (event_id)
  ORDER BY event_id LIMIT 6`

async function changeRows(world: World, tidemark: Tidemark): Promise<readonly WorldChange[]> {
  const { rows } = await tidemark.query<{ event_id: number }>(SUBJECTS)
  const [renamed = 0, rearranged = 0, extended = 0, cancelled = 0] = rows.map((event) => event.event_id)
  const oldest = (report: WorldReport) => world.liveKeys(report)[0] ?? 0
  return [
    world.edit('events', renamed),
    world.editChild('events', rearranged, 'meetingRooms'),
    world.addChild('events', extended, 'assignments'),
    world.softDelete('events', cancelled),
    world.insert('events'),
    world.edit('budgets', oldest('budgets')),
    world.softDelete('budgets', oldest('budgets')),
    world.edit('enquiries', oldest('enquiries')),
    world.insert('automated_bookings'),
    world.edit('office_reservations', oldest('office_reservations')),
    world.edit('merf_submissions', oldest('merf_submissions')),
  ]
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

interface ReportLoads extends Readonly<Record<(typeof FIGURES)[number], number>> {
  readonly report: string
  readonly pages: number
}

async function readSince(tidemark: Tidemark, load: number): Promise<ReportLoads[]> {
  const { rows: read } = await tidemark.query<ReportLoads>(`
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

async function showQueries({ out }: Shell, tidemark: Tidemark, changedEvent: number): Promise<void> {
  out.write(heading('5. Questions to the published copy'))
  for (const { title, sql } of questionsOf(changedEvent)) {
    out.write(`\n${title}\n\n${sql.replaceAll(/^/gm, '    ')}\n\n`)
    const printer = tablePrinter(out, ROWS)
    printer.end((await tidemark.queryCells(sql, printer.take)).columns)
  }
}

const questionsOf = (changedEvent: number) => [
  {
    title: 'Which completed events earned the most from their meeting rooms, in euros?',
    sql: `SELECT e.event_id, e.name, e.start_date::DATE AS day, count(*) AS rooms,
  round(e.in_person_attendees / e.attendees, 2) AS share_on_site,
  format('{:,.2f} EUR', sum(r.price)::DOUBLE) AS earned
FROM current.events e JOIN current.events__meeting_rooms r USING (event_id)
WHERE e.status = 'Completed' AND r.currency = 'EUR'
GROUP BY ALL ORDER BY sum(r.price) DESC LIMIT 5`,
  },
  {
    title: 'Which events were deleted, and how is it known?',
    sql: `SELECT event_id, name, _delete_evidence AS evidence, _deleted_seen_at AS seen_at
FROM main.events WHERE is_deleted ORDER BY _deleted_seen_at DESC, event_id LIMIT 5`,
  },
  {
    title: `What happened to event ${changedEvent}?`,
    sql: `SELECT timestamp, action, user_id, payload
FROM main.audit_entries WHERE entity_id = ${ENTITY_IDS.events} AND entity_record_id = ${changedEvent}
ORDER BY entry_number DESC LIMIT 5`,
  },
]

const closingText = (): string => `${heading('6. Yours to look at')}
The tables are in ${FOLDER}/published.duckdb; any DuckDB opens it. Next:

  npx tidemark query  --config ${FOLDER}/tidemark.yaml "SELECT * FROM tidemark.freshness"
  npx tidemark status --config ${FOLDER}/tidemark.yaml
  npx tidemark sandbox        the same service, to try your own configuration on
  npx tidemark --help
`

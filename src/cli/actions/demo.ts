/** What `tidemark demo` does: a first sync, live changes, a second sync, and queries that show what came of it. */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { reportNames } from '../../../schema/index.ts'
import { type Config, loadConfig } from '../../config/config.ts'
import { type Changed, type DemoService, startService } from '../demo/service.ts'
import { changesOf, configText, queriesOf, SUBJECTS } from '../demo/story.ts'
import { counted, duration, grouped, table } from '../layout.ts'
import { openPublished } from '../published.ts'
import { printResult, tablePrinter } from '../results.ts'
import { runSync } from '../run.ts'
import type { ExitCode, Shell } from '../shell.ts'
import { failuresText, hasFailed, type Summary } from '../summary.ts'

const FOLDER = 'data/demo'
/** Enough to look at, and few enough for half a minute. */
const ROWS = 300

export async function demo(shell: Shell, keep: boolean): Promise<ExitCode> {
  const { out } = shell
  const folder = path.join(shell.cwd, FOLDER)
  if (!keep) await clear(folder)
  out.write(heading('1. A local reporting service'))
  await using service = await startService(shell, ROWS)
  out.write(`It runs at ${service.url}, in a process of its own.\n`)
  const config = await configure(folder, service)

  out.write(heading('2. The first sync: everything'))
  const first = await runSync(shell, { config, wanted: reportNames, loudness: {} })
  if (hasFailed(first)) return failed(shell, first)
  out.write(await tablesText(config))
  out.write(`All eight reports in ${duration(first.elapsedMs)}.\n`)

  out.write(heading('3. Meanwhile, people work with the service'))
  const changed = await makeChanges(service, config)
  out.write(changed.map((each) => `${changeText(each)}\n`).join(''))

  out.write(heading('4. The second sync: only what changed'))
  const second = await runSync(shell, { config, wanted: reportNames, loudness: {} })
  if (hasFailed(second)) return failed(shell, second)
  out.write(differencesText(second))
  await showQueries(shell, config, changed[0]?.key ?? 0)
  out.write(closingText())
  return 0
}

const heading = (title: string): string => `\n${title}\n${'═'.repeat(title.length)}\n`

/** Only what a demo writes: the folder may hold more. */
async function clear(folder: string): Promise<void> {
  const names = ['tidemark.yaml', '.env', 'published.duckdb']
  const warehouse = ['', '.wal', '.staging', '.spill'].map((ending) => `warehouse.duckdb${ending}`)
  for (const name of [...names, ...warehouse]) await rm(path.join(folder, name), { recursive: true, force: true })
}

/** The environment stays outside: the demo never talks to a service that somebody configured. */
async function configure(folder: string, { url, clientId, clientSecret }: DemoService): Promise<Config> {
  await mkdir(folder, { recursive: true })
  await writeFile(path.join(folder, 'tidemark.yaml'), configText(url, clientId))
  await writeFile(path.join(folder, '.env'), `REPORTING_CLIENT_SECRET=${clientSecret}\n`)
  return loadConfig({ file: 'tidemark.yaml', cwd: folder, env: {} })
}

function failed({ out }: Shell, summary: Summary): ExitCode {
  out.write(failuresText(summary))
  return 1
}

async function tablesText(config: Config): Promise<string> {
  await using copy = await openPublished(config)
  const tables = await copy.rows<{ name: string }>(
    `SELECT table_name AS name FROM duckdb_tables() WHERE schema_name = 'main' ORDER BY name`,
  )
  const counts = tables.map(({ name }) => `SELECT '${name}' AS name, count(*) AS rows FROM main."${name}"`)
  const rows = await copy.rows<{ name: string; rows: number }>(`${counts.join(' UNION ALL ')} ORDER BY name`)
  return table(
    [{ head: 'table' }, { head: 'rows', align: 'right' }],
    rows.map(({ name, rows }) => [name, grouped(rows)]),
  )
}

async function makeChanges(service: DemoService, config: Config): Promise<Changed[]> {
  await using copy = await openPublished(config)
  const subjects = await copy.rows<{ event_id: number }>(SUBJECTS)
  const changed: Changed[] = []
  for (const change of changesOf(subjects.map(({ event_id }) => event_id))) changed.push(await service.change(change))
  return changed
}

const DONE: Readonly<Record<string, string>> = {
  edit: 'was edited',
  editChild: 'got another entry changed',
  addChild: 'got another entry',
  softDelete: 'was deleted',
  insert: 'is new',
}

function changeText({ report, key, action, field }: Changed): string {
  const where = field === undefined ? '' : ` (${field})`
  return `  ${report.padEnd(20)} ${key} ${DONE[action] ?? action}${where}`
}

function differencesText({ outcomes, elapsedMs }: Summary): string {
  const heads = ['pages', 'rows read', 'new', 'changed', 'deleted'] as const
  const rows = outcomes.map(({ report, pages, figures }) => [
    report,
    ...[pages, figures.rows, figures.inserted, figures.updated, figures.deleted].map(grouped),
  ])
  const drawn = table([{ head: 'report' }, ...heads.map((head) => ({ head, align: 'right' as const }))], rows)
  const moved = outcomes.filter(({ figures }) => figures.inserted + figures.updated + figures.deleted > 0)
  return `${drawn}${counted(moved.length, 'report')} changed, read in ${duration(elapsedMs)}.\n`
}

async function showQueries({ out }: Shell, config: Config, changedEvent: number): Promise<void> {
  out.write(heading('5. Questions to the published copy'))
  await using copy = await openPublished(config)
  for (const { title, sql } of queriesOf(changedEvent)) {
    out.write(`\n${title}\n\n${sql.replaceAll(/^/gm, '    ')}\n\n`)
    await printResult(copy, sql, tablePrinter(out, ROWS))
  }
}

const closingText = (): string => `${heading('6. Yours to look at')}
The tables are in ${FOLDER}/published.duckdb; any DuckDB opens it. Next:

  npx tidemark query  --config ${FOLDER}/tidemark.yaml "SELECT * FROM tidemark.freshness"
  npx tidemark status --config ${FOLDER}/tidemark.yaml
  npx tidemark sandbox        the same service, to try your own configuration on
  npx tidemark --help
`

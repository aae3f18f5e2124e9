/**
 * `npm run test:dbt`: a real dbt, a real Python, the DuckDB CLI and Node on a published copy that Tidemark made, with
 * the history of two reports, also all at once while loads go on. Where there is no Python or no package index it says
 * so in one line and ends well.
 */
import { copyFile } from 'node:fs/promises'
import path from 'node:path'
import { parse } from 'yaml'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import { aWorld, type World } from '../cli/support.ts'
import { readLakeWithDbt } from './lake.ts'
import { aProject, dbt } from './project.ts'
import { aPython, type Python } from './python.ts'
import { readWithCli, readWithNode, readWithPython } from './readers.ts'
import { readInNotebook, readWithVersions } from './versions.ts'

const READING_SECONDS = 20
const CLI_TIMES = 25
const DBT_TIMES = 3
/** So many events and budgets are edited once. */
const VERSIONS = 5

const python = await aPython(path.join(import.meta.dirname, 'requirements.txt'))
if (typeof python === 'string') console.log(`dbt was not run: ${python}`)
else await everything(python)

async function everything(having: Python): Promise<void> {
  const history = { history: true }
  await using world = await aWorld({
    sandbox: { rows: 200 },
    settings: { reports: { events: history, budgets: history } },
  })
  await synced(world)
  for (const report of ['events', 'budgets'] as const) {
    for (const key of world.sandbox.world.liveKeys(report).slice(0, VERSIONS)) world.sandbox.world.edit(report, key)
  }
  await synced(world, 'events', 'budgets')
  const project = path.join(world.folder, 'dbt')
  const published = path.join(world.folder, 'data/published.duckdb')
  const sources = (await world.run('schema', '--format', 'dbt')).stdout
  parse(sources)
  await aProject({ folder: project, published, sources })
  for (const command of [['source', 'freshness'], ['test'], ['run']]) {
    const { code, last, output } = await dbt(having, project, command)
    say(code === 0, `dbt ${command.join(' ')}: ${last}`, output)
  }
  await versionsAreRead(project)
  say(true, await readWithVersions(having, published), '')
  await notebookIsRight(having, { world, published })
  await brokenIsFound(having, { world, sources, published })
  await readWhileItChanges(having, { world, project, published })
  await lakeIsRead(having)
}

async function lakeIsRead(having: Python): Promise<void> {
  const { runs, events } = await readLakeWithDbt(having)
  for (const { command, code, last, output } of runs) say(code === 0, `dbt ${command} on a lake: ${last}`, output)
  for (const { service, model } of [events.live, events.all])
    say(service === model, `a model on a lake counts ${model} events, the service ${service}`, '')
}

/** What dbt made of the history: the edited events have two versions each, and every event has one that is open. */
async function versionsAreRead(project: string): Promise<void> {
  await using models = await Database.open(path.join(project, 'models.duckdb'), { memory: '256MB', readOnly: true })
  const [found] = await models.rows<{ events: number; twice: number; open: number }>(`
    SELECT count(*) AS events, count(*) FILTER (versions = 2) AS twice, count(*) FILTER (open_versions = 1) AS open
    FROM event_versions`)
  const told = `dbt counts ${found?.events} events with ${found?.open} open versions, ${found?.twice} of them were edited`
  say(found?.twice === VERSIONS && found.open === found.events, told, '')
}

async function notebookIsRight(having: Python, { world, published }: { world: World; published: string }) {
  const [older, newer] = ['older.duckdb', 'newer.duckdb'].map((name) => path.join(world.folder, name)) as [
    string,
    string,
  ]
  await copyFile(published, older)
  world.sandbox.world.edit('events', Number(world.sandbox.world.liveKeys('events')[0]))
  await synced(world, 'events')
  await copyFile(published, newer)
  await readInNotebook(having, { published: older, newer })
  say(true, 'the notebook runs, and each trap that it names is there', '')
}

/** The tests bite: a doubled row and a child without its parent are found. */
async function brokenIsFound(
  having: Python,
  { world, sources, published }: { world: World; sources: string; published: string },
): Promise<void> {
  const broken = path.join(world.folder, 'broken.duckdb')
  await copyFile(published, broken)
  await using database = await Database.open(broken, { memory: '256MB' })
  await database.run('INSERT INTO main.budgets FROM main.budgets LIMIT 1')
  await database.run('DELETE FROM main.events WHERE event_id = (SELECT min(event_id) FROM main.events__meeting_rooms)')
  await database.close()
  const project = path.join(world.folder, 'dbt-broken')
  await aProject({ folder: project, published: broken, sources })
  const select = ['unique_budgets', 'parent_of_events__meeting_rooms', 'unique_enquiries__taxes']
  const { code, last, output } = await dbt(having, project, ['test', '--select', ...select])
  const found = /PASS=1 WARN=0 ERROR=2/.test(last)
  say(code === 1 && found, `dbt test on a broken copy finds both faults: ${last}`, output)
}

async function readWhileItChanges(
  having: Python,
  { world, project, published }: { world: World; project: string; published: string },
): Promise<void> {
  const reading = Promise.all([
    readWithPython(having, published, READING_SECONDS),
    readWithPython(having, published, READING_SECONDS),
    readWithCli(having, published, CLI_TIMES),
    readWithNode(published, CLI_TIMES),
    readWithDbt(having, project),
  ])
  let syncs = 0
  const state = { isReading: true }
  void reading.finally(() => (state.isReading = false)).catch(() => undefined)
  const [first] = world.sandbox.world.liveKeys('events')
  while (state.isReading) {
    world.sandbox.world.edit('events', Number(first))
    await synced(world, 'events')
    syncs += 1
  }
  const [one, two, cli, node, dbts] = await reading
  const times = `Python opened the copy ${one + two} times, the DuckDB CLI ${cli} times, Node ${node} times`
  say(true, `${times}, dbt ran ${dbts} times, during ${syncs} syncs`, '')
}

async function readWithDbt(having: Python, project: string): Promise<number> {
  for (let time = 0; time < DBT_TIMES; time += 1) {
    const { code, last, output } = await dbt(having, project, ['run'])
    say(code === 0, code === 0 ? undefined : `dbt run beside loads: ${last}`, output)
  }
  return DBT_TIMES
}

async function synced(world: World, ...reports: string[]): Promise<void> {
  const { code, stderr } = await world.run('sync', '--quiet', ...reports)
  say(code === 0, undefined, stderr)
}

function say(isWell: boolean, line: string | undefined, output: string): void {
  if (line !== undefined) console.log(`${isWell ? 'passed' : 'failed'}: ${line}`)
  if (isWell) return
  console.log(output)
  process.exitCode = 1
}

/**
 * `npm run test:dbt`: a real dbt, a real Python and the DuckDB CLI on a published copy that Tidemark made. Where there is
 * no Python or no package index it says so in one line and ends well.
 */
import { copyFile } from 'node:fs/promises'
import path from 'node:path'
import { parse } from 'yaml'
import { Database } from '../../src/warehouse/duckdb.ts'
import { aWorld, type World } from '../cli/support.ts'
import { aProject, dbt } from './project.ts'
import { aPython, type Python } from './python.ts'
import { readWithCli, readWithPython } from './readers.ts'

const READING_SECONDS = 20
const CLI_TIMES = 25

const python = await aPython()
if (typeof python === 'string') console.log(`dbt was not run: ${python}`)
else await everything(python)

async function everything(having: Python): Promise<void> {
  await using world = await aWorld({ sandbox: { rows: 200 } })
  await synced(world)
  const project = path.join(world.folder, 'dbt')
  const published = path.join(world.folder, 'data/published.duckdb')
  const sources = (await world.run('schema', '--format', 'dbt')).stdout
  parse(sources)
  await aProject({ folder: project, published, sources })
  for (const command of [['source', 'freshness'], ['test'], ['run']]) {
    const { code, last, output } = await dbt(having, project, command)
    say(code === 0, `dbt ${command.join(' ')}: ${last}`, output)
  }
  await brokenIsFound(having, { world, sources, published })
  await readWhileItChanges(having, world, published)
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

async function readWhileItChanges(having: Python, world: World, published: string): Promise<void> {
  const reading = Promise.all([
    readWithPython(having, published, READING_SECONDS),
    readWithPython(having, published, READING_SECONDS),
    readWithCli(having, published, CLI_TIMES),
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
  const [one, two, cli] = await reading
  say(true, `Python opened the copy ${one + two} times, the DuckDB CLI ${cli} times, during ${syncs} syncs`, '')
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

/** The same dbt project on a lake: dbt loads DuckDB's extensions, attaches the lake read-only and reads its tables. */
import { mkdir, readdir, symlink } from 'node:fs/promises'
import path from 'node:path'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import { aWorld } from '../cli/support.ts'
import { aProject, dbt, type Ran } from './project.ts'
import type { Python } from './python.ts'

/** In this order: DuckLake needs the scanner of its catalogue. */
const EXTENSIONS = ['sqlite_scanner', 'ducklake']
const SELECTED = {
  'source freshness': ['source:tidemark.events', 'source:tidemark_books.runs_of_events'],
  test: ['source:tidemark.events', 'source:tidemark.events__meeting_rooms', 'source:tidemark_history.events'],
  run: ['event_versions', 'events_by_status'],
}

export interface LakeRuns {
  readonly runs: readonly (Ran & { readonly command: string })[]
  /** The number of events in the service and in dbt's models: those that are not deleted, and all. */
  readonly events: Readonly<Record<'live' | 'all', { readonly service: number; readonly model: number | undefined }>>
}

/** Loads three reports into a lake, and runs the project on it. */
export async function readLakeWithDbt(python: Python): Promise<LakeRuns> {
  await using world = await aWorld({ sandbox: { rows: 30 } })
  const extensions = await extensionsOf(python, path.join(world.folder, 'extensions'))
  const warehouse = `ducklake:sqlite:${path.join(world.folder, 'lake.sqlite')}`
  await world.configure({ warehouse, extensions, reports: { events: { history: true } } })
  const synced = await world.run('sync', '--quiet', 'events', 'merf_submissions')
  if (synced.code !== 0) throw new TypeError(synced.stderr)
  const folder = path.join(world.folder, 'dbt')
  const sources = (await world.run('schema', '--format', 'dbt')).stdout
  const load = EXTENSIONS.map((name) => path.join(extensions, `${name}.duckdb_extension`))
  await aProject({ folder, published: warehouse, sources, alias: 'lake', extensions: load })
  const runs: LakeRuns['runs'][number][] = []
  for (const [command, selected] of Object.entries(SELECTED))
    runs.push({ command, ...(await dbt(python, folder, [...command.split(' '), '--select', ...selected])) })
  await using models = await Database.open(path.join(folder, 'models.duckdb'), { memory: '256MB', readOnly: true })
  const [found] = await models.rows<{ now: number; history: number }>(
    'SELECT (SELECT sum(events)::INTEGER FROM events_by_status) AS now, (SELECT count(*)::INTEGER FROM event_versions) AS history',
  )
  const { world: service } = world.sandbox
  const live = { service: service.liveKeys('events').length, model: found?.now }
  return { runs, events: { live, all: { service: service.keys('events').length, model: found?.history } } }
}

/** Links DuckDB's extensions, which pip has installed, into one folder. */
async function extensionsOf({ bin }: Python, folder: string): Promise<string> {
  await mkdir(folder)
  const home = path.dirname(bin)
  for (const file of await readdir(home, { recursive: true }))
    if (file.startsWith('lib/') && file.endsWith('.duckdb_extension'))
      await symlink(path.join(home, file), path.join(folder, path.basename(file)))
  return folder
}

/** `tidemark move` from a file into a lake and back, and from a lake into another one. */
import { existsSync, readdirSync } from 'node:fs'
import { symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aMovableWorld, change, type MovableWorld, MOVED } from '../cli/moving.ts'
import { aWorld, until } from '../cli/support.ts'
import { extensionsFolder } from '../support/extensions.ts'
import { type PostgresServer, startPostgresHere } from '../support/postgresServer.ts'

let postgres: PostgresServer
beforeAll(async () => {
  postgres = await startPostgresHere()
})
afterAll(() => postgres.stop())

const FILE = { warehouse: './old.duckdb', extensions: extensionsFolder() }

type Settings = Readonly<Record<string, string>>

/** Moves the configured warehouse, and returns its content before and after. */
async function moved(world: MovableWorld, from: Settings, to: Settings): Promise<readonly [unknown, unknown]> {
  const before = await world.content(from)
  const data = to['lake_data'] === undefined ? [] : ['--data', to['lake_data']]
  await world.done('move', '--to', to['warehouse'] ?? '', ...data)
  return [before, await world.content(to)]
}

describe.each(['sqlite', 'postgres'] as const)('a lake whose catalogue is in %s', (catalogue) => {
  it('takes over a file with its books and history, and gives them back', async () => {
    await using world = await aMovableWorld(FILE)
    const steady = await world.sync()
    expect(steady.old).toEqual([])
    const place = catalogue === 'sqlite' ? path.join(world.folder, 'lake.sqlite') : await postgres.newDatabase()
    const lake = { ...FILE, warehouse: `ducklake:${catalogue}:${place}`, lake_data: path.join(world.folder, 'files') }
    const [file, inLake] = await moved(world, FILE, lake)
    expect(inLake).toEqual(file)
    const last = (await world.done('changes', ...MOVED)).trim().split('\n').at(-1)
    const { cursor } = JSON.parse(last ?? '') as { cursor: string }
    expect(await world.sync()).toEqual(steady)
    change(world)
    const changed = await world.sync()
    expect(changed.old).toEqual([])
    expect(changed.written).not.toEqual(steady.written)
    const back = { ...FILE, warehouse: './back.duckdb' }
    const [before, after] = await moved(world, lake, back)
    expect(after).toEqual(before)
    expect(await world.sync()).toEqual(steady)
    expect((await world.done('changes', 'events', '--since', cursor)).trim().split('\n').length).toBeGreaterThan(2)
  })
})

const spilled = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((each) => /\.spill-/.test(each))

it.each(['sqlite', 'postgres'])(
  'status and query name the place of a lake in %s that does not exist',
  async (catalogue) => {
    await using world = await aWorld({ sandbox: { rows: 5 } })
    const at = catalogue === 'sqlite' ? './none.sqlite' : await postgres.newDatabase()
    const lake = { extensions: extensionsFolder(), warehouse: `ducklake:${catalogue}:${at}`, lake_data: './files' }
    await world.configure(lake)
    const status = await world.run('status')
    expect(`${status.code} ${status.stdout}`).toMatch(/^0 there is no lake at ducklake:.*: run "tidemark sync"\n$/)
    const query = await world.run('query', 'FROM main.events')
    expect(`${query.code} ${query.stderr}`).toMatch(
      /^1 error: there is no lake at ducklake:[^\n]*\n.*it creates a new lake/s,
    )
    if (catalogue === 'sqlite') {
      await symlink('none.sqlite', path.join(world.folder, 'none.sqlite'))
      const unreachable = await world.run('query', 'FROM main.events')
      return expect(unreachable.stderr).toMatch(/^error: .*none\.sqlite cannot be reached.*Allow this user to enter/s)
    }
    await world.configure({ ...lake, warehouse: lake.warehouse.replace(/port=\d+/, 'port=1') })
    expect(await world.run('status')).toMatchObject({ code: 1, stderr: expect.stringContaining('cannot be reached') })
  },
)

it('moves a lake into another one, also after a kill, and refuses a place with files and a lake that exists', async () => {
  await using world = await aWorld({ sandbox: { rows: 20 } })
  const failed = async (...options: string[]) => {
    const { code, stderr } = await world.run('move', ...options)
    return `${code} ${stderr}`
  }
  const at = await postgres.newDatabase()
  const file = path.join(world.folder, 'lake.sqlite')
  const old = { extensions: extensionsFolder(), warehouse: `ducklake:sqlite:${file}` }
  const lake = { ...old, warehouse: `ducklake:postgres:${at}`, lake_data: path.join(world.folder, 'files') }
  await world.configure(old)
  await world.run('sync', 'events', '--quiet')
  expect(await failed('--to', old.warehouse)).toMatch(/^2 .*lake\.sqlite is the warehouse that you move/s)
  const other = path.join(world.folder, 'other.sqlite')
  const used = ['--to', `ducklake:sqlite:${other}`, '--data', `${file}.files`]
  expect(await failed(...used)).toMatch(/^2 .*the place for the files of the new lake has .*\.parquet.*Name an empty/s)
  expect(existsSync(other)).toBe(false)
  await writeFile(path.join(world.folder, 'text'), 'a text')
  expect(await failed('--to', `ducklake:sqlite:${other}`, '--data', 'text')).toMatch(/^2 .*text is no folder/s)
  expect(await failed('--to', 'ducklake:sqlite:text')).toMatch(/^2 .*text is not a file that.*Name with --to a new/s)
  expect(await failed('--to', 'ducklake:sqlite:.')).toMatch(/^2 .* is a folder.*Name a file for the catalogue/s)
  expect(readdirSync(world.folder).filter((each) => /other|text\./.test(each))).toEqual([])
  const wrong = `ducklake:postgres:${at.replace(/port=\d+/, 'port=1')}`
  expect(await failed('--to', wrong, '--data', 'x')).toMatch(/^1 .*can't be opened.*Check the address/s)
  const killed = world.start(['move', '--to', lake.warehouse, '--data', lake.lake_data])
  const files = () => (existsSync(lake.lake_data) ? readdirSync(lake.lake_data, { recursive: true }) : [])
  await until(() => files().some((each) => String(each).endsWith('.parquet')), 'the first rows are there')
  killed.kill('SIGKILL')
  await killed.ended
  expect(spilled(world.folder)).toHaveLength(1)
  await world.configure(lake)
  const query = await world.run('query', 'FROM main.events')
  expect(`${query.code} ${query.stderr}`).toMatch(/^1 .*"tidemark move" has not filled .*MOVE_UNFINISHED/s)
  await world.configure(old)
  const moved = await world.run('move', '--to', lake.warehouse, '--data', lake.lake_data, '--json')
  expect(moved.code, moved.stderr).toBe(0)
  expect(JSON.parse(moved.stdout)).toMatchObject({ settings: { lake_data: lake.lake_data } })
  expect(spilled(world.folder)).toEqual([])
  const elsewhere = ['--to', lake.warehouse, '--data', path.join(world.folder, 'else')]
  const places = /^2 .* has its files in .*\/files, and lake_data names .*\/else\n.*Set lake_data .* to .*\/files\./s
  expect(await failed(...elsewhere)).toMatch(places)
  await world.configure(lake)
  const counted = await world.run('query', '--format', 'csv', 'SELECT count(*) FROM main.events')
  expect(counted.stdout, counted.stderr).toContain('20')
})

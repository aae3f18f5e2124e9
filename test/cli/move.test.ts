/** `tidemark move` from a file into a file. test/lake/move.test.ts has lakes. */
import { existsSync } from 'node:fs'
import { copyFile, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, it } from 'vitest'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import { aMovableWorld, change } from './moving.ts'
import { aWorld, until } from './support.ts'

const OLD = { warehouse: './old.duckdb', published: './published.duckdb' }
const NEWER =
  /moved\.duckdb has (?:another|a newer) state of this warehouse: its last load is \d+, and the last load of/
const wrong = (what: RegExp) => new RegExp(`^2 .*${what.source}.*Name with --to a new file.*Nothing was moved`, 's')
const NEW = { warehouse: './new/moved.duckdb', published: './published.duckdb' }

it('brings all tables, views and books, and the next sync asks only for what changed', { tags: 'long' }, async () => {
  await using world = await aMovableWorld(OLD)
  const steady = await world.sync()
  expect(steady.old).toEqual([])
  const changes = async (...since: string[]) => (await world.done('changes', 'events', ...since)).trim().split('\n')
  const { cursor } = JSON.parse((await changes()).at(-1) ?? '') as { cursor: string }
  const old = await world.content(OLD)
  const file = path.join(world.folder, 'old.duckdb')
  const bytes = await readFile(file)
  const moved = JSON.parse(await world.done('move', '--to', NEW.warehouse, '--json')) as Record<string, unknown>
  expect(moved).toMatchObject({ settings: { warehouse: path.join(world.folder, 'new/moved.duckdb') } })
  const closed = { table: 'history.closed_events', rows: expect.any(Number) as number, copied: true }
  expect(moved['tables']).toContainEqual(closed)
  expect((await readFile(file)).equals(bytes)).toBe(true)
  expect(await world.content(NEW)).toEqual(old)
  expect(await world.sync()).toEqual(steady)
  expect(await changes('--since', cursor)).toHaveLength(1)
  change(world)
  const { old: repeated, written } = await world.sync()
  expect(repeated).toEqual([])
  expect(written).not.toEqual(steady.written)
  expect((await changes('--since', cursor)).length).toBeGreaterThan(2)
})

it('continues after a kill, and prints the settings of the new warehouse', { tags: 'long' }, async () => {
  await using world = await aWorld({ sandbox: { rows: 20 }, settings: OLD })
  await world.run('sync', 'events', 'budgets', '--quiet')
  const file = path.join(world.folder, 'new/moved.duckdb')
  const killed = world.start(['move', '--to', NEW.warehouse])
  await until(() => existsSync(file), 'the target is there')
  killed.kill('SIGKILL')
  await killed.ended
  const { code, stdout, stderr } = await world.run('move', '--to', NEW.warehouse)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^\d+ tables with [\d,]+ rows moved and compared in .*\nIn tidemark\.yaml, write this/)
  expect(stdout).toContain(`\n  warehouse: ${file}\nThen run "tidemark check".`)
  const settings = stdout.slice(stdout.indexOf('\n'))
  const again = await world.run('move', '--to', NEW.warehouse)
  expect(again).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringMatching(/^nothing was copied: .*moved\.duckdb has the same rows/),
  })
  expect(again.stdout.slice(again.stdout.indexOf('\n'))).toBe(settings)
  await world.configure(NEW)
  expect((await world.run('check')).stdout).toMatch(/^warehouse +ok .*moved\.duckdb/m)
  await world.run('sync', 'events', '--quiet')
  await world.configure(OLD)
  const late = await world.run('move', '--to', NEW.warehouse)
  expect(late).toMatchObject({ code: 2, stderr: expect.stringMatching(NEWER) })
  await world.configure(NEW)
  const { stdout: rows } = await world.run('query', '--format', 'csv', 'SELECT count(*) FROM main.events')
  expect(rows).toContain('20')
})

it('refuses a wrong target, a used one, and one that another process has open, each with a cure', async () => {
  await using world = await aWorld({ sandbox: { rows: 5 }, settings: OLD })
  const failed = async (...options: string[]) => {
    const { code, stderr } = await world.run('move', ...options)
    return `${code} ${stderr}`
  }
  expect(await failed()).toMatch(/^2 .*required option '--to <warehouse>'/s)
  expect(await failed('--to', NEW.warehouse)).toMatch(/^1 .*old\.duckdb cannot be opened.*WAREHOUSE_MISSING/s)
  await world.run('sync', 'events', '--quiet')
  expect(await failed('--to', 's3://bucket/x')).toMatch(/^2 .*--to {2}warehouse must be the path of a DuckDB file/s)
  expect(await failed('--to', 'ducklake:mysql:x')).toMatch(
    /^2 .*--to {2}warehouse must be ducklake:sqlite:FILE.*then run this command again\./s,
  )
  expect(await failed('--to', 'ducklake:sqlite:x')).toMatch(/^2 .*--to {2}warehouse needs DuckDB's ducklake/s)
  expect(await failed('--to', 'ducklake:postgres:x')).toMatch(/^2 .*--data {2}lake_data is missing/s)
  expect(await failed('--to', NEW.warehouse, '--data', 'x')).toMatch(/^2 .*--data {2}lake_data is for a lake/s)
  expect(await failed('--to', OLD.warehouse)).toMatch(/^2 .*old\.duckdb is the warehouse that you move\n/s)
  expect(await failed('--to', OLD.warehouse)).not.toMatch(/delete/)
  await symlink('old.duckdb', path.join(world.folder, 'link.duckdb'))
  expect(await failed('--to', 'link.duckdb')).toMatch(/^2 .*link\.duckdb is the warehouse that you move\n/s)
  const copy = /^2 error: the configuration is wrong:\n {2}--to {2}is where the published copy would be: name a file/
  expect(await failed('--to', OLD.published)).toMatch(copy)
  expect(await failed('--to', 'x.sqlite')).toMatch(/^2 .*--to {2}warehouse must be .*a lake: ducklake:sqlite:FILE/s)
  expect(await failed('--to', '.')).toMatch(wrong(/ is a folder\n/))
  expect(await failed('--to', '/proc/x')).toMatch(wrong(/proc\/x cannot be opened/))
  await writeFile(path.join(world.folder, 'text.txt'), 'a text')
  expect(await failed('--to', 'text.txt')).toMatch(wrong(/text\.txt is not a file that DuckDB can read/))
  expect(await readFile(path.join(world.folder, 'text.txt'), 'utf8')).toBe('a text')
  const short = ['--to', 'ducklake:postgres:x', '--data', 's3://b/x']
  expect(await failed(...short)).toMatch(/^2 .*--data {2}lake_data .*a bucket has 3 or more characters/s)
  const used = path.join(world.folder, 'used.duckdb')
  {
    await using other = await Database.open(used, { memory: '64MB' })
    await other.run('CREATE TABLE notes AS SELECT 1 AS id')
    const { code, stderr } = await world.start(['move', '--to', used]).ended
    expect(`${code} ${stderr}`).toMatch(/^1 .*used\.duckdb is open in another process.*WAREHOUSE_LOCKED/s)
  }
  const older = path.join(world.folder, 'older.duckdb')
  await copyFile(path.join(world.folder, 'old.duckdb'), older)
  {
    await using earlier = await Database.open(older, { memory: '64MB' })
    await earlier.run('DROP VIEW tidemark.freshness; DROP TABLE tidemark.report_states')
  }
  expect(await failed('--to', older)).toMatch(/^2 .*older\.duckdb has another state of this warehouse/s)
  await using source = await Database.open(path.join(world.folder, 'old.duckdb'), { memory: '64MB' })
  const { code, stderr } = await world.start(['move', '--to', NEW.warehouse]).ended
  expect(`${code} ${stderr}`).toMatch(/^1 .*old\.duckdb is open in another process.*stop the other one/s)
  expect(source.path).toContain('old.duckdb')
})

it('lets check name a published copy that is older than the warehouse, or of another one', {
  tags: 'long',
}, async () => {
  await using world = await aWorld({ sandbox: { rows: 5 }, settings: OLD })
  await world.run('sync', 'events', '--quiet')
  const finding = async () => /^published copy .*/m.exec((await world.run('check')).stdout)?.[0]
  expect(await finding()).toMatch(/^published copy +ok /)
  const copy = path.join(world.folder, OLD.published)
  const before = await readFile(copy)
  change(world)
  await world.run('sync', 'events', '--quiet')
  await rm(copy)
  await writeFile(copy, before)
  expect(await finding()).toMatch(/^published copy +warn .*older than the warehouse: its last load is \d/)
  await utimes(copy, 1, 1)
  const { stdout, stderr } = await world.run('query', '--format', 'csv', 'SELECT count(*) FROM main.events')
  expect(stdout).toMatch(/^count_star\(\)\n\d+\n$|^"?count\(\*\)"?\n\d+\n$/)
  expect(stderr).toMatch(
    /^warning: .*published\.duckdb: it is older than the warehouse: .*Run "tidemark sync": it publishes.*\n$/,
  )
  await rm(path.join(world.folder, OLD.warehouse))
  await world.run('sync', 'events', '--quiet')
  await writeFile(copy, before)
  expect(await finding()).toMatch(/^published copy +warn .*copy of another warehouse/)
})

it('lets no second warehouse publish over the copy of the first one, and lets check and query name it', async () => {
  await using world = await aWorld({ sandbox: { rows: 5 }, settings: { warehouse: './first.duckdb' } })
  expect(await world.run('sync', 'events', '--quiet')).toMatchObject({ code: 0 })
  const rows = async () => (await world.run('query', '--format', 'csv', 'SELECT count(*) FROM main.events')).stdout
  await world.configure({ warehouse: './second.duckdb' })
  const finding = async () => (await world.run('check')).stdout
  const named = /^published copy +warn .*it is a copy of another warehouse, .*first\.duckdb/m
  const { code, stdout, stderr } = await world.run('sync', 'events')
  expect(code).toBe(1)
  expect(stdout + stderr).toMatch(/published\.duckdb is the published copy of another warehouse, .*first\.duckdb/)
  expect(stdout + stderr).toMatch(/Set published to another file/)
  const checked = await finding()
  expect(checked).toMatch(named)
  expect(checked).toMatch(/^ +published copy: .*set published to another file/m)
  expect((await world.run('query', 'SELECT 1')).stderr).toMatch(/^warning: .*of another warehouse, .*set published/)
  await world.configure({ warehouse: './first.duckdb' })
  expect(await rows()).toContain('5')
  await world.configure({ warehouse: './second.duckdb', published: './second-published.duckdb' })
  expect(await world.run('sync', 'events', '--quiet')).toMatchObject({ code: 0 })
  expect(await rows()).toContain('5')
  expect(await finding()).toMatch(/^published copy +ok /m)
})

/** A catalogue of an older DuckLake is upgraded only by a command, after a copy. A newer one is left alone. */
import { existsSync, readFileSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aWorld, type World } from '../cli/support.ts'
import { ROOT } from '../rules/source.ts'
import { extensionsFolder } from '../support/extensions.ts'
import { type PostgresServer, startPostgresHere } from '../support/postgresServer.ts'
import { inPython, pythonDuckdb } from '../support/pythonDuckdb.ts'
import { urlOf } from './lakeside.ts'

/** Returns the statements of docs/LAKE.md that put the copy back. */
const goingBack = (): string =>
  /```sql back\n(.*?)```/s.exec(readFileSync(join(ROOT, 'docs/LAKE.md'), 'utf8'))?.[1] ?? ''

/** Executes SQL in the catalogue's database, as `psql` does. */
async function inPsql(connection: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: urlOf(connection) })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}

/** DuckDB 1.4 writes format 0.3 of DuckLake. */
const OLDER = '1.4.4'

let postgres: PostgresServer
beforeAll(async () => {
  postgres = await startPostgresHere()
})
afterAll(() => postgres.stop())

interface OldLake extends AsyncDisposable {
  readonly world: World
  readonly files: string
  readonly at: string
  /** Attaches the lake with the older DuckDB, and returns the number of notes and the format. */
  readOlder(at: string, more?: string): Promise<string>
}

async function anOldLake(catalogue: 'sqlite' | 'postgres'): Promise<OldLake> {
  const world = await aWorld({ sandbox: { rows: 20 } })
  const at = catalogue === 'sqlite' ? join(world.folder, 'lake.sqlite') : await postgres.newDatabase()
  const files = join(world.folder, 'files')
  await world.configure({ warehouse: `ducklake:${catalogue}:${at}`, lake_data: files, extensions: extensionsFolder() })
  const python = pythonDuckdb(OLDER, catalogue)
  const attach = (from: string, more = '') =>
    `db.execute("ATTACH 'ducklake:${catalogue}:${from}' AS lake (DATA_PATH '${files}/'${more})")`
  await inPython(
    python,
    `${attach(at)}\ndb.execute("CREATE TABLE lake.main.notes AS SELECT range AS id FROM range(100)")`,
  )
  const counted = `print(db.execute("SELECT count(*) FROM lake.main.notes").fetchone()[0])`
  return {
    world,
    files,
    at,
    readOlder: async (from, more) => (await inPython(python, `${attach(from, more)}\n${counted}`)).trim(),
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  }
}

describe.each(['sqlite', 'postgres'] as const)('a catalogue in %s', (catalogue) => {
  it('of an older DuckLake is refused, and stays as it is until the command upgrades it with a copy', async () => {
    await using old = await anOldLake(catalogue)
    const { world } = old
    for (const command of [['sync', 'events'], ['query', 'SELECT 1'], ['check'], ['lake', 'upkeep']]) {
      const { code, stdout, stderr } = await world.run(...command)
      expect(code, command.join(' ')).toBe(1)
      expect(stdout + stderr).toMatch(/format 0\.3 of DuckLake.*tidemark lake upgrade/s)
    }
    expect(await old.readOlder(old.at)).toBe('100')
    const upgraded = await world.run('lake', 'upgrade', '--json')
    expect(upgraded.code, upgraded.stderr).toBe(0)
    const { copy } = JSON.parse(upgraded.stdout) as { copy: string }
    const synced = await world.run('sync', 'events')
    expect(synced.code, synced.stdout + synced.stderr).toBe(0)
    const asked = await world.run(
      'query',
      '--format',
      'csv',
      'SELECT (SELECT count(*) FROM notes), (SELECT count(*) FROM events)',
    )
    expect(asked.stdout, asked.stderr).toContain('100,20')
    expect((await world.run('check', '--json')).stdout).toMatch(/DuckLake format 1\.0, DuckDB v1\.5\.\d/)
    expect((await world.run('lake', 'upgrade')).stdout).toContain('it needs no upgrade')
    const isFile = catalogue === 'sqlite'
    expect(await (isFile ? old.readOlder(copy) : old.readOlder(old.at, `, METADATA_SCHEMA '${copy}'`))).toBe('100')
    await expect(old.readOlder(old.at)).rejects.toThrow(/Only DuckLake versions .* are supported/)
  })

  it('goes back by the copy, as the document shows: the older DuckLake reads it, and it can be upgraded again', async () => {
    await using old = await anOldLake(catalogue)
    const { world } = old
    const { copy } = JSON.parse((await world.run('lake', 'upgrade', '--json')).stdout) as { copy: string }
    if (catalogue === 'sqlite') {
      for (const part of ['', '-wal', '-shm']) await rm(old.at + part, { force: true })
      for (const part of ['', '-wal'].filter((each) => existsSync(copy + each)))
        await rename(copy + part, old.at + part)
    }
    if (catalogue === 'postgres') await inPsql(old.at, goingBack().replaceAll('COPY', copy))
    expect(await old.readOlder(old.at)).toBe('100')
    expect((await world.run('query', 'SELECT 1')).stderr).toContain('LAKE_OUTDATED')
    const upgraded = await world.run('lake', 'upgrade')
    expect(upgraded.code, upgraded.stderr).toBe(0)
    const synced = await world.run('sync', 'events', '--quiet')
    expect(synced.code, synced.stdout + synced.stderr).toBe(0)
    expect((await world.run('query', '--format', 'csv', 'SELECT count(*) FROM notes')).stdout).toContain('100')
  })

  it('of a newer DuckLake is refused by every command, the upgrade too', async () => {
    await using old = await anOldLake(catalogue)
    const { world } = old
    const type = catalogue === 'sqlite' ? 'sqlite' : 'postgres'
    await inPython(
      pythonDuckdb(OLDER, catalogue),
      `db.execute("ATTACH '${old.at}' AS c (TYPE ${type})")\ndb.execute("UPDATE c.ducklake_metadata SET value = '9.9' WHERE key = 'version'")`,
    )
    for (const command of [
      ['sync', 'events'],
      ['query', 'SELECT 1'],
      ['lake', 'upgrade'],
    ]) {
      const { code, stdout, stderr } = await world.run(...command)
      expect(code, command.join(' ')).toBe(1)
      expect(stdout + stderr).toMatch(/format 9\.9 of DuckLake, and this DuckLake has format 1.*newer Tidemark/s)
    }
  })
})

/** The rights in docs/LAKE.md are enough: one user of PostgreSQL loads, the other one only reads. */
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { aWorld } from '../cli/support.ts'
import { documents } from '../rules/markdown.ts'
import { extensionsFolder } from '../support/extensions.ts'
import { type PostgresServer, startPostgresHere } from '../support/postgresServer.ts'

let postgres: PostgresServer
beforeAll(async () => {
  postgres = await startPostgresHere()
})
afterAll(() => postgres.stop())

/** Returns the statements of a block in docs/LAKE.md. The superuser of the tests has the name of the document's user. */
function statementsOf(kind: string): readonly string[] {
  const blocks = documents().flatMap(({ name, blocks: all }) => (name === 'docs/LAKE.md' ? all : []))
  const text = blocks.find((block) => block.kind === kind)?.text ?? ''
  const statements = text.replaceAll('tidemark', 'loader').split(/;[^\n]*\n/)
  return statements.map((each) => each.trim()).filter((each) => each !== '')
}

interface Session {
  readonly user: string
  readonly database: string
}

async function execute({ user, database }: Session, ...statements: readonly string[]): Promise<void> {
  const { port } = new URL(postgres.url)
  const client = new Client({ host: '127.0.0.1', port: Number(port), user, database })
  await client.connect()
  try {
    for (const each of statements) await client.query(each)
  } finally {
    await client.end()
  }
}

it('the user of docs/LAKE.md that owns the database loads, and its reader reads and writes nothing', async () => {
  await using world = await aWorld({ sandbox: { rows: 20 } })
  const { port } = new URL(postgres.url)
  const lake = (user: string) => `ducklake:postgres:host=127.0.0.1 port=${port} dbname=lake user=${user}`
  await world.configure({
    warehouse: lake('loader'),
    lake_data: join(world.folder, 'files'),
    extensions: extensionsFolder(),
  })
  await execute({ user: 'tidemark', database: 'postgres' }, ...statementsOf('sql owner'))
  const asReader = (...args: string[]) => world.runWith({ TIDEMARK_WAREHOUSE: lake('reader') }, ...args)
  const done = async (run: ReturnType<typeof asReader>) => {
    const { code, stdout, stderr } = await run
    expect(code, stdout + stderr).toBe(0)
    return stdout
  }
  await done(world.run('sync', 'events', '--quiet'))
  await done(world.run('lake', 'upkeep'))
  expect((await asReader('query', 'SELECT 1')).stderr).toContain('permission denied')
  await execute({ user: 'loader', database: 'lake' }, ...statementsOf('sql reader'))
  // DuckLake creates tables in the catalogue for a report that is new. The reader may read them too.
  await done(world.run('sync', 'merf_submissions', '--quiet'))
  const counted = 'SELECT (SELECT count(*) FROM events) + (SELECT count(*) FROM merf_submissions) AS n'
  expect(await done(asReader('query', '--format', 'csv', counted))).toContain('40')
  for (const command of ['status', 'check', 'verify events', 'export --to out'])
    await done(asReader(...command.split(' ')))
  const { code, stderr } = await asReader('sync', 'events', '--quiet')
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/code +WAREHOUSE_MISSING/) as string })
  expect(stderr).toContain('permission denied for table ducklake_snapshot')
  for (const statement of ['DELETE FROM ducklake_snapshot', 'CREATE TABLE notes (id INT)'])
    await expect(execute({ user: 'reader', database: 'lake' }, statement)).rejects.toThrow('permission denied')
})

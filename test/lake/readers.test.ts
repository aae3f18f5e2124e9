/** Readers of a lake: DuckDBs of other programs during loads, older states, and the commands and API that read. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aWorld, type World } from '../cli/support.ts'
import { knockAt, TOKEN } from '../console/support.ts'
import { aWorkshop, hasSaid, linesOf, OWNS, stop, until } from '../jobs/support.ts'
import { ROOT } from '../rules/source.ts'
import { extensionsFolder } from '../support/extensions.ts'
import { type PostgresServer, startPostgresHere } from '../support/postgresServer.ts'
import { inPython, pythonDuckdb } from '../support/pythonDuckdb.ts'

let postgres: PostgresServer
beforeAll(async () => {
  postgres = await startPostgresHere()
})
afterAll(() => postgres.stop())

async function synced(world: World): Promise<void> {
  const { code, stdout, stderr } = await world.run('sync', '--quiet', 'events')
  expect(code, stdout + stderr).toBe(0)
}

/** Reads the number of events and the number in the books, in one statement, until the file \`stop\` exists. */
const COUNTING = `SELECT (SELECT count(*) FROM lake.main.events)::INTEGER AS n,
  (SELECT sum(inserted) FROM lake.tidemark.loads WHERE report = 'events')::INTEGER AS loaded`

describe.each(['sqlite', 'postgres'] as const)('a lake with its catalogue in %s', (catalogue) => {
  it('is read by DuckDB in Node and twice in Python at once, in whole states, while loads go on', async () => {
    await using world = await aWorld({ sandbox: { rows: 20 } })
    const at = catalogue === 'sqlite' ? join(world.folder, 'lake.sqlite') : await postgres.newDatabase()
    const lake_data = join(world.folder, 'files')
    await world.configure({ warehouse: `ducklake:${catalogue}:${at}`, lake_data, extensions: extensionsFolder() })
    await synced(world)
    const end = join(world.folder, 'stop')
    const attach = `ATTACH 'ducklake:${catalogue}:${at}' AS lake (READ_ONLY)`
    const python = pythonDuckdb('1.5.5', catalogue)
    const code = `
db.execute("${attach}")
seen = []
while not seen or not os.path.exists('${end}'):
    seen.append(db.execute("""${COUNTING}""").fetchone())
try:
    db.execute("DELETE FROM lake.main.events")
except Exception as error:
    print(json.dumps([seen, str(error)]))`
    const [one, two] = [inPython(python, code), inPython(python, code)]
    const instance = await DuckDBInstance.create(':memory:')
    const own = await instance.connect()
    for (const name of [`${catalogue}_scanner`, 'ducklake'])
      await own.run(`LOAD '${join(extensionsFolder(), name)}.duckdb_extension'`)
    await own.run(attach)
    const seen: (readonly [number, number])[] = []
    for (let time = 0; time < 4; time += 1) {
      world.sandbox.world.insert('events')
      await synced(world)
      const [row] = (await own.runAndReadAll(COUNTING)).getRowObjectsJS()
      seen.push([Number(row?.['n']), Number(row?.['loaded'])])
    }
    own.closeSync()
    writeFileSync(end, '')
    expect(seen).toEqual([21, 22, 23, 24].map((rows) => [rows, rows]))
    for (const printed of await Promise.all([one, two])) {
      const [read, refused] = JSON.parse(printed) as [(readonly [number, number])[], string]
      expect(read.filter(([rows, loaded]) => rows !== loaded)).toEqual([])
      expect(read.map(([rows]) => rows)).toEqual(read.map(([rows]) => rows).toSorted((a, b) => a - b))
      expect(read[0]?.[0]).toBeLessThan(24)
      expect(read.at(-1)?.[0]).toBe(24)
      expect(refused).toMatch(/read-only/i)
    }
  })
})

it('the examples of the document run: the present state, and older ones by number and by time', async () => {
  await using world = await aWorld({ sandbox: { rows: 20 } })
  const at = join(world.folder, 'lake.sqlite')
  await world.configure({ warehouse: `ducklake:sqlite:${at}`, extensions: extensionsFolder() })
  for (let time = 0; time < 4; time += 1) {
    world.sandbox.world.insert('events')
    await synced(world)
  }
  const document = readFileSync(join(ROOT, 'docs/LAKE.md'), 'utf8')
  const examples = [...document.matchAll(/^```sql lake(?: travel)?\n(.*?)^```/gms)].map(([, sql = '']) => sql)
  expect(examples).toHaveLength(2)
  const statements = examples
    .join('')
    .replace('data/lake.sqlite', at)
    .replace(/LOAD .*\n/, '')
  const instance = await DuckDBInstance.create(':memory:')
  const reader = await instance.connect()
  for (const name of ['sqlite_scanner', 'ducklake'])
    await reader.run(`LOAD '${join(extensionsFolder(), name)}.duckdb_extension'`)
  const counts: unknown[] = []
  for (const statement of statements.replaceAll(/--.*$/gm, '').split(';')) {
    if (statement.trim() === '') continue
    const rows = (await reader.runAndReadAll(statement)).getRows()
    if (statement.includes('count(*)')) counts.push(Number(rows[0]?.[0]))
  }
  reader.closeSync()
  expect(counts).toHaveLength(3)
  const [present, byVersion, byTime] = counts as [number, number, number]
  expect(present).toBe(world.sandbox.world.liveKeys('events').length)
  expect(byTime).toBe(world.sandbox.world.keys('events').length)
  expect(byVersion).toBeLessThan(byTime)
})

it('wait, the explorer and the change feed read a lake beside its worker', async () => {
  await using shop = await aWorkshop({ store: 'embedded', env: { TIDEMARK_CONSOLE_TOKEN: TOKEN } })
  await shop.configure({ warehouse: `ducklake:sqlite:${shop.folder}/lake.sqlite`, extensions: extensionsFolder() })
  const worker = shop.worker()
  await until(() => hasSaid(worker, 'the console listens') && hasSaid(worker, OWNS))
  const waited = await shop.run('wait', 'events', '--fresh', '1h', '--timeout', '10m')
  expect(waited.code, waited.stdout + waited.stderr).toBe(0)
  const { address } = linesOf(worker).find(({ msg }) => msg.includes('the console listens')) as unknown as {
    address: string
  }
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
  const asked = await knockAt(address, '/api/query', {
    method: 'POST',
    headers,
    body: JSON.stringify({ sql: 'SELECT count(*) AS n FROM current.events' }),
  })
  expect(asked.status, asked.body).toBe(200)
  // Two of the 40 events are deleted.
  expect(JSON.parse(asked.body)).toMatchObject({ rows: [['38']] })
  const feed = await knockAt(address, '/api/changes?report=events', { headers })
  const { changes, cursor } = JSON.parse(feed.body) as { changes: unknown[]; cursor: string }
  expect(changes).toHaveLength(40)
  expect(cursor).toMatch(/^\d+-/)
  expect((await stop(worker)).code).toBe(0)
})

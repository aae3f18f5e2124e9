/** `tidemark query` and `tidemark status`: what readers get, in every format, before, during and after a sync. */
import { execFileSync } from 'node:child_process'
import { lstat, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { reportNames } from '../../schema/index.ts'
import { csvPrinter } from '../../src/cli/results.ts'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import { aWorldWithoutCollections as aWorld, until, type World } from './support.ts'

async function synced(): Promise<World> {
  const world = await aWorld()
  expect(await world.run('sync', 'events', '--quiet')).toMatchObject({ code: 0 })
  return world
}

const EVERY_KIND = `SELECT 12345678901234567890 AS big, 1.10::DECIMAL(38,9) AS amount, '小野, "x"' AS words, '' AS empty,
  NULL AS nothing, TIMESTAMPTZ '2024-01-01 01:00:00+01' AS at, [1, 2] AS list, '{"a":1.50}'::JSON AS json`

/** Runs SQL in a database of its own, which may read files. */
async function csvOf(sql: string): Promise<string> {
  await using database = await Database.open(':memory:', { memory: '256MB' })
  let text = ''
  const write = (piece: string) => void (text += piece)
  const printer = csvPrinter({ write, drained: async () => undefined, isTerminal: false, columns: 200 })
  printer.end(await database.query(sql, printer.take))
  return text
}

describe('a user without the client secret', () => {
  it('can read, and cannot sync', async () => {
    await using world = await synced()
    await world.configure({ service: { base_url: world.sandbox.url, client_id: 'acme', client_secret_file: 'none' } })
    const none = { REPORTING_CLIENT_SECRET: undefined }
    for (const command of [
      ['status'],
      ['query', 'SELECT 1'],
      ['changes', 'events'],
      ['wait', 'events', '--fresh', '1h'],
    ])
      expect(await world.runWith(none, ...command)).toMatchObject({ code: 0, stderr: '' })
    const refused = await world.runWith(none, 'sync')
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('client secret') as unknown })
  })
})

describe('tidemark query', () => {
  // Nothing here writes, so one world serves all.
  let world: World
  beforeAll(async () => {
    world = await synced()
  })
  afterAll(() => world[Symbol.asyncDispose]())

  it('prints a table, csv or json of the published copy, with every digit', async () => {
    const csv = await world.run('query', '--format', 'csv', EVERY_KIND)
    expect(csv).toMatchObject({ code: 0, stderr: '' })
    expect(csv.stdout).toBe(
      'big,amount,words,empty,nothing,at,list,json\n' +
        '12345678901234567890,1.100000000,"小野, ""x""","",,2024-01-01T00:00:00Z,"[1,2]","{""a"":1.50}"\n',
    )
    const { stdout } = await world.run('query', '--format', 'json', EVERY_KIND)
    expect(JSON.parse(stdout)).toMatchObject([{ words: '小野, "x"', nothing: null, json: { a: 1.5 } }])
    expect(stdout).toContain('"big":12345678901234567890,"amount":1.100000000,')
    const table = await world.run('query', EVERY_KIND)
    expect(table.stdout).toMatch(/12345678901234567890 +1\.1 +小野, "x" +NULL +2024-01-01T00:00:00Z/)
    expect(table.stdout).toMatch(/\(1 row\)\n$/)
  })

  it('prints days and times without an end, and zero below zero, as they are', async () => {
    const endless = `SELECT DATE 'infinity' AS day, DATE '-infinity' AS first, TIMESTAMPTZ 'infinity' AS at, -0.0::DOUBLE AS zero,
      [DATE 'infinity', DATE '2024-02-29'] AS days`
    const { stdout } = await world.run('query', '--format', 'csv', endless)
    expect(stdout).toBe('day,first,at,zero,days\ninfinity,-infinity,infinity,-0.0,"[""infinity"",""2024-02-29""]"\n')
  })

  it('says how to ask for what it cannot show whole: values without names, and a PIVOT whose values are to be found', {
    tags: 'long',
  }, async () => {
    const unnamed = await world.run('query', "SELECT [{'in': (1, 'x')}] AS pairs")
    expect(unnamed).toMatchObject({ code: 1, stdout: '' })
    expect(unnamed.stderr).toMatch(/pairs holds values without names[^]*QUERY_FAILED[^]*::VARCHAR/)
    const shown = await world.run(
      'query',
      '--format',
      'csv',
      "SELECT (1, 'x')::VARCHAR AS pair, {'a': 1, 'b': 2} AS named",
    )
    expect(shown.stdout).toBe('pair,named\n"(1, x)","{""a"":1,""b"":2}"\n')
    const pivot = await world.run('query', 'PIVOT (SELECT 1 AS n, true AS yes) ON yes USING count(*)')
    expect(pivot.stderr).toMatch(/QUERY_FAILED[^]*IN \(…\)/)
  })

  it('runs a statement that begins with a comment, with options before or after it', { tags: 'long' }, async () => {
    const statement = '-- count them\nSELECT 42 AS n'
    for (const args of [
      [statement, '--format', 'csv'],
      ['--format', 'csv', statement],
      ['--format', 'csv', '--', statement],
    ])
      expect(await world.run('query', ...args)).toMatchObject({ code: 0, stdout: 'n\n42\n' })
    const unspaced = await world.run('query', '--format', 'csv', '--count = them\nSELECT 42 AS n')
    expect(unspaced).toMatchObject({ code: 0, stdout: 'n\n42\n' })
  })

  it('gives programs every row and people the first ones, and says so', async () => {
    const all = await world.run('query', '-- all\nSELECT * FROM range(50000)', '--format', 'csv')
    expect(all.stdout.trim().split('\n')).toHaveLength(50_001)
    const shown = await world.run('query', '--limit', '3', 'SELECT * FROM range(50000)')
    expect(shown.stdout).toContain('the first 3 rows; --limit N shows more')
    expect(shown.stdout.split('\n').slice(2, 5)).toEqual(['    0', '    1', '    2'])
    expect((await world.run('query', '--format', 'json', 'SELECT 1 WHERE false')).stdout).toBe('[]\n')
    expect((await world.run('query', '--format', 'csv', 'SELECT 1 AS a WHERE false')).stdout).toBe('a\n')
  })

  it('takes the memory of limits.query_memory, and says what to raise when that is spent', {
    tags: 'long',
  }, async () => {
    const usually = await world.run('query', '--format', 'csv', "SELECT current_setting('memory_limit') AS allowed")
    expect(usually.stdout).toContain('953.6 MiB')
    // The file is one JSON object, as YAML may be.
    const usual = await readFile(path.join(world.folder, 'tidemark.yaml'), 'utf8')
    const limits = { query_memory: '32MB' }
    await writeFile(path.join(world.folder, 'narrow.yaml'), JSON.stringify({ ...JSON.parse(usual), limits }))
    const narrow = await world.run('query', '--config', 'narrow.yaml', 'SELECT list(range) FROM range(20_000_000)')
    expect(narrow).toMatchObject({ code: 1, stdout: '' })
    expect(narrow.stderr).toMatch(/Out of Memory[^]*QUERY_FAILED[^]*Raise limits\.query_memory/)
  })

  it('writes parquet, with every type and digit, and leaves nothing beside it', async () => {
    const file = path.join(world.folder, 'kinds.parquet')
    const sql = `${EVERY_KIND}; -- a comment`
    const { code, stdout, stderr } = await world.run('query', '--format', 'parquet', '--output', 'kinds.parquet', sql)
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '1 row written to kinds.parquet\n', stderr: '' })
    const asCsv = await world.run('query', '--format', 'csv', EVERY_KIND)
    expect(await csvOf(`FROM read_parquet('${file}')`)).toBe(asCsv.stdout)
    expect((await readdir(world.folder)).filter((name) => name.endsWith('.tmp'))).toEqual([])
  })

  it('writes parquet of all rows of a table, and of none', async () => {
    for (const [sql, rows] of [
      ['FROM main.events', 40],
      ['SELECT 1 AS a WHERE false', 0],
      ['DESCRIBE events', undefined],
    ] as const) {
      const { code, stdout } = await world.run('query', '--format', 'parquet', '--output', 'some.parquet', sql)
      expect(code).toBe(0)
      if (rows !== undefined) expect(stdout).toBe(`${rows} rows written to some.parquet\n`)
      const counted = await csvOf(`SELECT count(*) AS n FROM '${path.join(world.folder, 'some.parquet')}'`)
      if (rows !== undefined) expect(counted).toBe(`n\n${rows}\n`)
    }
  })

  it('keeps the file that was there when the query fails', async () => {
    const file = path.join(world.folder, 'kept.parquet')
    await writeFile(file, 'the last one')
    const ask = (sql: string) => world.run('query', '--format', 'parquet', '--output', 'kept.parquet', sql)
    for (const [sql, why] of [
      ['SELECT nonsense FROM events', 'Referenced column "nonsense" not found'],
      ["SELECT error('half way') FROM range(5)", 'half way'],
      ['SELEKT 1', 'syntax error'],
      ['DELETE FROM events', 'this is DELETE'],
      ['EXPLAIN SELECT 1', 'SELECT'],
    ] as const) {
      const { code, stdout, stderr } = await ask(sql)
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toMatch(new RegExp(`${why}[^]*QUERY_FAILED`))
    }
    expect(await readFile(file, 'utf8')).toBe('the last one')
    expect((await readdir(world.folder)).filter((name) => name.endsWith('.tmp'))).toEqual([])
  })

  it('writes parquet to the file behind a link, and replaces no pipe', async () => {
    const [link, pipe] = ['link', 'pipe'].map((name) => path.join(world.folder, name)) as [string, string]
    await writeFile(path.join(world.folder, 'behind.parquet'), 'the last one')
    await symlink('behind.parquet', link)
    execFileSync('mkfifo', [pipe])
    const ask = (file: string) => world.run('query', '--format', 'parquet', '--output', file, 'SELECT 1 AS one')
    expect(await ask(link)).toMatchObject({ code: 0 })
    expect((await lstat(link)).isSymbolicLink()).toBe(true)
    expect(await csvOf(`FROM read_parquet('${path.join(world.folder, 'behind.parquet')}')`)).toBe('one\n1\n')
    const { code, stderr } = await ask(pipe)
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('it is no file') as string })
    expect((await lstat(pipe)).isFIFO()).toBe(true)
  })

  it.each([
    [['--format', 'parquet', 'SELECT 1'], '--output is missing'],
    [['--output', 'x.csv', 'SELECT 1'], '--output is for parquet'],
    [['--format', 'parquet', '--output', 'no/such/folder/x.parquet', 'SELECT 1'], 'cannot be written'],
    [['--format', 'parquet', '--output', '.', 'SELECT 1'], 'cannot be written'],
    [['--format', 'arrow', 'SELECT 1'], 'Allowed choices are table, csv, json, parquet'],
  ])('refuses %j with 2 and says why', async (args, why) => {
    const { code, stdout, stderr } = await world.run('query', ...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(new RegExp(`${why}[^]*USAGE_INVALID`))
  })

  it('prints results of hundreds of columns and many thousand rows whole', { tags: 'long' }, async () => {
    const columns = Array.from({ length: 400 }, (_, n) => `range + ${n} AS c${n}`).join(', ')
    const sql = `SELECT ${columns} FROM range(6000)`
    const csv = await world.run('query', '--format', 'csv', sql)
    const lines = csv.stdout.trimEnd().split('\n')
    expect(lines).toHaveLength(6_001)
    expect(lines.at(-1)?.split(',')).toEqual(Array.from({ length: 400 }, (_, n) => String(5_999 + n)))
    const json = JSON.parse((await world.run('query', '--format', 'json', sql)).stdout) as Record<string, number>[]
    expect([json.length, json[5_999]?.['c399']]).toEqual([6_000, 6_398])
  })

  it.each([
    ['DELETE FROM events', 'this is DELETE'],
    ['CREATE TEMP TABLE t AS SELECT 1', 'this is CREATE'],
    [`COPY (SELECT 1) TO 'x.csv'`, 'this is COPY'],
    ['SELECT 1; DROP TABLE events', 'there may be several statements'],
    ['SET threads = 1; SELECT 1', 'Leave the setting out'],
    ['', 'there is no statement'],
    ['SELECT nonsense FROM events', 'Referenced column "nonsense" not found'],
  ])('refuses %j with 1 and says why', async (sql, why) => {
    const { code, stdout, stderr } = await world.run('query', sql)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(why)
    expect(stderr).toContain('QUERY_FAILED')
  })

  it('reads the copy although the warehouse cannot be reached, or has no tables', async () => {
    const file = path.join(world.folder, 'data/warehouse.duckdb')
    await rename(file, `${file}.aside`)
    const count = async () => world.run('query', '--format', 'csv', 'SELECT count(*) AS n FROM events')
    await symlink(file, file)
    expect(await count()).toMatchObject({ code: 0, stderr: '', stdout: 'n\n40\n' })
    await rm(file)
    await (await Database.open(file, { memory: '64MB' })).close()
    expect(await count()).toMatchObject({ code: 0, stderr: '', stdout: 'n\n40\n' })
    await rename(`${file}.aside`, file)
  })

  it('says what to do before the first sync', async () => {
    await using fresh = await aWorld()
    const { code, stderr } = await fresh.run('query', 'SELECT 1')
    expect(code).toBe(1)
    expect(stderr).toMatch(/nothing was published yet[^]*WAREHOUSE_MISSING[^]*tidemark sync/)
  })

  it('stops when its reader has seen enough', { tags: 'long' }, async () => {
    const running = world.start(['query', '--format', 'csv', 'SELECT * FROM range(1000000000)'])
    await until(() => running.said().length > 100_000, 'rows')
    running.kill('SIGINT')
    expect(await running.ended).toMatchObject({ code: 130 })
  })
})

describe('tidemark status', () => {
  it('says so before the first sync, and that is no failure', async () => {
    await using world = await aWorld({ isNew: true })
    expect(await world.run('status')).toMatchObject({
      code: 0,
      stdout: 'nothing was synced yet: run "tidemark sync"\n',
    })
    expect(JSON.parse((await world.run('status', '--json')).stdout)).toEqual({
      from: null,
      path: null,
      reports: [],
      receivers_behind: [],
    })
  })

  it('shows mark, lag, rows and what prevents new runs of each report', { tags: 'long' }, async () => {
    await using world = await aWorld({ settings: { currencies: [] }, sandbox: { faults: ['403@enquiries'] } })
    await world.run('sync')
    const { code, stdout } = await world.run('status')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^events +done +20\d\d-\S+Z +\d+(?:\.\d)? s +20\S+Z +40 /m)
    expect(stdout).toMatch(/^budgets +off /m)
    expect(stdout).toContain('budgets is off: no currencies are configured')
    expect(stdout).toMatch(/^enquiries is paused: .*403.*\n {2}what to do: .*tidemark resume enquiries/m)
    const told = JSON.parse((await world.run('status', '--json')).stdout) as { from: string; reports: object[] }
    expect(told.from).toBe('warehouse')
    expect(told.reports).toMatchObject(reportNames.map((report) => ({ report })))
    expect(told.reports[0]).toMatchObject({ state: 'done', rows: 40, rejected: 0, deletes_visible: 'flag' })
  })

  it('reads the published copy while a sync has the warehouse', { tags: 'long' }, async () => {
    await using world = await synced()
    world.sandbox.setFaults(['slow:5000'])
    const asked = world.sandbox.requests.total
    const running = world.start(['sync', 'events'])
    await until(() => world.sandbox.requests.total > asked, 'a request')
    const { code, stdout } = await world.run('status')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^events +done /m)
    expect(stdout).toContain('this is the published copy')
    running.kill('SIGTERM')
    await running.ended
  })
})

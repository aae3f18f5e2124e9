/** The reader process: what it runs, and what SQL of others can neither read, write, fill nor end. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ROOT } from '../rules/source.ts'
import { until } from '../jobs/support.ts'
import { aReader } from './support.ts'

const SECRET = 'the-secret-of-another-file'
const refused = (message: unknown) => ({ code: 'QUERY_FAILED', message: expect.stringMatching(message as RegExp) })

describe('a reader', () => {
  // Nothing here changes the copy, so one reader is enough.
  let world: Awaited<ReturnType<typeof aReader>>
  beforeAll(async () => {
    world = await aReader()
    await writeFile(join(world.folder, 'other.csv'), SECRET)
  })
  afterAll(() => world[Symbol.asyncDispose]())

  it.each([
    ['SELECT count(*) FROM current.events', '[[20]]'],
    ['WITH few AS (FROM events LIMIT 3) SELECT count(*) FROM few', '[[3]]'],
    ['VALUES (1), (2); -- a comment', '[[1],[2]]'],
    ["SELECT list_sum([1, 2]), split_part('a-b', '-', 2), json_extract('{\"a\": [5]}', '$.a[0]')", '[[3,"b",5]]'],
    ['SELECT sum(event_id) OVER (ORDER BY event_id) FROM events LIMIT 2', '[[1],[3]]'],
    ['PIVOT (SELECT 1 AS n, true AS yes) ON yes IN (true, false) USING count(*)', '[[1,1,0]]'],
    ["SELECT histogram(n) FROM (VALUES ('x')) rows(n)", '[[{"x":1}]]'],
    ["SELECT count(*) FROM changes.events('start') WHERE _change = 'insert'", '[[20]]'],
    ["SELECT count(*) FROM information_schema.tables WHERE table_name = 'freshness'", '[[1]]'],
    ["SELECT current_setting('enable_external_access'), current_setting('lock_configuration')", '[[false,true]]'],
  ])('runs %s', async (sql, rows) => {
    expect(await world.ask(sql)).toBe(rows)
  })

  it.each([
    'EXPLAIN FROM events',
    'explain analyze SELECT 1',
    'DESCRIBE events',
    'SUMMARIZE events',
    'SHOW ALL TABLES',
  ])('runs %s', async (sql) => {
    expect(await world.ask(sql)).not.toBe('[]')
  })

  it.each([
    ['FROM evnts', '"current.events" or "main.events"'],
    ['FROM "EVNTS"', '"current.events" or "main.events"'],
    ['FROM tidemark.mark', '"tidemark.marks"'],
    ['FROM tidemak.marks', '"tidemark.marks"'],
    ['FROM freshnes', '"tidemark.freshness"'],
  ])('suggests its own tables for the mistyped name in %s', async (sql, names) => {
    const suggested = new RegExp(`does not exist[^\n]*\nDid you mean ${names}\\?\n\nLINE 1: `)
    await expect(world.ask(sql)).rejects.toMatchObject(refused(suggested))
  })

  it('suggests no system table for a name that resembles none of its own', async () => {
    for (const sql of ['FROM tabels', 'FROM xyzzy'])
      await expect(world.ask(sql)).rejects.toMatchObject(refused(/does not exist!\n\nLINE 1: /))
  })

  it.each([
    ['reads no file by a function', "FROM read_text('FOLDER/other.csv')", /^read_text is not on the list/],
    ['reads no file by its name', "FROM 'FOLDER/other.csv'", /does not exist|disabled/],
    [
      'reads no file in a scalar subquery',
      "SELECT (SELECT content FROM read_text('FOLDER/other.csv'))",
      /^read_text is not/,
    ],
    ['reads no table whose name is a text', "FROM tidemark.changes('events', 'start')", /^changes is not on the list/],
    ['lists no folder', "FROM glob('FOLDER/*')", /^glob is not/],
    ['asks no host', "FROM read_csv('http://127.0.0.1:1/x.csv')", /^read_csv is not/],
    ['attaches nothing', "ATTACH 'FOLDER/other.duckdb' AS mine", /this is ATTACH$/],
    ['writes no file', "COPY (SELECT 1) TO 'FOLDER/mine.csv'", /this is COPY$/],
    ['writes no file while it explains', "EXPLAIN ANALYZE COPY (SELECT 1) TO 'FOLDER/mine.csv'", /this is EXPLAIN$/],
    ['writes no file behind a comment', "EXPLAIN -- \nCOPY (SELECT 1) TO 'FOLDER/mine.csv'", /this is EXPLAIN$/],
    ['writes no log', "CALL enable_logging(storage = 'file', storage_path = 'FOLDER/mine')", /this is CALL$/],
    [
      'writes no log by a SELECT',
      "FROM enable_logging(storage := 'file', storage_path := 'FOLDER/mine')",
      /^enable_logging is not/,
    ],
    ['sees no statements of others', 'FROM duckdb_logs()', /^duckdb_logs is not/],
    ['sees no statements of others in a view of DuckDB', 'SUMMARIZE duckdb_logs', /^duckdb_logs is not/],
    ['names no table in a text', "FROM histogram('duckdb_logs', type)", /^histogram is not/],
    ['runs no text', "FROM query('FROM duckdb_' || 'logs()')", /^query is not/],
    ['runs no serialized statement', "FROM json_execute_serialized_sql('{}')", /^json_execute_serialized_sql is not/],
    ['runs no function whose name is quoted', `FROM "main"."ReAd_TeXt"('FOLDER/other.csv')`, /^read_text is not/],
    ['makes no checkpoint', 'FROM checkpoint()', /^checkpoint is not/],
    ['changes no setting', "SET memory_limit = '64GB'", /this is SET$/],
    ['loads no extension', "LOAD 'FOLDER/mine.duckdb_extension'", /this is LOAD$/],
    ['imports nothing', "IMPORT DATABASE 'FOLDER'", /this is IMPORT$/],
    ['runs no pragma', 'PRAGMA database_list', /this is PRAGMA$/],
    ['deletes nothing', 'DELETE FROM events', /this is DELETE$/],
    ['runs no second statement', "SELECT 1; COPY (SELECT 1) TO 'FOLDER/mine.csv'", /may be several/],
    ['runs nothing behind a zero byte', 'SELECT 1 \0 + (SELECT count(*) FROM events)', /zero byte/],
  ])('%s: %j', async (_, sql, message) => {
    const before = await readdir(world.folder)
    await expect(world.ask(sql.replaceAll('FOLDER', world.folder))).rejects.toMatchObject(refused(message))
    expect(await readdir(world.folder)).toEqual(before)
  })

  it.each([
    ['values without names', "SELECT [{'in': (1, 'x')}] AS pairs", /^pairs holds values without names/, '::VARCHAR'],
    ['a PIVOT without its values', 'PIVOT (SELECT 1 AS n, true AS yes) ON yes USING count(*)', /./, 'IN (…)'],
  ])('names a statement that works in place of %s', async (_, sql, message, cure) => {
    const error = { ...refused(message), cure: expect.stringContaining(cure) as string }
    await expect(world.ask(sql)).rejects.toMatchObject(error)
  })

  it('takes no more memory than its limit for one value, and goes on', async () => {
    const [pid] = await world.processes()
    await expect(world.ask("SELECT length(repeat('x', 4000000000))")).rejects.toMatchObject({
      ...refused(/Out of Memory/),
      cure: expect.stringContaining('Raise limits.query_memory') as string,
    })
    await expect(world.ask('SELECT list(range) FROM range(100000000)')).rejects.toMatchObject(refused(/Out of Memory/))
    const [, peakKib] = /VmHWM:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? []
    expect(Number(peakKib)).toBeLessThan(700_000)
    expect(await world.processes()).toEqual([pid])
  })

  it('stops a statement whose caller cancels it, and runs the next one', async () => {
    const stopping = new AbortController()
    const endless = world.ask('SELECT count(*) FROM range(1000000000) a, range(1000) b', stopping.signal)
    setTimeout(() => stopping.abort(), 300)
    await expect(endless).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(await world.ask('SELECT 1')).toBe('[[1]]')
  })

  it('runs the next statement in a new process after the process was killed', async () => {
    await world.ask('SELECT 1')
    for (const pid of await world.processes()) process.kill(pid, 'SIGKILL')
    const next = await world.ask('SELECT 1').catch(() => world.ask('SELECT 1'))
    expect(next).toBe('[[1]]')
  })

  it('runs in a process without variables of its parent, whose folder only this user can enter', async () => {
    process.env['TIDEMARK_TEST_ENVIRONMENT'] = SECRET
    await using other = await aReader()
    await other.ask('SELECT 1')
    delete process.env['TIDEMARK_TEST_ENVIRONMENT']
    const [pid] = await other.processes()
    expect(await readFile(`/proc/${pid}/environ`, 'utf8')).not.toContain(SECRET)
    const [folder = ''] = (await readdir(other.folder)).filter((name) => name.includes('.reader-'))
    expect((await stat(join(other.folder, folder))).mode & 0o777).toBe(0o700)
    await other.reader[Symbol.asyncDispose]()
    expect((await readdir(other.folder)).filter((name) => name.includes('.reader-'))).toEqual([])
  })
})

it('a statement takes no more disk than its limit', async () => {
  await using world = await aReader({ queryMemory: '64MB', queryDisk: '16MB' })
  const wide = 'SELECT hash(range) AS a, hash(a) AS b, hash(b) AS c, hash(c) AS d FROM range(10000000) ORDER BY a'
  await expect(world.reader.query(wide, async () => false)).rejects.toMatchObject({
    ...refused(/max_temp_directory_size/),
    cure: expect.stringContaining('limits.query_disk'),
  })
  expect(await world.ask('SELECT 1')).toBe('[[1]]')
})

it('a statement that needs memory but no disk takes as much memory as its limit allows', async () => {
  await using world = await aReader({ queryMemory: '512MB', queryDisk: '16MB' })
  expect(await world.ask('SELECT len(list(range)) FROM range(5000000)')).toBe('[[5000000]]')
})

it('a statement that takes longer than its limit is ended, and the next one runs', async () => {
  await using world = await aReader({ queryTimeMs: 4_000 })
  const endless = world.ask('SELECT count(*) FROM range(1000000000) a, range(1000) b')
  await expect(endless).rejects.toMatchObject(refused(/longer than 4 s/))
  expect(await world.ask('SELECT 1').catch(() => world.ask('SELECT 1'))).toBe('[[1]]')
})

it('a reader shows each new copy as soon as it is published', async () => {
  await using world = await aReader()
  expect(await world.ask('SELECT count(*) FROM events')).toBe('[[20]]')
  await world.publish(101)
  expect(await world.ask('SELECT count(*) FROM events')).toBe('[[40]]')
})

it('views and macros of the copy may use what readers may use, and nothing else', async () => {
  await using world = await aReader()
  await world.change(
    'CREATE MACRO twice(x) AS 2 * x',
    'CREATE MACRO upper(x) AS (SELECT content FROM read_text(x))',
    'CREATE MACRO behind(x) AS upper(x)',
    "CREATE MACRO stolen() AS TABLE FROM read_text('/etc/hostname')",
    'CREATE VIEW seen AS SELECT twice(21) AS n',
    'CREATE VIEW logs AS FROM duckdb_logs()',
    'CREATE VIEW behind_logs AS FROM logs',
  )
  expect(await world.ask('FROM seen')).toBe('[[42]]')
  for (const sql of [
    "SELECT upper('/etc/hostname')",
    "SELECT behind('/etc/hostname')",
    'FROM stolen()',
    'FROM logs',
    'FROM main.BEHIND_LOGS',
  ])
    await expect(world.ask(sql), sql).rejects.toMatchObject(refused(/is not on the list/))
})

it('a process that reads ends with the process that asked, and leaves no folder', async () => {
  await using world = await aReader()
  const script = `
    import { openReader } from '${ROOT}/src/reader/reader.ts'
    const limits = { queryMemory: '256MB', queryDisk: '1GB', queryTimeMs: 60000 }
    const reader = openReader({ published: '${world.folder}/published.duckdb', limits })
    await reader.query('SELECT count(*) FROM range(1000000000) a, range(1000) b', async () => true)`
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', script], { stdio: 'ignore' })
  await until(async () => (await world.processes()).length > 0)
  child.kill('SIGKILL')
  await until(async () => (await world.processes()).length === 0)
  expect((await readdir(world.folder)).filter((name) => name.includes('.reader-'))).toEqual([])
})

it('folders of processes that ended with their parents a day ago are removed, and younger ones are kept', async () => {
  await using world = await aReader()
  const [old, young] = ['old', 'young'].map((name) => join(world.folder, `published.duckdb.reader-${name}`))
  for (const folder of [old, young]) await mkdir(folder ?? '')
  await utimes(old ?? '', 1_700_000_000, 1_700_000_000)
  await world.ask('SELECT 1')
  expect([existsSync(old ?? ''), existsSync(young ?? '')]).toEqual([false, true])
})

it('Parquet is written to the named file only', async () => {
  await using world = await aReader()
  const file = join(world.folder, 'result.parquet')
  expect(await world.reader.writeParquet('FROM events', file)).toBe(20)
  const other = join(world.folder, 'other.parquet')
  const attack = `FROM events) TO '${other}' (FORMAT parquet); --`
  await expect(world.reader.writeParquet(attack, file)).rejects.toMatchObject({ code: 'QUERY_FAILED' })
  expect(existsSync(other)).toBe(false)
})

/** The list of functions for readers, compared with DuckDB's own catalogue: by name, and by a bounded fuzz. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { expect, it } from 'vitest'
import { FUNCTIONS, TABLE_FUNCTIONS } from '../../src/reader/allowList.ts'
import { aReader } from './support.ts'

interface Function_ {
  readonly name: string
  readonly type: string
  readonly parameters: readonly string[]
}

/** Returns all functions of DuckDB without extensions, one row per overload. */
async function catalogue(): Promise<readonly Function_[]> {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  const found = await connection.runAndReadAll(`
    SELECT DISTINCT lower(function_name) AS name, function_type AS type, list_transform(parameter_types, lambda each: coalesce(each, 'ANY')) AS parameters
    FROM duckdb_functions() ORDER BY ALL`)
  const rows = found.getRowObjectsJS() as unknown as readonly Function_[]
  connection.closeSync()
  instance.closeSync()
  return rows
}

/** Number of DuckDB's functions that readers may not call. When a new DuckDB changes it, review the names below. */
const REFUSED = { scalar: 186, aggregate: 0, table: 61 }

it('each listed function exists, and the number of those that are refused is known', async () => {
  const all = await catalogue()
  const names = (...types: string[]) => new Set(all.filter(({ type }) => types.includes(type)).map(({ name }) => name))
  expect(FUNCTIONS.filter((name) => !names('scalar', 'aggregate').has(name))).toEqual([])
  expect(TABLE_FUNCTIONS.filter((name) => !names('table').has(name))).toEqual([])
  const refused = (type: string, list: readonly string[]) => [...names(type)].filter((name) => !list.includes(name))
  const found = {
    scalar: refused('scalar', FUNCTIONS),
    aggregate: refused('aggregate', FUNCTIONS),
    table: refused('table', TABLE_FUNCTIONS),
  }
  expect(
    { scalar: found.scalar.length, aggregate: found.aggregate.length, table: found.table.length },
    JSON.stringify(found),
  ).toEqual(REFUSED)
})

const STATEMENTS = 2_000
const SECRET = 'the-secret-of-another-file'

it('two thousand statements from the list of functions read, write and end nothing', { tags: 'long' }, async () => {
  await using world = await aReader({ queryTimeMs: 10_000 })
  let requests = 0
  const server = createServer((_, response) => {
    requests += 1
    response.end(SECRET)
  }).listen(0, '127.0.0.1')
  const secret = join(world.folder, 'secret.csv')
  await writeFile(secret, SECRET)
  const before = await readdir(world.folder)
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x.csv`
  const texts = [
    secret,
    url,
    `${world.folder}/mine.csv`,
    'duckdb_logs',
    `COPY (SELECT 1) TO '${world.folder}/mine.csv'`,
    'FROM events',
    '99',
  ]
  const argument = (type: string, turn: number) => {
    if (/INT|DOUBLE|FLOAT|DECIMAL/.test(type)) return String([0, 1, -1, 99_999_999][turn % 4])
    if (type.endsWith('[]')) return `['${texts[turn % texts.length]?.replaceAll("'", "''")}']`
    if (/BOOLEAN/.test(type)) return 'true'
    return `'${texts[turn % texts.length]?.replaceAll("'", "''")}'`
  }
  const forms = [
    (call: string) => `SELECT ${call}`,
    (call: string) => `FROM ${call}`,
    (call: string) => `CALL ${call}`,
    (call: string) => `EXPLAIN ANALYZE SELECT * FROM ${call}`,
    (call: string) => `SELECT (SELECT x FROM ${call} t(x) LIMIT 1)`,
    (call: string) => `PRAGMA ${call}`,
  ]
  const all = await catalogue()
  let ran = 0
  const ended: string[] = []
  for (let turn = 0; turn < STATEMENTS; turn += 1) {
    const { name, parameters } = all[(turn * 7_919) % all.length] ?? { name: '', parameters: [] }
    const call = `"${name}"(${parameters.map((type, index) => argument(type, turn + index)).join(', ')})`
    const sql = forms[turn % forms.length]?.(call) ?? ''
    const result = await world.ask(sql).catch((error: Error) => error.message)
    if (result.startsWith('[')) ran += 1
    if (/^the (reader process has ended|statement took longer)/.test(result)) ended.push(sql)
    expect(result, sql).not.toContain(SECRET)
  }
  expect(requests).toBe(0)
  expect((await readdir(world.folder)).filter((name) => !name.includes('.reader-'))).toEqual(
    before.filter((name) => !name.includes('.reader-')),
  )
  expect(await readFile(secret, 'utf8')).toBe(SECRET)
  expect(ran).toBeGreaterThan(200)
  expect(ended).toEqual([])
  expect(await world.ask('SELECT count(*) FROM events')).toBe('[[20]]')
  server.close()
})

/** `tidemark schema --format typescript` and `--format json-schema` describe the rows that programs really receive. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { DuckDBInstance } from '@duckdb/node-api'
import { beforeAll, afterAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { ROOT } from '../rules/source.ts'
import { aWorld, type World } from './support.ts'

const run = promisify(execFile)
/** One table, one child table with discovered columns, one view, one table of the books, and a view of intervals. */
const TABLES = [
  'main.events',
  'main.events__meeting_rooms',
  'current.budgets',
  'tidemark.windows',
  'tidemark.freshness',
]

let world: World

beforeAll(async () => {
  world = await aWorld({ sandbox: { rows: 30 } })
  await world.run('sync', '--quiet', 'events', 'budgets')
}, 120_000)
afterAll(() => world[Symbol.asyncDispose]())

const formatted = async (format: string): Promise<string> => (await world.run('schema', '--format', format)).stdout
const shortName = (table: string): string => table.replace(/^main\./, '')

/** The validator refuses integers beyond 2^53, such as the hash of a row. JSON Schema allows them. */
const withinDoubles = (_: string, value: unknown): unknown =>
  Number.isInteger(value) && !Number.isSafeInteger(value) ? 0 : value

describe('JSON schemas', () => {
  it('accept each row that query prints as JSON, and no row with a column less', { tags: 'long' }, async () => {
    const { $defs } = JSON.parse(await formatted('json-schema')) as {
      $defs: Record<string, z.core.JSONSchema.JSONSchema>
    }
    for (const table of TABLES) {
      const rowSchema = z.fromJSONSchema($defs[shortName(table)] ?? { not: {} })
      const { stdout } = await world.run('query', '--format', 'json', `FROM ${table}`)
      const rows = JSON.parse(stdout, withinDoubles) as Record<string, unknown>[]
      expect(rows.length, table).toBeGreaterThan(0)
      for (const row of rows) expect(rowSchema.safeParse(row).error?.issues ?? [], table).toEqual([])
      const [first = ''] = Object.keys(rows[0] ?? {})
      expect(rowSchema.safeParse({ ...rows[0], [first]: undefined }).success, table).toBe(false)
    }
  })
})

/** The types that `getRowObjectsJS` may return for each type of the interfaces. */
const IS_TYPE: Readonly<Record<string, (value: unknown) => boolean>> = {
  bigint: (value) => typeof value === 'bigint',
  number: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
  string: (value) => typeof value === 'string',
  Date: (value) => value instanceof Date,
  null: (value) => value === null,
  unknown: () => true,
}

/** Returns the members of each interface. */
function interfacesOf(code: string): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const found = code.matchAll(/^export interface (\w+) \{\n(.*?)^\}/gms)
  return new Map(
    [...found].map(([, name = '', body = '']) => [
      name,
      new Map([...body.matchAll(/^ {2}'?"?([\w.]+)"?'?: (.+)$/gm)].map(([, key = '', type = '']) => [key, type])),
    ]),
  )
}

describe('TypeScript interfaces', () => {
  it('have for each value the type that DuckDB’s Node client returns', async () => {
    const interfaces = interfacesOf(await formatted('typescript'))
    const database = await DuckDBInstance.create(path.join(world.folder, 'data/published.duckdb'), {
      access_mode: 'READ_ONLY',
    })
    const connection = await database.connect()
    for (const table of TABLES) {
      const members = interfaces.get(interfaces.get('Database')?.get(shortName(table)) ?? '')
      const rows = (await connection.runAndReadAll(`FROM ${table}`)).getRowObjectsJS()
      expect(rows.length, table).toBeGreaterThan(0)
      for (const row of rows) {
        expect(Object.keys(row)).toEqual([...(members?.keys() ?? [])])
        for (const [column, value] of Object.entries(row)) {
          const types = members?.get(column)?.split(' | ') ?? []
          const matches = types.some((type) => IS_TYPE[type]?.(value))
          expect(matches, `${table}.${column}: ${types.join(' | ')}, but ${typeof value}`).toBe(true)
        }
      }
    }
    connection.closeSync()
    database.closeSync()
  })

  it('compile, and a wrong column or type does not', async () => {
    const rows = path.join(world.folder, 'warehouse.ts')
    await writeFile(rows, await formatted('typescript'))
    const users = {
      right: "(row: Database['events']): bigint => row.event_id",
      column: "(row: Database['current.events']) => row.is_deleted",
      type: "(row: Database['events']): string => row.event_id",
    }
    for (const [name, statement] of Object.entries(users)) {
      const user = `import type { Database } from './warehouse.ts'\nexport const found = ${statement}\n`
      await writeFile(path.join(world.folder, `${name}.ts`), user)
    }
    const options = ['--ignoreConfig', '--noEmit', '--strict', '--allowImportingTsExtensions', '--types', '']
    const files = Object.keys(users).map((name) => `${name}.ts`)
    const tsc = [...options, '--target', 'es2022', '--lib', 'es2022', '--pretty', 'false', ...files]
    const { stdout } = await run(path.join(ROOT, 'node_modules/.bin/tsc'), tsc, { cwd: world.folder }).catch(
      (failed: { stdout: string }) => failed,
    )
    expect(stdout.match(/^\S.*/gm)).toEqual([
      expect.stringMatching(/^column\.ts.*'is_deleted' does not exist/),
      expect.stringMatching(/^type\.ts.*'bigint' is not assignable/),
    ])
  })
})

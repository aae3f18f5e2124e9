/** `tidemark schema` as it is typed: before and after a sync, in each format, held against a parser and a database. */
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { dictionary } from '../../schema/dictionary.ts'
import { reports } from '../../schema/index.ts'
import { tableOf } from '../../schema/tables.ts'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import { aWorld, type World } from './support.ts'

const tables = reports.map(tableOf).flatMap((table) => [table.name, ...table.children.map(({ name }) => name)])

async function schemaOf(world: World, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await world.run('schema', ...args)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
}

interface Column {
  readonly name: string
  readonly data_type: string
  readonly description?: string
  readonly data_tests?: readonly unknown[]
}

interface Table {
  readonly name: string
  readonly description: string
  readonly columns?: readonly Column[]
  readonly data_tests?: readonly unknown[]
  readonly config?: { loaded_at_field: string; freshness: { warn_after: object; filter?: string } }
}

interface Sources {
  readonly version: number
  readonly sources: readonly { name: string; schema: string; database: string; tables: readonly Table[] }[]
}

const sourcesOf = async (world: World): Promise<Sources> => parse(await schemaOf(world, '--format', 'dbt')) as Sources

const named = <T extends { name: string }>(all: readonly T[] | undefined, name: string): T => {
  const found = all?.find((each) => each.name === name)
  expect(found, name).toBeDefined()
  return found as T
}

const relation = (table: string, field: string, more: object = {}) => ({
  relationships: { arguments: { to: `source('tidemark', '${table}')`, field }, ...more },
})

describe('tidemark schema before the first sync', () => {
  it('prints SQL that makes every table in an empty database', { tags: 'long' }, async () => {
    await using world = await aWorld()
    await using database = await Database.open(':memory:', { memory: '256MB' })
    await database.run(await schemaOf(world))
    const made = await database.rows<{ name: string }>(
      `SELECT table_name AS name FROM duckdb_tables() WHERE schema_name = 'main' ORDER BY name`,
    )
    expect(made.map(({ name }) => name)).toEqual(tables.toSorted())
    expect(await database.rows('SELECT * FROM tidemark.freshness')).toEqual([])
    expect(await database.rows('SELECT * FROM current.events__meeting_rooms')).toEqual([])
  })

  it('prints the dictionary and sources of what is known beforehand', { tags: 'long' }, async () => {
    await using world = await aWorld()
    const markdown = await schemaOf(world, '--format', 'markdown')
    for (const line of dictionary([]).split('\n')) expect(markdown).toContain(line)
    const { version, sources } = await sourcesOf(world)
    expect(version).toBe(2)
    expect(sources.map(({ name, schema }) => [name, schema])).toEqual([
      ['tidemark', 'main'],
      ['tidemark_current', 'current'],
      ['tidemark_books', 'tidemark'],
    ])
    for (const source of sources.slice(0, 2)) expect(source.tables.map(({ name }) => name)).toEqual(tables)
  })
})

describe('tidemark schema after a sync', () => {
  it('has the columns that the data brought, in every format', { tags: 'long' }, async () => {
    await using world = await aWorld()
    await world.run('sync', '--quiet')
    const found = 'SELECT table_name AS "table", column_name AS name, type FROM tidemark.columns'
    const told = await world.run('query', '--format', 'json', found)
    const discovered = JSON.parse(told.stdout) as { table: string; name: string; type: string }[]
    expect(discovered.length).toBeGreaterThan(50)
    await using database = await Database.open(':memory:', { memory: '256MB' })
    await database.run(await schemaOf(world, '--format', 'sql'))
    const markdown = await schemaOf(world, '--format', 'markdown')
    const { sources } = await sourcesOf(world)
    const main = named(sources, 'tidemark')
    expect(main.database).toBe("{{ var('tidemark_database', 'published') }}")
    for (const { table, name, type } of discovered) {
      await database.rows(`SELECT "${name}" FROM main."${table}"`)
      expect(markdown).toContain(`| \`${name}\` | ${type} | Undocumented field `)
      expect(named(named(main.tables, table).columns, name)).toMatchObject({
        data_type: type,
        description: expect.stringMatching(/^Undocumented field /) as string,
      })
    }
  })

  it('has tests and freshness in the dbt sources', { tags: 'long' }, async () => {
    await using world = await aWorld({
      sandbox: { rows: 12 },
      settings: { reports: { events: { every: '2m' }, enquiries: { enabled: false } } },
    })
    await world.run('sync', '--quiet')
    const { sources } = await sourcesOf(world)
    const main = named(sources, 'tidemark').tables
    expect(named(named(main, 'events').columns, 'event_id').data_tests).toEqual(['not_null', 'unique'])
    expect(named(main, 'events').config).toMatchObject({ loaded_at_field: '_observed_at' })
    expect(named(main, 'budgets').data_tests).toEqual([
      { unique: { name: 'unique_budgets', arguments: { column_name: '(budget_id, target_currency)' } } },
    ])
    const warns = { config: { severity: 'warn' } }
    expect(named(named(main, 'merf_submissions').columns, 'event_id').data_tests).toEqual([
      relation('events', 'event_id', warns),
    ])
    expect(named(main, 'events__meeting_rooms').data_tests).toEqual([
      { unique: { name: 'unique_events__meeting_rooms', arguments: { column_name: '(event_id, _child_key)' } } },
      {
        relationships: {
          name: 'parent_of_events__meeting_rooms',
          arguments: { column_name: 'event_id', to: "source('tidemark', 'events')", field: 'event_id' },
        },
      },
    ])
    const books = named(sources, 'tidemark_books').tables
    expect(named(books, 'runs_of_events').config).toEqual({
      loaded_at_field: 'ended_at',
      freshness: {
        warn_after: { count: 15, period: 'minute' },
        error_after: { count: 24, period: 'minute' },
        filter: "report = 'events' AND state = 'done'",
      },
    })
    expect(books.map(({ name }) => name)).not.toContain('runs_of_enquiries')
    for (const { name } of sources.flatMap((source) => source.tables)) expect(name).toMatch(/^[a-z_]+$/)
  })

  it('has the versions of reports with history, in SQL and dbt', { tags: 'long' }, async () => {
    await using world = await aWorld({ sandbox: { rows: 3 }, settings: { reports: { events: { history: true } } } })
    await world.run('sync', '--quiet', 'events')
    const versions = named((await sourcesOf(world)).sources, 'tidemark_history')
    expect(versions.schema).toBe('history')
    const from = named(named(versions.tables, 'events').columns, '_valid_from')
    expect(from).toMatchObject({ data_type: 'TIMESTAMPTZ', data_tests: ['not_null'] })
    expect(versions.tables.map(({ name }) => name)).toContain('events__meeting_rooms')
    await using empty = await Database.open(':memory:', { memory: '256MB' })
    await empty.run(await schemaOf(world, '--format', 'sql'))
    expect(await empty.rows('FROM history.events')).toEqual([])
  })

  it('reads the file that the configuration names', { tags: 'long' }, async () => {
    await using world = await aWorld({ settings: { published: './data/readers.duckdb' } })
    await world.run('sync', 'events', '--quiet')
    const { sources } = await sourcesOf(world)
    expect(named(sources, 'tidemark').database).toContain(`'${path.parse('readers.duckdb').name}'`)
  })
})

it('an unknown format ends with 2 and says which there are', async () => {
  await using world = await aWorld()
  const { code, stderr } = await world.run('schema', '--format', 'xml')
  expect(code).toBe(2)
  expect(stderr).toMatch(/Allowed choices are sql, markdown, dbt[^]*USAGE_INVALID/)
})

describe('tidemark schema --retype', () => {
  it('changes the published column, and runs, reconciles and comparisons keep the new type', async () => {
    await using world = await aWorld({ sandbox: { rows: 12 } })
    await world.run('sync', '--quiet', 'enquiries')
    const typeOf = async (column: string): Promise<unknown> => {
      const told = await world.run(
        'query',
        '--format',
        'json',
        `SELECT typeof("${column}") AS type FROM enquiries LIMIT 1`,
      )
      return (JSON.parse(told.stdout) as [{ type: string }])[0].type
    }
    const found = `SELECT column_name AS name FROM tidemark.columns WHERE table_name = 'enquiries' AND type = 'BIGINT'`
    const [column] = JSON.parse((await world.run('query', '--format', 'json', found)).stdout) as [{ name: string }]
    const { code, stdout } = await world.run('schema', '--json', '--retype', `enquiries.${column.name}`, 'double')
    expect({ code, ...(JSON.parse(stdout) as object) }).toMatchObject({
      code: 0,
      from: 'BIGINT',
      to: 'DOUBLE',
      misfits: 0,
    })
    expect(await typeOf(column.name)).toBe('DOUBLE')
    for (const command of ['sync', 'reconcile', 'verify'])
      expect(await world.run(command, 'enquiries'), command).toMatchObject({ code: 0 })
    expect(await typeOf(column.name)).toBe('DOUBLE')
  }, 120_000)

  it('refuses columns and types that it can not change, with what to do', async () => {
    await using world = await aWorld({ sandbox: { rows: 12 } })
    for (const [said, ...args] of [
      ['there is no type MONEY', 'enquiries.x', 'MONEY'],
      ['there is no table orders', 'orders.x', 'BIGINT'],
      ['there is no column enquiries.x', 'enquiries.x', 'BIGINT'],
      ['the type of enquiries.enquiry_id is fixed', 'enquiries.enquiry_id', 'VARCHAR'],
    ] as const) {
      const { code, stderr } = await world.run('schema', '--retype', ...args)
      expect(code).toBe(2)
      expect(stderr).toContain(said)
    }
  }, 60_000)
})

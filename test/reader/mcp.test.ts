/** `tidemark mcp`, asked by the client of the official SDK over the standard input and output of a real process. */
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aWorld, LAUNCHER, SECRET_TEXT, type World } from '../cli/support.ts'

let world: World
let client: Client
let transport: StdioClientTransport

beforeAll(async () => {
  world = await aWorld({ sandbox: { rows: 30 } })
  await world.run('sync', '--quiet', 'events', 'budgets')
  transport = new StdioClientTransport({
    command: process.execPath,
    args: [LAUNCHER, 'mcp'],
    cwd: world.folder,
    env: { PATH: String(process.env['PATH']), HOME: world.folder, REPORTING_CLIENT_SECRET: SECRET_TEXT },
    stderr: 'pipe',
  })
  client = new Client({ name: 'test', version: '1' })
  await client.connect(transport)
}, 120_000)
afterAll(async () => {
  await client.close()
  await world[Symbol.asyncDispose]()
})

interface Rows {
  readonly rows: readonly Record<string, unknown>[]
  readonly more: boolean
}

async function call(name: string, given: Record<string, unknown> = {}) {
  const { content, isError } = await client.callTool({ name, arguments: given })
  const [first] = content as readonly { type: string; text: string }[]
  return { text: first?.text ?? '', isError: isError === true }
}

const rowsOf = async (name: string, given?: Record<string, unknown>): Promise<Rows> =>
  JSON.parse((await call(name, given)).text) as Rows

describe('an assistant', () => {
  it('finds tools that only read, and the rules for answers', async () => {
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['list_tables', 'describe_table', 'query', 'freshness', 'runs'])
    for (const { annotations } of tools) expect(annotations?.readOnlyHint).toBe(true)
    expect(client.getInstructions()).toContain('name the time up to which they are complete')
  })

  it('lists tables with their comments, and the columns of one', async () => {
    const { rows } = await rowsOf('list_tables')
    expect(rows.map(({ table }) => table)).toEqual(
      expect.arrayContaining(['main.events', 'current.events', 'main.events__meeting_rooms', 'tidemark.freshness']),
    )
    const columns = await rowsOf('describe_table', { table: 'current.events' })
    expect(columns.rows).toContainEqual({
      column: 'event_id',
      type: 'BIGINT',
      comment: expect.stringMatching(/\w/) as string,
    })
  })

  it('learns that a table, a report or an argument does not exist', async () => {
    expect(await call('describe_table', { table: 'current.invoices' })).toEqual({
      text: 'There is no such table. The tool list_tables names all tables.',
      isError: true,
    })
    expect((await call('runs', { report: 'event' })).isError).toBe(true)
    expect((await call('query', { sql: 'SELECT 1', rows: 5 })).isError).toBe(true)
  })

  it('runs a statement, and learns that there are more rows than it asked for', async () => {
    const counted = await rowsOf('query', { sql: 'SELECT count(*) AS events FROM main.events' })
    expect(counted).toMatchObject({ rows: [{ events: 30 }], more: false, reports: [{ report: 'events', gaps: 0 }] })
    const some = await rowsOf('query', { sql: 'FROM main.events ORDER BY event_id', limit: 3 })
    expect([some.rows.length, some.more]).toEqual([3, true])
    const all = await rowsOf('query', { sql: 'FROM main.events LIMIT 3', limit: 3 })
    expect([all.rows.length, all.more]).toEqual([3, false])
  })

  it('gets an answer that is cut when its rows are long', async () => {
    const { rows, more } = await rowsOf('query', { sql: "SELECT repeat('x', 60000) AS long FROM range(10)" })
    expect([rows.length, more]).toEqual([3, true])
  })

  it('reads how complete each report is, and the last runs', async () => {
    const { rows } = await rowsOf('freshness')
    expect(rows.find(({ report }) => report === 'events')).toMatchObject({ last_state: 'done', rows: 30 })
    const runs = await rowsOf('runs', { report: 'budgets', limit: 5 })
    expect(runs.rows).toMatchObject([{ report: 'budgets', state: 'done' }])
  })

  it('several calls at once are answered one after another', async () => {
    const sums = await Promise.all([1, 2, 3].map((n) => rowsOf('query', { sql: `SELECT ${n} AS n` })))
    expect(sums.map(({ rows }) => rows[0]?.['n'])).toEqual([1, 2, 3])
  })

  it.each([
    ["FROM read_csv('/etc/passwd')"],
    ["COPY main.events TO '/tmp/events.csv'"],
    ['DELETE FROM main.events'],
    ['SELECT 1; SELECT 2'],
    ['FROM main.no_such_table'],
  ])('cannot do more than read the copy, and gets the reason: %s', async (sql) => {
    const { text, isError } = await call('query', { sql })
    expect(isError).toBe(true)
    expect(text).toMatch(/^QUERY_FAILED: [^]+\nWhat to do: ./)
    expect(text).not.toContain('root:')
  })

  it('reads the newest copy after a publication', async () => {
    world.sandbox.world.insert('events')
    await world.run('sync', '--quiet', 'events')
    expect((await rowsOf('query', { sql: 'SELECT count(*) AS events FROM main.events' })).rows).toEqual([
      { events: 31 },
    ])
  })

  it('ends the program with its standard input, also if it never writes', async () => {
    // `start` passes an empty standard input.
    expect(await world.start(['mcp']).ended).toMatchObject({ code: 0, stdout: '', stderr: '' })
  })
})

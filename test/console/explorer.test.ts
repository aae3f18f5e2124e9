/** The explorer's API: tables of the published copy, statements of users, and what ends or limits a statement. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { reportsOnly, until } from '../jobs/support.ts'
import { aConsole, type Consoled, type Knock, login, TOKEN, VIEW_TOKEN } from './support.ts'

let console: Consoled

const SETTINGS = {
  defaults: { every: '24d', reconcile_every: 'never', deletes_every: 'never', page_size: 50 },
  reports: reportsOnly({ events: {}, enquiries: {} }),
}

beforeAll(async () => {
  const sandbox = { rows: 60, seed: 5, collections: true, faults: ['bad-rows@events:9'] }
  console = await aConsole({ sandbox, settings: SETTINGS })
  await console.carryOut('/api/sync', { reports: ['events'] })
}, 240_000)
afterAll(() => console[Symbol.asyncDispose]())

interface Answer {
  readonly status: number
  readonly columns: readonly string[]
  readonly rows: readonly (readonly (string | null)[])[]
  readonly more: boolean
  readonly reports: readonly { readonly rejected: number; readonly text: string }[]
  readonly error: { readonly code: string; readonly message: string; readonly cure: string }
}

const query = (sql: string, more: object = {}): Promise<Answer> => console.ask<Answer>('/api/query', { sql, ...more })

/** Never ends within the time of a test. */
const ENDLESS = 'SELECT count(*) FROM range(1000000000) a, range(1000000) b WHERE a.range * b.range = 7'

/** Begins a statement that its caller ends by `leave`. */
function begin(sql: string) {
  const leaving = new AbortController()
  const ended = fetch(`${console.url}/api/query`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ sql }),
    signal: leaving.signal,
  })
  return { leave: () => leaving.abort(), ended: ended.catch((error: Error) => error) }
}

interface TablesAnswer {
  readonly tables: Answer
  readonly table: Readonly<Record<'columns' | 'count' | 'sample', Answer>>
}

async function expectUnknown(name: string): Promise<void> {
  const { status, error } = await console.ask<Answer>(`/api/tables?${new URLSearchParams({ table: name })}`)
  expect([status, error.message]).toEqual([404, `there is no table ${name} in the published copy`])
  expect(error.cure).toContain('/api/tables')
}

describe('a table', () => {
  it('is listed with its comment, and with the completeness of its report', async () => {
    const { tables, table } = await console.ask<TablesAnswer>('/api/tables')
    expect([tables.columns, table]).toEqual([['table', 'comment', 'complete_up_to', 'deletes_visible'], null])
    const found = (name: string) => tables.rows.find(([table]) => table === name)
    const [comment, mark] = [expect.stringMatching(/\w/) as string, expect.stringMatching(/^20\d\d-.*Z$/) as string]
    for (const name of ['current.events', 'main.events__meeting_rooms'])
      expect(found(name)).toEqual([name, comment, mark, 'flag'])
    expect(found('tidemark.runs')).toEqual(['tidemark.runs', comment, null, null])
  })

  it('is shown with its columns, its number of rows, and some rows with their warrant', async () => {
    const { table } = await console.ask<TablesAnswer>('/api/tables?table=main.events')
    expect(table.columns.columns).toEqual(['column', 'type', 'comment'])
    expect(table.columns.rows).toContainEqual(['event_id', 'BIGINT', expect.stringMatching(/\w/) as string])
    const counted = await query('SELECT count(*) FROM main.events')
    expect([table.count.rows, table.sample.rows.length]).toEqual([counted.rows, 10])
    expect(table.sample.reports).toEqual(counted.reports)
  })

  it.each(['current.invoices', "x'; DROP TABLE events; --"])('that does not exist is named: %s', expectUnknown)
  it.each(['invoices', '', 'current.events.x', `current."events"`])(
    'that does not exist is named: %s',
    { tags: 'long' },
    expectUnknown,
  )
})

async function expectRefused(sql: string, reason: RegExp): Promise<void> {
  const { status, error } = await query(sql)
  expect([status, error.code]).toEqual([400, 'QUERY_FAILED'])
  expect(error.message).toMatch(reason)
  expect(error.cure).toMatch(/\w/)
}

describe('a statement', () => {
  it('is answered with exact values, NULL, and the warrants that "tidemark query --json" prints', async () => {
    const sql =
      "SELECT 12345678901234567890.000000001 AS amount, NULL AS nothing, '' AS empty, max(event_id) AS id FROM events"
    const { columns, rows, reports } = await query(sql)
    expect(columns).toEqual(['amount', 'nothing', 'empty', 'id'])
    expect(rows[0]?.slice(0, 3)).toEqual(['12345678901234567890.000000001', null, ''])
    const { stdout } = await console.workshop.run('query', '--json', sql)
    const printed = (JSON.parse(stdout) as { reports: object[] }).reports
    expect(reports).toMatchObject(printed)
    expect(reports[0]?.text).toMatch(/^events: complete up to 20.*; deletions show by flag; [1-9]\d* rejected rows/)
    expect(reports).toMatchObject([{ report: 'events', deletes_visible: 'flag', gaps: 0 }])
    expect(reports[0]?.rejected).toBeGreaterThan(0)
  })

  it('with more rows than the limit is answered with the first ones, and says that there are more', async () => {
    const some = await query('FROM range(5000)')
    expect([some.rows.length, some.more]).toEqual([1_000, true])
    const many = await query('FROM range(12000)', { limit: 10_000 })
    expect([many.rows.length, many.more]).toEqual([10_000, true])
    const all = await query('FROM range(30)', { limit: 30 })
    expect([all.rows.length, all.more]).toEqual([30, false])
    expect((await query('FROM range(5)', { limit: 10_001 })).status).toBe(400)
  })

  it('with large values is answered only up to a number of characters', async () => {
    const { rows, more } = await query("SELECT repeat('x', 1500000) FROM range(10)")
    expect([rows.length, more]).toEqual([2, true])
  })

  it.each([
    ['SELEC 1', /syntax error/],
    ["FROM read_csv('/etc/passwd')", /read_csv is not on the list/],
    ["SELECT sum(v::INT) FROM (VALUES ('a')) t(v)", /Could not convert/],
  ])('that cannot run is refused with the reason: %s', expectRefused)
  it.each([
    ['FROM current.invoices', /invoices does not exist/],
    ['SELECT no_such_column FROM events', /no_such_column/],
    ['DELETE FROM main.events', /this is DELETE/],
    ['SELECT 1; SELECT 2', /2 statements/],
  ])('that cannot run is refused with the reason: %s', { tags: 'long' }, expectRefused)

  it.each([{}, { sql: '' }, { sql: 1 }, { sql: 'x'.repeat(10_001) }, { sql: 'FROM events', rows: 1 }])(
    'that is none is refused',
    async (body) => {
      const { status, error } = await console.ask<Answer>('/api/query', body)
      expect([status, error.code]).toEqual([400, 'USAGE_INVALID'])
    },
  )

  it('may be sent by those who may only look, but by no other site', async () => {
    const { headers } = await console.knock('/api/session', login(VIEW_TOKEN))
    const cookie = String(headers['set-cookie']?.[0]).split(';')[0] ?? ''
    const knock: Knock = {
      method: 'POST',
      headers: { cookie, 'content-type': 'application/json', 'x-tidemark-console': '1' },
      body: JSON.stringify({ sql: 'SELECT 1 AS one' }),
    }
    const own = await console.knock('/api/query', knock)
    expect([own.status, own.body]).toEqual([200, '{"columns":["one"],"rows":[["1"]],"more":false,"reports":[]}'])
    for (const foreign of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }])
      expect((await console.knock('/api/query', { ...knock, headers: { ...knock.headers, ...foreign } })).status).toBe(
        403,
      )
    expect((await console.knock('/api/query', { ...knock, headers: { ...knock.headers, cookie: '' } })).status).toBe(
      401,
    )
  })
})

describe('a statement that never ends', () => {
  it('hinders neither a second one nor the list of tables, a third one is refused, and a client that leaves ends it', async () => {
    const [first, second] = [begin(ENDLESS), begin(ENDLESS)]
    await until(async () => (await query('SELECT 1')).status === 429)
    const { error } = await query('SELECT 1')
    expect(error).toMatchObject({ code: 'CONSOLE_LIMITED', message: '2 statements already run' })
    expect(await console.ask('/api/tables?table=current.events')).toMatchObject({ status: 200 })
    first.leave()
    await until(async () => (await query('SELECT 1')).status === 200)
    second.leave()
    const both = () => Promise.all([query('SELECT 1'), query('SELECT 2')])
    await until(async () => (await both()).every(({ status }) => status === 200))
    expect(console.worker.said()).not.toMatch(/could not answer/)
  })
})

const countEvents = async () => Number((await query('SELECT count(*) FROM main.events')).rows[0]?.[0])

it('a statement reads the newest copy after a publication', async () => {
  const before = await countEvents()
  console.workshop.sandbox.setFaults([])
  console.workshop.sandbox.world.insert('events')
  await console.carryOut('/api/sync', { reports: ['events'] })
  expect(await countEvents()).toBe(before + 1)
})

/** Mistakes in declaration files end in a sentence with file, line and what is expected, before anything runs. */
import { globSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { contradictionsIn } from '../../schema/declarationProblems.ts'
import { reportNames } from '../../schema/index.ts'
import { enquiries } from '../../schema/reports/enquiries.ts'
import { loadConfig } from '../../src/config/config.ts'
import { ROOT } from '../rules/source.ts'

const GOOD = `import { dateTime, defineReport, integer, manyOf } from 'tidemark'

export const cateringOrders = defineReport({
  name: 'catering_orders',
  meaning: 'Catering orders',
  path: '/v1/CateringReport/GetCateringOrders',
  answer: 'envelope',
  key: ['order_id'],
  fields: {
    orderId: integer('Unique order identifier'),
    orderedAt: dateTime('When the order was made'),
  },
  window: { since: 'modifiedSince', until: 'modifiedUntil', required: false },
  deletes: 'absence',
  expand: manyOf('dishes'),
})
`

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tidemark-own-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** Returns the message for a configuration with these files in its folder `reports`. */
async function messageFor(files: Readonly<Record<string, string>>, reportsFrom: unknown = '.'): Promise<string> {
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text)
  const settings = { service: { base_url: 'http://127.0.0.1:1', client_id: 'demo' }, reports_from: reportsFrom }
  await writeFile(path.join(folder, 'tidemark.yaml'), JSON.stringify(settings))
  const before = reportNames.length
  const failed: unknown = await loadConfig({ cwd: folder, env: { REPORTING_CLIENT_SECRET: 'x' } }).catch(
    (error: unknown) => error,
  )
  expect(reportNames).toHaveLength(before)
  return failed instanceof Error ? failed.message : 'no error'
}

const MISTAKES: readonly (readonly [string, readonly [string | RegExp, string], string])[] = [
  ['no key', ["key: ['order_id']", 'key: []'], 'a.ts:8  report catering_orders: key must name the columns'],
  [
    'a key without a column',
    ["['order_id']", "['number']"],
    'a.ts:8  report catering_orders: key has no column number',
  ],
  [
    'a key of two fields whose deletions are found by comparing keys',
    ["['order_id']", "['order_id', 'ordered_at']"],
    'a.ts:8  report catering_orders: key must be one field: rows are found by it',
  ],
  [
    'a field with the name of a column of the change feed',
    ["orderedAt: dateTime('When the order was made')", "_change: dateTime('When the order was made')"],
    'becomes the column _change, which Tidemark uses itself',
  ],
  [
    'a property with a wrong value',
    ["'absence'", "'absense'"],
    'a.ts:14  report catering_orders: deletes must be one of flag, diff, absence, none',
  ],
  [
    'an unknown property',
    ["deletes: 'absence'", "deleted: 'absence'"],
    'a.ts:14  report catering_orders: deleted is no property',
  ],
  [
    'a field that collides with a system column',
    ["orderedAt: dateTime('When", "isDeleted: dateTime('When"],
    'a.ts:11  report catering_orders: fields.isDeleted becomes the column is_deleted, which Tidemark uses itself',
  ],
  ['two fields of one column', ['orderedAt:', 'order_id:'], 'order_id is there twice'],
  ['a flag without its field', ["deletes: 'absence'", "deletes: 'flag'"], 'deletedFlag must name a boolean field'],
  ['a diff without its parameter', ["'absence'", "'diff'"], 'includeDeleted must name a parameter'],
  [
    'a currency without its column',
    ["deletes: 'absence'", "currency: 'currencyCode'"],
    'currency needs target_currency',
  ],
  ['a stamp that is no time', ["deletes: 'absence'", "newerBy: ['order_id']"], 'order_id is no date-time field'],
  [
    'a name with two underscores',
    [/'catering_orders'/, "'catering__orders'"],
    'a.ts:4  report catering__orders: name must not contain __',
  ],
  [
    'the name of another report',
    [/'catering_orders'/, "'events'"],
    'a.ts:4  report events: name is the name of another report',
  ],
  [
    'an audit report',
    ["deletes: 'absence'", "perRecord: { follows: 'enquiries' }"],
    'perRecord is only possible for the audit',
  ],
  ['a syntax error', ['answer:', 'answer'], 'a.ts:7  throws Unexpected token'],
  ['a module that throws', ['export const', "throw new Error('no access')\nexport const"], 'a.ts:3  throws no access'],
  ['a module without a declaration', [/^[\s\S]*$/, 'export const x = 1'], 'a.ts  exports no declaration'],
]

describe('a declaration file', () => {
  it.each(MISTAKES)('with %s is refused', async (_, [from, to], message) => {
    expect(await messageFor({ 'a.ts': GOOD.replace(from, to) })).toContain(message)
  })

  it('with the name of a temporary table is refused', async () => {
    const room = path.join(ROOT, 'src/warehouse')
    const files = globSync('**/*.ts', { cwd: room }).map((file) => readFileSync(path.join(room, file), 'utf8'))
    const found = files.flatMap((text) => [...text.matchAll(/(?:TEMP TABLE |keysTableSql\([^']{0,40}')(\w+)/g)])
    const names = [...new Set([...found.map(([, name = '']) => name), 'earlier_1', 'reread_0'])]
    expect(names).toEqual(expect.arrayContaining(['staged', 'gone_keys', 'read_keys']))
    for (const name of names)
      expect({ name, problems: contradictionsIn({ ...enquiries, name }) }).toMatchObject({
        problems: [{ path: ['name'] }],
      })
    expect(await messageFor({ 'a.ts': GOOD.replace(/'catering_orders'/, "'staged'") })).toContain(
      'a.ts:4  report staged: name is used by Tidemark itself; choose a different one',
    )
  })

  it('that never ends is stopped after ten seconds, and is named', { tags: ['long'], timeout: 60_000 }, async () => {
    const message = await messageFor({ 'a.ts': GOOD, 'b.ts': 'for (;;) {}' })
    expect(message).toContain('b.ts  did not load within 10 s')
    expect(message).not.toContain('a.ts')
  })

  it('that ends the process ends only the thread that loads it', async () => {
    expect(await messageFor({ 'a.ts': 'process.exit(3)' })).toContain('a.ts  ended')
  })

  it('must not have the name of a report in another file', async () => {
    expect(await messageFor({ 'a.ts': GOOD, 'b.ts': GOOD })).toContain(
      'b.ts:4  report catering_orders: name is the name of two',
    )
  })

  it('must be where reports_from says', async () => {
    expect(await messageFor({}, ['missing', 'no.ts'])).toContain(
      'missing  there is no declaration file (.ts, .js or .mjs) here',
    )
  })
})

it('a configuration without declaration files starts no thread', async () => {
  let threads = 0
  const count = () => (threads += 1)
  process.on('worker', count)
  try {
    await messageFor({ 'a.ts': 'export const x = 1' }, 'a.ts')
    expect(threads).toBe(1)
    const env = { REPORTING_BASE_URL: 'http://127.0.0.1:1', REPORTING_CLIENT_ID: 'demo', REPORTING_CLIENT_SECRET: 'x' }
    await loadConfig({ cwd: '/', env })
    expect(threads).toBe(1)
  } finally {
    process.off('worker', count)
  }
})

/**
 * A hundred fields whose types change ten times over, in rows and in the items of a collection, under names that are
 * hard to be columns: every value that was sent can be found again, in its column or beside it, as it was sent.
 */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { reportOf } from '../../schema/index.ts'
import { DISCOVERED_COLUMNS_MAX } from '../../src/plan/columns.ts'
import { aWarehouse, loadRows, type OpenWarehouse, texts } from '../support/warehouse.ts'
import { canonical } from '../../src/cli/certify/compare.ts'
import { isHeldAs } from '../support/numbers.ts'

const enquiries = reportOf('enquiries')
const FIELDS = 100
const CHANGES = 10
const ROWS = 3

/** Reserved words, names that differ only in spelling, long ones, ones that no column can have as they are. */
const ODD_NAMES = [
  'select',
  'from',
  'table',
  'order',
  'group',
  'end',
  'user',
  'current_date',
  'rowid',
  'is_deleted',
  '_extra',
  '_payload',
  '_child_key',
  'fooBar',
  'FooBar',
  'foo_bar',
  'foo-bar',
  'foo bar',
  'FOO_BAR',
  'foo_bar_2',
  '1st',
  '',
  ' ',
  '"',
  "'",
  'é',
  'ä',
  '日本',
  '😀',
  'a.b',
  'a/b',
  'a~b',
  '#',
  '$',
  '~',
  '\\',
  '\n',
  '\u0000',
  'x'.repeat(300),
  'X'.repeat(301),
]

const values = {
  null: fc.constant('null'),
  boolean: fc.boolean().map(String),
  integer: fc.integer().map(String),
  big: fc.bigInt({ min: -(10n ** 36n), max: 10n ** 36n }).map(String),
  decimal: fc
    .tuple(fc.integer(), fc.nat(999_999_999))
    .map(([whole, part]) => `${whole}.${String(part).padStart(9, '0')}`),
  long: fc.constantFrom('0.1234567890123456789', '12345678901234567890.123456789', '-0.000000000000000000001'),
  exponent: fc.constantFrom('1e5', '2.5E-7', '-1e300', '1e400', '1.2345678901234567e3'),
  text: fc.string({ unit: 'binary', maxLength: 12 }).map((each) => JSON.stringify(each)),
  flag: fc.constantFrom('0', '1', '"1"', '"true"', '" false "', '"TRUE"'),
  number: fc.constantFrom('" 42 "', '"7.0"', '"1E1"', '"-0"', '"+1"', '".5"', '"0x1F"', '" "'),
  date: fc.constantFrom('"2026-01-02"', '"2024-02-29"', '"2026-02-30"'),
  time: fc.constantFrom('"2026-01-02T03:04:05Z"', '"2026-01-02T03:04:05.123456+02:00"'),
  array: fc.constantFrom('[]', '[1,2.50,"x",[null]]', '[{"a":12345678901234567890}]'),
  object: fc.constantFrom('{}', '{"a":{"b":[1.10]},"é":null}'),
}

type Row = Record<string, string>

const someValue = fc.constantFrom(...Object.values(values)).chain((each) => each)

/** For each change, some rows: field → JSON text. Types hold for a while and then become others. */
const stories = fc.tuple(
  fc.array(fc.string({ minLength: 1, maxLength: 20 }), { minLength: FIELDS, maxLength: FIELDS }),
  fc.array(
    fc.array(fc.array(fc.option(someValue, { freq: 5, nil: undefined }), { minLength: FIELDS, maxLength: FIELDS }), {
      minLength: ROWS,
      maxLength: ROWS,
    }),
    {
      minLength: CHANGES,
      maxLength: CHANGES,
    },
  ),
)

const rowText = (fields: Row, more: string): string =>
  `{${[more, ...Object.entries(fields).map(([name, value]) => `${JSON.stringify(name)}:${value}`)].join(',')}}`

const SURE = new Set(['enquiryId', 'id', 'isDeleted', 'taxes'])

function namesFrom(drawn: readonly string[]): string[] {
  const names = [...new Set([...ODD_NAMES, ...drawn])].filter((name) => !SURE.has(name) && name.isWellFormed())
  const documented = new Set([
    ...Object.keys(enquiries.fields),
    '__proto__',
    ...Object.values(enquiries.expand).map((each) => (each as { field: string }).field),
  ])
  return names.filter((name) => !documented.has(name)).slice(0, FIELDS)
}

/** What a table holds of one field of one row, and what stands beside it as it was sent. */
async function missing(opened: OpenWarehouse, table: string, sent: ReadonlyMap<string, Row>): Promise<string[]> {
  const columns = await opened.warehouse.rows<{ field: string; name: string; type: string }>(
    `SELECT field, column_name AS name, type FROM tidemark.columns WHERE table_name = '${table}'`,
  )
  const byField = new Map(columns.map((column) => [column.field, column]))
  const rows = await texts(opened, `main.${table}`)
  const held = new Map(rows.map((row) => [row['enquiry_id'] ?? '', row]))
  const isChild = table.includes('__')
  const asSent = isChild ? '_payload' : '_extra'
  const found: string[] = []
  for (const [key, fields] of sent) {
    const row = held.get(key) ?? {}
    const beside = membersOf(row[asSent] ?? '{}')
    for (const [field, value] of Object.entries(fields)) {
      const column = byField.get(field)
      const inColumn = column === undefined ? undefined : row[column.name]
      const isBeside = beside.get(field) === exactText(value)
      if (!isBeside && !isHeld(value, inColumn, column?.type) && value !== 'null')
        found.push(
          `${table} ${key} ${JSON.stringify(field)} (${column?.type}): sent ${value}, held ${inColumn}, beside ${beside.get(field)}`,
        )
      if (isChild && beside.get(field) !== exactText(value))
        found.push(`${table} ${key} ${JSON.stringify(field)}: payload ${beside.get(field)} for ${value}`)
    }
  }
  return found
}

/** JSON as text in which every number stands with all its digits. */
const exactText = (json: string): string =>
  JSON.stringify(
    JSON.parse(json, (_, value: unknown, context?: { source?: string }) =>
      typeof value === 'number' ? `number ${canonical(context?.source ?? '')}` : value,
    ),
  )

function membersOf(json: string): Map<string, string> {
  const raw = JSON.parse(json, (_, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' ? `number ${canonical(context?.source ?? '')}` : value,
  ) as Record<string, unknown>
  return new Map(Object.entries(raw).map(([name, value]) => [name, JSON.stringify(value)]))
}

function isHeld(sent: string, held: string | null | undefined, type: string | undefined): boolean {
  if (held === undefined || type === undefined || /^[[{]/.test(sent)) return false
  if (type === 'JSON') return held !== null && exactText(sent) === exactText(held)
  return isHeldAs(sent, held, type)
}

describe('a hundred fields whose types change ten times', () => {
  it('lose no value, in rows and in items', { tags: 'long', timeout: 600_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), async (seed) => {
        const [[drawn, changes] = [[], []]] = fc.sample(stories, { seed, numRuns: 1 })
        await using opened = await aWarehouse()
        const names = namesFrom(drawn)
        const sent = new Map<string, Row>()
        let key = 0
        for (const rows of changes) {
          const page = rows.map((cells) => {
            key += 1
            const fields = Object.fromEntries(
              names.flatMap((name, n) => (cells[n] === undefined ? [] : [[name, cells[n]]])),
            )
            sent.set(String(key), fields)
            return rowText(fields, `"enquiryId":${key},"taxes":[${rowText(fields, '"id":1')}]`)
          })
          const { rejected } = await loadRows(opened, enquiries, `[${page.join(',')}]`)
          expect(rejected).toBe(0)
        }
        expect(await missing(opened, 'enquiries', sent)).toEqual([])
        expect(await missing(opened, 'enquiries__taxes', sent)).toEqual([])
      }),
      { numRuns: Number(process.env['RUNS'] ?? 1), endOnFailure: true },
    )
  })

  it('beyond the limit stay in _extra, and that is recorded once, whatever keys come', { tags: 'long' }, async () => {
    await using opened = await aWarehouse()
    const told: number[] = []
    for (let load = 0; load < 3; load += 1) {
      const fields = Object.fromEntries(Array.from({ length: 400 }, (_, n) => [`key ${load * 400 + n}`, String(n)]))
      const { changes } = await loadRows(
        opened,
        enquiries,
        `[${rowText(fields, `"enquiryId":${load},"taxes":[${rowText(fields, '"id":1')}]`)}]`,
      )
      told.push(changes.filter(({ change }) => change.change === 'limit').length)
    }
    expect(told).toEqual([0, 2, 0])
    const [last] = await texts(opened, 'main.enquiries', { where: 'enquiry_id = 2', columns: ['_extra'] })
    expect(Object.keys(JSON.parse(last?.['_extra'] ?? '{}') as object)).toHaveLength(400)
    const [columns] = await opened.warehouse.rows<{ n: number }>(
      "SELECT count(*) AS n FROM tidemark.columns WHERE table_name = 'enquiries'",
    )
    expect(columns?.n).toBe(DISCOVERED_COLUMNS_MAX)
  })
})

/**
 * Undocumented fields: which columns they get, how columns widen, and that no value is lost on the way (contract §4).
 */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { enquiries } from '../../schema/reports/enquiries.ts'
import { plusMs } from '../../src/instant.ts'
import { DISCOVERED_COLUMNS_MAX } from '../../src/plan/columns.ts'
import { isHeldAs } from '../support/numbers.ts'
import { aWarehouse, loadRows, NOON, type OpenWarehouse, openAt, texts } from '../support/warehouse.ts'

let nextId = 1
const anId = (): number => nextId++

const typesOf = async ({ warehouse }: OpenWarehouse, table = 'enquiries'): Promise<Record<string, string>> => {
  const rows = await warehouse.rows<{ name: string; type: string }>(
    `SELECT column_name AS name, data_type AS type FROM duckdb_columns() WHERE schema_name = 'main' AND table_name = '${table}'`,
  )
  return Object.fromEntries(rows.map(({ name, type }) => [name, type]))
}

describe('an undocumented scalar field', () => {
  it('becomes a column of the type that all its values share, nothing else', async () => {
    await using opened = await aWarehouse()
    const row = {
      enquiryId: 1,
      isOpen: true,
      roomCount: 4,
      dayRate: 12.5,
      tinyRate: 1e-20,
      openDate: '2026-01-02',
      openedAt: '2026-01-02T03:04:05Z',
      shortNote: 'x',
      nothing: null,
    }
    await loadRows(opened, enquiries, [row, { enquiryId: 2, nothing: null }])
    const types = await typesOf(opened)
    expect(types).toMatchObject({
      is_open: 'BOOLEAN',
      room_count: 'BIGINT',
      day_rate: 'DECIMAL(38,9)',
      tiny_rate: 'DOUBLE',
      open_date: 'VARCHAR',
      opened_at: 'TIMESTAMP WITH TIME ZONE',
      short_note: 'VARCHAR',
    })
    expect(types).not.toHaveProperty('nothing')
    expect(
      await texts(opened, 'main.enquiries', { columns: ['day_rate', 'opened_at', '_extra'], where: 'enquiry_id = 1' }),
    ).toEqual([{ day_rate: '12.500000000', opened_at: '2026-01-02 03:04:05+00', _extra: null }])
  })

  it('has a column even if only the last of many rows carries it', async () => {
    await using opened = await aWarehouse()
    const rows = Array.from({ length: 5_000 }, (_, n) => ({ enquiryId: n, ...(n === 4_999 ? { rare: 7 } : {}) }))
    await loadRows(opened, enquiries, rows)
    expect(
      await texts(opened, 'main.enquiries', { columns: ['enquiry_id', 'rare'], where: 'rare IS NOT NULL' }),
    ).toEqual([{ enquiry_id: '4999', rare: '7' }])
  })

  it('is recorded in schema_changes and columns once, has a comment, and is in the current view', async () => {
    await using opened = await aWarehouse()
    for (const minute of [0, 1]) {
      await loadRows(opened, enquiries, [{ enquiryId: 1, roomCount: 4 }], { observedAt: plusMs(NOON, minute * 60_000) })
    }
    await loadRows(opened, enquiries, [{ enquiryId: 1, roomCount: 4.5 }], { observedAt: plusMs(NOON, 120_000) })
    const { warehouse } = opened
    expect(
      await warehouse.rows(
        'SELECT report, table_name, column_name, change, old_type, new_type, load_id FROM tidemark.schema_changes ORDER BY load_id',
      ),
    ).toEqual([
      {
        report: 'enquiries',
        table_name: 'enquiries',
        column_name: 'room_count',
        change: 'added',
        old_type: null,
        new_type: 'BIGINT',
        load_id: 1,
      },
      {
        report: 'enquiries',
        table_name: 'enquiries',
        column_name: 'room_count',
        change: 'widened',
        old_type: 'BIGINT',
        new_type: 'DECIMAL(38,9)',
        load_id: 3,
      },
    ])
    expect(await warehouse.rows('SELECT field, column_name, type FROM tidemark.columns')).toEqual([
      { field: 'roomCount', column_name: 'room_count', type: 'DECIMAL(38,9)' },
    ])
    expect(
      await warehouse.rows(
        `SELECT comment FROM duckdb_columns() WHERE column_name = 'room_count' AND schema_name = 'main'`,
      ),
    ).toEqual([{ comment: 'Undocumented field roomCount' }])
    expect(await texts(opened, 'current.enquiries')).toEqual([
      { enquiry_id: '1', booker_email: null, booker_company: null, status: null, room_count: '4.500000000' },
    ])
  })

  it('keeps its column over a reopen', async () => {
    await using opened = await aWarehouse()
    await loadRows(opened, enquiries, [{ enquiryId: 1, Order: 4 }])
    await opened.warehouse.close()
    await using again = await openAt(opened.path)
    const load = await loadRows({ ...opened, warehouse: again }, enquiries, [{ enquiryId: 2, Order: 5 }])
    expect(load.changes).toEqual([])
    expect(await again.rows('SELECT "order" FROM main.enquiries ORDER BY 1')).toEqual([{ order: 4 }, { order: 5 }])
  })

  it('gets a name that is free and safe, whatever its own is', async () => {
    await using opened = await aWarehouse()
    const long = 'x'.repeat(300)
    const names = [
      'select',
      'Select',
      'SELECT',
      'a b',
      'a_b',
      'aB',
      '2nd',
      '',
      '#',
      '$',
      'rowid',
      'oid',
      'is_deleted',
      'isDeleted',
      '_extra',
      '_rowHash',
      '~ordinal',
      '~reason',
      'quote"d',
      "quote'd",
      'naïve',
      '日本',
      'status_',
      'Status',
      'bookerEMail',
      'a\0b',
      'a\u0001b',
      'page',
      'position',
      'payload',
      'fields',
      'sid',
      'current',
      long,
      `${long}y`,
      'constructor',
    ]
    const values = Object.fromEntries(names.map((name, n) => [name, n + 100]))
    await loadRows(opened, enquiries, [{ enquiryId: 1, status: 1, ...values, taxes: [{ id: 1, ...values }] }])
    await loadRows(
      opened,
      enquiries,
      [{ enquiryId: 1, status: 2, ...values, taxes: [{ id: 1, ...values, more: 1 }] }],
      {
        observedAt: plusMs(NOON, 60_000),
      },
    )
    const columns = await opened.warehouse.rows<{ table: string; field: string; name: string }>(
      'SELECT table_name AS "table", field, column_name AS name FROM tidemark.columns',
    )
    for (const table of ['enquiries', 'enquiries__taxes']) {
      const [row, ...others] = await texts(opened, `main.${table}`)
      expect(others).toEqual([])
      for (const [field, value] of Object.entries(values)) {
        // A child's own isDeleted is its flag, not a column.
        if (table === 'enquiries__taxes' && field === 'isDeleted') continue
        const column = columns.find((each) => each.table === table && each.field === field)
        expect(column, `${table}.${field}`).toBeDefined()
        expect(row?.[column?.name ?? ''], `${table}.${field} in ${column?.name}`).toBe(String(value))
        expect(column?.name.length).toBeLessThanOrEqual(130)
      }
    }
  })

  it('beyond the limit of columns stays in _extra, is recorded once, and stops nothing', { tags: 'long' }, async () => {
    await using opened = await aWarehouse()
    const many = Object.fromEntries(Array.from({ length: 1_200 }, (_, n) => [`field${n}`, n]))
    await loadRows(opened, enquiries, [{ enquiryId: 1, ...many, taxes: [{ id: 1, ...many }] }])
    await loadRows(opened, enquiries, [{ enquiryId: 2, ...many }])
    const changes = await opened.warehouse.rows(
      'SELECT table_name, change, count(*) AS n FROM tidemark.schema_changes GROUP BY ALL ORDER BY ALL',
    )
    expect(changes).toEqual([
      { table_name: 'enquiries', change: 'added', n: DISCOVERED_COLUMNS_MAX },
      { table_name: 'enquiries', change: 'limit', n: 1 },
      { table_name: 'enquiries__taxes', change: 'added', n: DISCOVERED_COLUMNS_MAX },
      { table_name: 'enquiries__taxes', change: 'limit', n: 1 },
    ])
    const rows = await texts(opened, 'main.enquiries', { columns: ['field499', '_extra'] })
    expect(rows).toHaveLength(2)
    const { field500, field1199 } = JSON.parse(rows[0]?.['_extra'] ?? '') as Record<string, number>
    expect([rows[0]?.['field499'], field500, field1199]).toEqual(['499', 500, 1_199])
  })
})

describe('an undocumented array or object', () => {
  it('stays in _extra as it was sent, beside scalars of the same field that have a column', async () => {
    await using opened = await aWarehouse()
    const sent = '{"a":[1,2.50,"x",null,{"b":{}}],"é":"\\u0000","n":12345678901234567890.10}'
    await loadRows(opened, enquiries, `[{"enquiryId":1,"odd":${sent},"list":[]},{"enquiryId":2,"odd":7,"list":null}]`)
    expect(await texts(opened, 'main.enquiries', { columns: ['enquiry_id', 'odd', '_extra'] })).toEqual([
      { enquiry_id: '1', odd: null, _extra: expect.stringContaining('12345678901234567890.10') },
      { enquiry_id: '2', odd: '7', _extra: null },
    ])
    const [row] = await texts(opened, 'main.enquiries', { columns: ['_extra'], where: 'enquiry_id = 1' })
    expect(JSON.parse(row?.['_extra'] ?? '')).toEqual({ odd: JSON.parse(sent) as unknown, list: [] })
  })
})

const someScalar = fc.oneof(
  fc.constant('null'),
  fc.constantFrom('true', 'false'),
  fc.integer().map(String),
  fc.bigInt({ min: -(10n ** 32n), max: 10n ** 32n }).map(String),
  fc.tuple(fc.integer(), fc.nat(999_999_999)).map(([whole, fraction]) => `${whole}.${fraction}`),
  fc.constantFrom('1e5', '2.5E-7', '1e400', '1.23456789012345678e3', '0.12345678901234'),
  fc.constantFrom(
    '"2026-01-02"',
    '"2026-02-30"',
    '"2026-01-02T03:04:05"',
    '"2026-02-30T00:00:00Z"',
    '"2026-01-02 03:04"',
  ),
  fc.string({ unit: 'grapheme-ascii', maxLength: 5 }).map((text) => JSON.stringify(text)),
  fc.constantFrom('"true"', '"1"', '"null"', '"{}"', '""'),
  fc.constantFrom('" 42 "', '"7.0"', '"1E1"', '"-0"', '"+1"', '"1."', '".5"', '"0x1F"'),
)

describe('a column', () => {
  it('takes values so that the one sent last for each key is always found in it, or in _extra, after any loads', {
    tags: 'long',
  }, async () => {
    await using opened = await aWarehouse()
    const loads = fc.array(fc.array(fc.tuple(fc.nat(3), someScalar), { minLength: 1, maxLength: 4 }), {
      minLength: 1,
      maxLength: 5,
    })
    let tried = 0
    await fc.assert(
      fc.asyncProperty(loads, async (sequence) => {
        tried += 1
        const field = `field${tried}`
        const first = anId()
        nextId += 4
        const last = new Map<number, string>()
        for (const [minute, load] of sequence.entries()) {
          const values = new Map(load)
          for (const [key, value] of values) last.set(key, value)
          const rows = [...values].map(
            ([key, v]) => `{"enquiryId":${first + key},"${field}":${v},"taxes":[{"id":1,"${field}":${v}}]}`,
          )
          const done = await loadRows(opened, enquiries, `[${rows.join(',')}]`, {
            observedAt: plusMs(NOON, minute * 60_000),
          })
          expect(done.rejected).toBe(0)
        }
        const type = (await typesOf(opened))[field]
        const childType = (await typesOf(opened, 'enquiries__taxes'))[field]
        const column = type === undefined ? 'NULL' : field
        const inChild = childType === undefined ? 'NULL' : field
        for (const [key, sent] of last) {
          const [row] = await opened.warehouse.rows<Record<string, string | null>>(
            `SELECT ${column}::VARCHAR AS held, _extra::VARCHAR AS extra,
               (SELECT ${inChild}::VARCHAR FROM main.enquiries__taxes c WHERE c.enquiry_id = ${first + key}) AS child,
               (SELECT _payload::VARCHAR FROM main.enquiries__taxes c WHERE c.enquiry_id = ${first + key}) AS payload
             FROM main.enquiries WHERE enquiry_id = ${first + key}`,
          )
          // As text, since JSON.parse rounds long numbers.
          const asSent = [row?.['extra'], row?.['payload']].map(
            (json) => new RegExp(`"${field}":(.*)}$`).exec(json ?? '')?.[1],
          )
          const told = `${sent} of ${JSON.stringify(sequence)}: ${JSON.stringify(row)}`
          for (const [n, held, itsType] of [[0, row?.['held'], type] as const, [1, row?.['child'], childType] as const])
            expect(isHeldAs(sent, held ?? null, itsType ?? 'VARCHAR') || asSent[n] === sent, told).toBe(true)
        }
      }),
      { numRuns: 25 },
    )
  })

  it.each([
    [['true', '1'], 'BOOLEAN', ['true', 'true']],
    [['1', '7.0'], 'BIGINT', ['1', '7']],
    [['1', '2.5'], 'DECIMAL(38,9)', ['1.000000000', '2.500000000']],
    [['1', '18446744073709551615'], 'DECIMAL(38,9)', ['1.000000000', '18446744073709551615.000000000']],
    [['1.5', '"x"'], 'DECIMAL(38,9)', ['1.500000000', null]],
    [['123456789012345678', '1e5'], 'BIGINT', ['123456789012345678', '100000']],
    [['1e5', '123456789012345678'], 'DOUBLE', ['100000.0', '1.2345678901234568e+17']],
    [['"2026-01-02"', '"2026-01-02T03:04:05Z"'], 'VARCHAR', ['2026-01-02', '2026-01-02T03:04:05Z']],
    [['"2026-01-02T03:04:05Z"', '"soon"'], 'TIMESTAMP WITH TIME ZONE', ['2026-01-02 03:04:05+00', null]],
    [['"2026-01-02"', '7'], 'VARCHAR', ['2026-01-02', '7']],
  ])('of %s becomes %s, old values kept', { tags: 'long' }, async (values, type, held) => {
    await using opened = await aWarehouse()
    for (const [n, value] of values.entries()) await loadRows(opened, enquiries, `[{"enquiryId":${n},"v":${value}}]`)
    expect((await typesOf(opened))['v']).toBe(type)
    const rows = await texts(opened, 'main.enquiries', { columns: ['enquiry_id', 'v'] })
    expect(rows.map((row) => row['v'])).toEqual(held)
    expect(await opened.warehouse.rows('SELECT count(*) AS n FROM current.enquiries')).toEqual([{ n: 2 }])
  })
})

describe('tables', () => {
  it('carry comments on every table and every column, from the specification', async () => {
    await using opened = await aWarehouse()
    const bare = await opened.warehouse.rows(`
      SELECT table_name, column_name FROM duckdb_columns() WHERE database_name = current_database() AND schema_name = 'main' AND comment IS NULL
      UNION ALL SELECT table_name, NULL FROM duckdb_tables() WHERE schema_name IN ('main', 'tidemark') AND comment IS NULL AND table_name <> 'layout'`)
    expect(bare).toEqual([])
    expect(
      await opened.warehouse.rows(
        `SELECT comment FROM duckdb_columns() WHERE table_name = 'events' AND schema_name = 'main' AND column_name = 'record_modified'`,
      ),
    ).toEqual([{ comment: 'Changes only when the event itself is edited' }])
  })

  it('have a current view each, without system columns', async () => {
    await using opened = await aWarehouse()
    const views = await opened.warehouse.rows<{ view: string; columns: string }>(`
      SELECT table_name AS view, string_agg(column_name, ' ') AS columns FROM duckdb_columns() WHERE schema_name = 'current' GROUP BY ALL`)
    const tables = await opened.warehouse.rows<{ name: string }>(
      `SELECT table_name AS name FROM duckdb_tables() WHERE schema_name = 'main'`,
    )
    expect(new Set(views.map(({ view }) => view))).toEqual(new Set(tables.map(({ name }) => name)))
    expect(
      views.filter(({ columns }) => /is_deleted|_delete|_observed_at|_load_id|_extra|_row_hash/.test(columns)),
    ).toEqual([])
  })
})

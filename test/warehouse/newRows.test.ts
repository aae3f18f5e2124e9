/** Rows that are all new go from their file straight to the table; where they aren't, it is as if nobody had tried. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { budgets } from '../../schema/reports/budgets.ts'
import { enquiries } from '../../schema/reports/enquiries.ts'
import { events } from '../../schema/reports/events.ts'
import { minusMs } from '../../src/instant.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { copyWarehouse } from '../support/templates.ts'
import { aFolder, at, aWarehouse, loadPages, loadRows, NOON, type OpenWarehouse, texts } from '../support/warehouse.ts'

const HOUR_MS = 3_600_000
const RUNS = 6

/** A load that says how late its rows are has to stage them. */
const STAGED = { previousRead: { until: minusMs(NOON, 2 * HOUR_MS), at: minusMs(NOON, HOUR_MS) } }

interface Watched extends OpenWarehouse {
  /** How rows were read since this was asked last: `straight` to their table, or `staged`. */
  readonly ways: () => string[]
}

async function watched(): Promise<Watched> {
  const folder = await aFolder()
  const path = `${folder.path}/warehouse.duckdb`
  await copyWarehouse(path)
  const seen: string[] = []
  const warehouse = await Warehouse.open({
    path,
    memory: '512MB',
    threads: 1,
    around: (sql, run) => {
      if (sql.includes('read_json(')) seen.push(sql.includes('TEMP TABLE staged AS') ? 'staged' : 'straight')
      return run()
    },
  })
  return {
    warehouse,
    folder: folder.path,
    path,
    ways: () => seen.splice(0),
    [Symbol.asyncDispose]: async () => {
      await warehouse.close()
      await folder[Symbol.asyncDispose]()
    },
  }
}

/** What differs from one warehouse to another, or by when it was written. */
const OF_ITS_OWN = ['_row_hash', 'changed_at', 'late']
const comparable = (rows: readonly Record<string, unknown>[]) =>
  rows.map((row) => Object.fromEntries(Object.entries(row).filter(([column]) => !OF_ITS_OWN.includes(column))))
const named = (opened: OpenWarehouse) => texts(opened, 'main.events', { columns: ['event_id', 'name'] })
const event = (eventId: number, name: string, more: object = {}) => ({ eventId, name, isDeleted: false, ...more })

describe('a load of nothing but new rows', () => {
  it('is not staged, and reports its figures like any other', async () => {
    await using opened = await watched()
    const first = await loadRows(opened, events, [event(1, 'a'), event(2, 'b', { isDeleted: true })])
    expect(first).toMatchObject({ rows: 2, inserted: 2, updated: 0, unchanged: 0, deleted: 1, rejected: 0 })
    const second = await loadRows(opened, events, [event(3, 'c')])
    expect(second).toMatchObject({ rows: 1, inserted: 1, deleted: 0 })
    expect(opened.ways()).toEqual(['straight', 'straight'])
    expect(await texts(opened, 'main.events', { columns: ['event_id', 'is_deleted', '_load_id'] })).toEqual([
      { event_id: '1', is_deleted: 'false', _load_id: '1' },
      { event_id: '2', is_deleted: 'true', _load_id: '1' },
      { event_id: '3', is_deleted: 'false', _load_id: '2' },
    ])
  })

  it('leaves every value as staging leaves it', async () => {
    const value = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.bigInt().map((digits) => Number(digits)),
      fc.boolean(),
      fc.constant(null),
      fc.constant('2026-02-30T10:00:00Z'),
      fc.date({ noInvalidDate: true, min: new Date('1900-01-01'), max: new Date('2200-01-01') }),
      fc.array(fc.integer()),
      fc.dictionary(fc.string(), fc.double({ noNaN: true, noDefaultInfinity: true }), { noNullPrototype: true }),
    )
    const field = fc.constantFrom('name', 'town', 'status', 'costEstimate', 'note', 'Note', 'tags', 'x')
    const row = fc.dictionary(field, value, { noNullPrototype: true })
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 12 }), async (rows) => {
        await using straight = await watched()
        await using staged = await watched()
        const numbered = rows.map((each, n) => ({ eventId: n, isDeleted: n % 3 === 0, ...each }))
        const first = await loadRows(straight, events, numbered)
        await loadRows(staged, events, numbered, STAGED)
        expect(staged.ways()).toEqual(['staged'])
        expect(straight.ways()[0]).toBe('straight')
        const [one, other] = [await texts(straight, 'main.events'), await texts(staged, 'main.events')]
        expect(comparable(one)).toEqual(comparable(other))
        // The fingerprint of a row is another in each warehouse, but in one it is the same whichever way it came.
        const again = await loadRows(straight, events, numbered, STAGED)
        expect(again).toMatchObject({ unchanged: first.inserted, updated: 0, inserted: 0 })
      }),
      { numRuns: RUNS, endOnFailure: true },
    )
  })

  it('distinguishes keys by the requested currency or record', async () => {
    await using opened = await watched()
    const rows = [{ budgetId: 1 }]
    const pages = ['EUR', 'GBP'].map((currency) => ({ rows, asked: { target_currency: currency } }))
    const { inserted } = await loadPages(opened, budgets, { pages, given: { gone: [] } })
    expect(inserted).toBe(2)
    expect(opened.ways()).toEqual(['straight'])
  })
})

describe('a load that was tried as new', () => {
  it('is staged where a row came twice: the newest one stays', async () => {
    await using opened = await watched()
    const rows = [event(1, 'old', { recordModified: '2026-02-01T10:00:00Z' }), event(2, 'b')]
    const newer = [event(1, 'new', { recordModified: '2026-02-02T10:00:00Z' })]
    const load = await loadPages(opened, events, { pages: [{ rows }, { rows: newer }] })
    expect(load).toMatchObject({ rows: 3, inserted: 2 })
    expect(opened.ways()).toEqual(['straight', 'staged'])
    expect(await named(opened)).toEqual([
      { event_id: '1', name: 'new' },
      { event_id: '2', name: 'b' },
    ])
  })

  it('is staged where a row is held already: it is replaced', async () => {
    await using opened = await watched()
    await loadRows(opened, events, [event(1, 'a'), event(2, 'b')])
    const load = await loadRows(opened, events, [event(2, 'bb'), event(3, 'c')])
    expect(load).toMatchObject({ inserted: 1, updated: 1 })
    expect(opened.ways()).toEqual(['straight', 'straight', 'staged'])
    expect(await named(opened)).toEqual([
      { event_id: '1', name: 'a' },
      { event_id: '2', name: 'bb' },
      { event_id: '3', name: 'c' },
    ])
  })

  it('is staged where a value does not fit: that value is a misfit, the others stay', async () => {
    await using opened = await watched()
    const load = await loadRows(opened, events, [event(1, 'a'), event(2, 'b', { attendees: 'many' })])
    expect(load).toMatchObject({ inserted: 2, rejected: 0, misfits: 1 })
    expect(opened.ways()).toEqual(['straight', 'staged'])
  })

  it('is staged where a row has no usable key: that one is set aside, the others stay', async () => {
    await using opened = await watched()
    const rows = [event(1, 'a'), { ...event(2, 'b'), eventId: 'two' }]
    const load = await loadRows(opened, events, rows)
    expect(load).toMatchObject({ inserted: 1, rejected: 1 })
    expect(opened.ways()).toEqual(['straight', 'staged'])
    expect(await named(opened)).toEqual([{ event_id: '1', name: 'a' }])
    const [refused] = await opened.warehouse.rows<{ reason: string }>('SELECT reason FROM tidemark.rejected_rows')
    expect(refused?.reason).toContain('eventId')
  })

  it('keeps the columns that its rows needed, and reports them once', async () => {
    await using opened = await watched()
    await loadRows(opened, enquiries, [{ enquiryId: 1, colour: 'red' }])
    const load = await loadRows(opened, enquiries, [{ enquiryId: 1, colour: 'blue', size: 3 }])
    expect(load.changes).toHaveLength(1)
    expect(opened.ways()).toEqual(['straight', 'straight', 'staged'])
    expect(await texts(opened, 'main.enquiries', { columns: ['enquiry_id', 'colour', 'size'] })).toEqual([
      { enquiry_id: '1', colour: 'blue', size: '3' },
    ])
    const told = await opened.warehouse.rows('SELECT column_name AS name FROM tidemark.schema_changes ORDER BY name')
    expect(told).toEqual([{ name: 'colour' }, { name: 'size' }])
  })
})

describe('a load is not tried as new', () => {
  it('once a load of its report brought anything else', async () => {
    await using opened = await watched()
    await loadRows(opened, events, [event(1, 'a')])
    await loadRows(opened, events, [event(1, 'aa')])
    opened.ways()
    await loadRows(opened, events, [event(2, 'b')])
    expect(opened.ways()).toEqual(['staged'])
    await loadRows(opened, enquiries, [{ enquiryId: 1 }])
    expect(opened.ways()).toEqual(['straight'])
  })

  it.each([
    ['its rows have items', [event(1, 'a', { meetingRooms: [{ id: 1 }] })], {}],
    ['a row could not even be read', [event(1, 'a'), 7], {}],
    [
      'others follow its report',
      [event(1, 'a')],
      { followers: [{ report: 'audit_entries', scopePrefix: '3:', settleMs: 0 }] },
    ],
    ['it says how late its rows are', [event(1, 'a')], STAGED],
    [
      'it is part of a reconcile',
      [event(1, 'a')],
      { kind: 'reconcile' as const, reconcile: { reconcileId: 'r', reached: at('2026-01-01T00:00:00Z') } },
    ],
  ])('where %s', async (_, rows, given) => {
    await using opened = await watched()
    await loadRows(opened, events, rows, given)
    expect(opened.ways()).toEqual(['staged'])
    expect(await named(opened)).toEqual([{ event_id: '1', name: 'a' }])
  })
})

it('a load that was tried in vain leaves the warehouse as one that was staged at once', async () => {
  await using tried = await aWarehouse()
  await using staged = await aWarehouse()
  const rows = [event(1, 'a'), event(1, 'b'), event(2, 'c', { rate: 1 })]
  await loadRows(tried, events, rows)
  await loadRows(staged, events, rows, STAGED)
  for (const table of ['main.events', 'tidemark.loads', 'tidemark.schema_changes']) {
    const [one, other] = [await texts(tried, table), await texts(staged, table)]
    expect(comparable(one)).toEqual(comparable(other))
  }
})

/** What each type takes is the same for documented, discovered and child columns (schema/values.ts). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Declaration } from '../../schema/report.ts'
import { events } from '../../schema/reports/events.ts'
import { budgets } from '../../schema/reports/budgets.ts'
import { partsOf, VALUES } from '../../schema/values.ts'
import { plusMs } from '../../src/instant.ts'
import { aWarehouse, loadRows, NOON, type OpenWarehouse, texts } from '../support/warehouse.ts'

type Type = keyof typeof VALUES

/** A first value for which an undocumented field gets a column of the type. */
const SEEDS: Partial<Record<Type, string>> = {
  BIGINT: '1',
  'DECIMAL(38,9)': '0.5',
  DOUBLE: '1e-12',
  BOOLEAN: 'true',
  TIMESTAMPTZ: '"2026-03-01T12:00:00Z"',
  VARCHAR: '"x"',
}

/** A documented field of the type, of a report of which no row has that field yet. */
const DOCUMENTED: Partial<Record<Type, readonly [Declaration, string, string]>> = {
  BIGINT: [events, 'attendees', 'attendees'],
  'DECIMAL(38,9)': [budgets, 'totalAmount', 'total_amount'],
  BOOLEAN: [events, 'isDeleted', 'is_deleted'],
  TIMESTAMPTZ: [events, 'endDate', 'end_date'],
  VARCHAR: [events, 'town', 'town'],
}

let opened: OpenWarehouse
beforeAll(async () => {
  opened = await aWarehouse()
})
afterAll(() => opened[Symbol.asyncDispose]())

let keys = 0
const misfitsOf = (key: string, table: string) =>
  texts(opened, 'tidemark.misfits', {
    columns: ['column', 'value', 'reason'],
    where: `key = '${key}' AND "table" = '${table}'`,
  })

/** Loads one row with the value, alone, and returns what is stored and recorded. */
async function stored(report: Declaration, place: Place, sent: string) {
  keys += 1
  const isBudget = report === budgets
  const id = isBudget ? 'budgetId' : 'eventId'
  const member = `"${place.field}":${sent}`
  await loadRows(
    opened,
    report,
    `[{"${id}":${keys},${place.collection === undefined ? member : `"${place.collection}":[{${member}}]`}}]`,
    // So that a number widens no column.
    { rules: { contract: 'freeze', excludePayload: false, settleMs: 30_000 } },
  )
  const key = `${keys}${isBudget ? ':EUR' : ''}${place.collection === undefined ? '' : ':0'}`
  const [row] = await texts(opened, `main.${place.table}`, {
    columns: [place.column, place.collection === undefined ? '_extra' : '_payload'],
    where: `${isBudget ? 'budget_id' : 'event_id'} = ${keys}`,
  })
  const asSent = JSON.stringify(row?.['_extra'] ?? row?.['_payload'])
  return { value: row?.[place.column], asSent, misfits: await misfitsOf(key, place.table) }
}

interface Place {
  readonly table: string
  readonly field: string
  readonly column: string
  readonly collection?: string
}

/** No declaration has a DATE or JSON column, and no field gets a new one in these places. */
const TESTED = (Object.entries(VALUES) as [Type, (typeof VALUES)[Type]][]).filter(([type]) => SEEDS[type] !== undefined)

describe.each(TESTED)('%s', (type, { examples, misfits, misfit }) => {
  const places: [string, Declaration, Place][] = []
  const documented = DOCUMENTED[type]
  if (documented !== undefined) {
    const [report, field, column] = documented
    places.push(['a documented column', report, { table: report.name, field, column }])
  }
  const field = `of${type.replace(/\W.*/, '').toLowerCase()}`
  if (SEEDS[type] !== undefined) {
    places.push(['a discovered column', events, { table: 'events', field, column: field }])
    places.push([
      'a column of a collection',
      events,
      { table: 'events__assignments', field, column: field, collection: 'assignments' },
    ])
  }
  beforeAll(async () => {
    const seed = SEEDS[type]
    if (seed === undefined) return
    await loadRows(opened, events, `[{"eventId":1000000,"${field}":${seed},"assignments":[{"${field}":${seed}}]}]`)
  })

  describe.each(places)('in %s', (_, report, place) => {
    it.each(examples.map(partsOf))('%s is stored as %s', async (sent, expected) => {
      expect(await stored(report, place, sent)).toMatchObject({ value: expected, misfits: [] })
    })

    it.each(misfits)('%s is a misfit', async (sent) => {
      const found = await stored(report, place, sent)
      expect(found.value).toBe(place.column === 'is_deleted' ? 'false' : null)
      expect(found.misfits).toEqual([{ column: place.column, value: sent, reason: misfit }])
      expect(found.asSent).toContain(JSON.stringify(sent).slice(1, -1))
    })

    it('an empty or blank text is NULL, and no misfit', async () => {
      if (type === 'VARCHAR' || place.column === 'is_deleted') return
      for (const sent of ['""', '"  "'])
        expect(await stored(report, place, sent)).toMatchObject({ value: null, misfits: [] })
    })
  })
})

const at = (minute: number) => ({ observedAt: plusMs(NOON, minute * 60_000) })

describe('a misfit', () => {
  it('does not hide the deletion beside it', async () => {
    await loadRows(opened, events, '[{"eventId":501,"endDate":"2026-01-01T00:00:00Z"}]', at(0))
    const loaded = await loadRows(opened, events, '[{"eventId":501,"endDate":"never","isDeleted":true}]', at(1))
    expect(loaded).toMatchObject({ updated: 1, deleted: 1, rejected: 0, misfits: 1 })
    expect(
      await texts(opened, 'main.events', { columns: ['is_deleted', 'end_date', '_extra'], where: 'event_id = 501' }),
    ).toEqual([{ is_deleted: 'true', end_date: null, _extra: '{"endDate":"never"}' }])
  })

  it('is listed until a later version of its row fits, with the times at which it was first and last seen', async () => {
    const listed = () =>
      texts(opened, 'tidemark.misfits', {
        columns: ['report', 'table', 'column', 'value', 'first_seen', 'last_seen'],
        where: `starts_with(key, '502')`,
      })
    await loadRows(
      opened,
      events,
      '[{"eventId":502,"attendees":"many","town":"A","assignments":[{"id":"a","ofbigint":"x"}]}]',
      at(0),
    )
    await loadRows(
      opened,
      events,
      '[{"eventId":502,"attendees":"more","town":"A","assignments":[{"id":"a","ofbigint":"x"}]}]',
      at(1),
    )
    const ofRow = {
      report: 'events',
      table: 'events',
      column: 'attendees',
      value: '"more"',
      first_seen: '2026-03-01 12:00:00+00',
    }
    const ofItem = {
      report: 'events',
      table: 'events__assignments',
      column: 'ofbigint',
      value: '"x"',
      first_seen: '2026-03-01 12:00:00+00',
    }
    expect(await listed()).toEqual([
      { ...ofRow, last_seen: '2026-03-01 12:01:00+00' },
      { ...ofItem, last_seen: '2026-03-01 12:01:00+00' },
    ])
    await loadRows(
      opened,
      events,
      '[{"eventId":502,"attendees":"more","town":"A","assignments":[{"id":"a","ofbigint":"x"}]}]',
      at(2),
    )
    expect((await listed()).map((each) => each['last_seen'])).toEqual([
      '2026-03-01 12:02:00+00',
      '2026-03-01 12:02:00+00',
    ])
    await loadRows(opened, events, '[{"eventId":502,"attendees":5,"town":"A"}]', at(3))
    expect(await listed()).toMatchObject([ofItem])
    await loadRows(opened, events, '[{"eventId":502,"attendees":5,"town":"B","assignments":[]}]', at(4))
    expect(await listed()).toEqual([])
  })

  it('of a column that the summary shape does not carry stays', async () => {
    await loadRows(
      opened,
      events,
      '[{"eventId":503,"attendees":"many","aggregateRecordModified":"2026-03-01T11:00:00Z"}]',
      at(0),
    )
    await loadRows(opened, events, '[{"eventId":503,"eventName":"x","modifiedAt":"2026-03-01T11:30:00Z"}]', at(1))
    expect(await misfitsOf('503', 'events')).toHaveLength(1)
  })

  it('is counted by its load, and does not keep other rows from being loaded as new', async () => {
    await using fresh = await aWarehouse()
    expect(
      await loadRows(fresh, budgets, '[{"budgetId":1,"totalAmount":"x"},{"budgetId":2,"totalAmount":"2"}]'),
    ).toMatchObject({
      inserted: 2,
      rejected: 0,
      misfits: 1,
    })
    expect(await texts(fresh, 'tidemark.loads', { columns: ['misfits'] })).toEqual([{ misfits: '1' }])
  })

  it('shows no value where a report keeps columns only', async () => {
    await loadRows(opened, events, '[{"eventId":504,"attendees":"secret"}]', {
      rules: { contract: 'evolve', excludePayload: true, settleMs: 30_000 },
    })
    expect(await misfitsOf('504', 'events')).toEqual([
      { column: 'attendees', value: null, reason: 'no 64-bit integer' },
    ])
    expect(await texts(opened, 'main.events', { columns: ['_extra'], where: 'event_id = 504' })).toEqual([
      { _extra: null },
    ])
  })
})

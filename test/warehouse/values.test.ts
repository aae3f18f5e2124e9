/** What each type takes is the same for documented, discovered and child columns (schema/values.ts). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { events } from '../../schema/reports/events.ts'
import { budgets } from '../../schema/reports/budgets.ts'
import { partsOf, VALUES } from '../../schema/values.ts'
import { plusMs } from '../../src/instant.ts'
import { aWarehouse, type Given, loadRows, NOON, type OpenWarehouse, texts } from '../support/warehouse.ts'

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

interface Place {
  readonly table: string
  readonly field: string
  readonly column: string
}

/** A documented field of the type, of a report of which no row has that field yet. */
const DOCUMENTED: Partial<Record<Type, Place>> = {
  BIGINT: { table: 'events', field: 'attendees', column: 'attendees' },
  'DECIMAL(38,9)': { table: 'budgets', field: 'totalAmount', column: 'total_amount' },
  BOOLEAN: { table: 'events', field: 'isDeleted', column: 'is_deleted' },
  TIMESTAMPTZ: { table: 'events', field: 'endDate', column: 'end_date' },
  VARCHAR: { table: 'events', field: 'town', column: 'town' },
}

const CHILDREN = 'events__assignments'

/** No declaration has a DATE or JSON column, and no field gets a new one in these places. */
const TESTED = (Object.entries(VALUES) as [Type, (typeof VALUES)[Type]][]).filter(([type]) => SEEDS[type] !== undefined)

const newField = (type: Type): string => `of${type.replace(/\W.*/, '').toLowerCase()}`

function placesOf(type: Type): [string, Place][] {
  const [field, documented] = [newField(type), DOCUMENTED[type]]
  const places: [string, Place][] = [
    ['a discovered column', { table: 'events', field, column: field }],
    ['a column of a collection', { table: CHILDREN, field, column: field }],
  ]
  return documented === undefined ? places : [['a documented column', documented], ...places]
}

/** The values that each place receives, one value in each load. Empty and blank text come last. */
const sentTo = ({ examples, misfits }: (typeof VALUES)[Type]): string[] => [
  ...examples.map((each) => partsOf(each)[0]),
  ...misfits,
  ...BLANKS,
]
const BLANKS = ['""', '"  "']

const PLACES = TESTED.flatMap(([type, rule]) => placesOf(type).map(([, place]) => ({ place, sent: sentTo(rule) })))
const LOADS = Math.max(...PLACES.map(({ sent }) => sent.length))

let opened: OpenWarehouse
/** The rows of each table after all loads. */
let found: Record<string, Record<string, string | null>[]>

beforeAll(async () => {
  opened = await aWarehouse()
  const seeds = TESTED.map(([type]) => `"${newField(type)}":${SEEDS[type]}`).join()
  await loadRows(opened, events, `[{"eventId":1000000,${seeds},"assignments":[{${seeds}}]}]`)
  for (let n = 0; n < LOADS; n += 1) await loadNth(n)
  found = { misfits: await texts(opened, 'tidemark.misfits') }
  for (const table of ['events', CHILDREN, 'budgets']) found[table] = await texts(opened, `main.${table}`)
})
afterAll(() => opened[Symbol.asyncDispose]())

/**
 * Loads one row of each report, in which each place has the nth of its values. A column has a single value in each
 * load, because a load casts in another way if all values of a column are known to fit.
 */
async function loadNth(n: number): Promise<void> {
  const members = (table: string) =>
    PLACES.filter(({ place, sent }) => place.table === table && n < sent.length)
      .map(({ place, sent }) => `,"${place.field}":${sent[n]}`)
      .join('')
  // So that a number widens no column.
  const frozen: Given = { rules: { contract: 'freeze', excludePayload: false, settleMs: 30_000 } }
  const items = `"assignments":[{"id":"a"${members(CHILDREN)}}]`
  await loadRows(opened, events, `[{"eventId":${n},${items}${members('events')}}]`, frozen)
  await loadRows(opened, budgets, `[{"budgetId":${n}${members('budgets')}}]`, frozen)
}

/** Returns what is stored and recorded of a value that the place received. */
function stored(type: Type, { table, field, column }: Place, sent: string) {
  const n = String(sentTo(VALUES[type]).indexOf(sent))
  const row = found[table]?.find((each) => (each['event_id'] ?? each['budget_id']) === n)
  const misfits = found['misfits']?.filter(
    (each) => each['table'] === table && each['column'] === column && each['key']?.split(':')[0] === n,
  )
  return {
    value: row?.[column],
    isKeptAsSent: row?.[table === CHILDREN ? '_payload' : '_extra']?.includes(`"${field}":${sent}`) ?? false,
    misfits: misfits?.map(({ value, reason }) => ({ value, reason })),
  }
}

describe.each(TESTED)('%s', (type, { examples, misfits, misfit }) => {
  describe.each(placesOf(type))('in %s', (_, place) => {
    it.each(examples.map(partsOf))('%s is stored as %s', (sent, expected) => {
      expect(stored(type, place, sent)).toMatchObject({ value: expected, misfits: [] })
    })

    it.each(misfits)('%s is a misfit', (sent) => {
      expect(stored(type, place, sent)).toEqual({
        value: place.column === 'is_deleted' ? 'false' : null,
        isKeptAsSent: true,
        misfits: [{ value: sent, reason: misfit }],
      })
    })

    it('an empty or blank text is NULL, and no misfit', () => {
      if (type === 'VARCHAR' || place.column === 'is_deleted') return
      for (const sent of BLANKS) expect(stored(type, place, sent)).toMatchObject({ value: null, misfits: [] })
    })
  })
})

const misfitsOf = (key: string, table: string) =>
  texts(opened, 'tidemark.misfits', {
    columns: ['column', 'value', 'reason'],
    where: `key = '${key}' AND "table" = '${table}'`,
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

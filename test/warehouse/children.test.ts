/** Collections land in child tables: keys, replacing, absence, deletion and return (product contract §4). */
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { events } from '../../schema/reports/events.ts'
import { plusMs } from '../../src/instant.ts'
import type { AroundStatement } from '../../src/warehouse/database/duckdb.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { aFolder, aWarehouse, loadRows, NOON, type OpenWarehouse, texts } from '../support/warehouse.ts'

let opened: OpenWarehouse
beforeAll(async () => {
  opened = await aWarehouse()
})
afterAll(() => opened[Symbol.asyncDispose]())

let nextId = 1

/** One event that is loaded again and again, a minute later each time. */
function anEvent() {
  const id = nextId++
  let minute = 0
  const table = (name: string, columns: readonly string[]) =>
    texts(opened, `main.events__${name}`, { columns, where: `event_id = ${id}` })
  return {
    id,
    load: (fields: object) => {
      minute += 1
      return loadRows(opened, events, [{ eventId: id, ...fields }], { observedAt: plusMs(NOON, minute * 60_000) })
    },
    table,
    /** `key:payload`, and `gone` behind the evidence of what is deleted. */
    rooms: async () => {
      const rows = await table('meeting_rooms', [
        '_position',
        '_child_key',
        '_payload',
        'is_deleted',
        '_delete_evidence',
      ])
      return rows.map(
        (row) =>
          `${row['_child_key']} ${row['_payload']}${row['is_deleted'] === 'true' ? ` gone by ${row['_delete_evidence']}` : ''}`,
      )
    },
  }
}

const keysOf = (rows: readonly Record<string, string | null>[]) => rows.map((row) => row['_child_key'])

describe('a child', () => {
  it.each([
    [
      'its id where all ids differ',
      [{ id: 7 }, { id: 'x' }, { id: 12345678901234567890n }],
      ['7', 'x', '12345678901234567890'],
    ],
    ['its position where none has an id', [{ a: 1 }, { a: 2 }], ['0', '1']],
    ['its position where two have the same id', [{ id: 1 }, { id: 1 }], ['0', '1']],
    ['its position where two ids look the same', [{ id: 1 }, { id: '1' }], ['0', '1']],
    [
      'a marked position beside others that have an id',
      [{ id: 5 }, { a: 1 }, { id: null }, { id: 6 }, { id: 6 }],
      ['5', '#1', '#2', '#3', '#4'],
    ],
    [
      'a position with more marks than an id beside it has',
      [{ id: '##x' }, { a: 1 }, { id: '#1' }],
      ['##x', '###1', '#1'],
    ],
    ['its position where it is no object', [7, 'text', null, [1]], ['0', '1', '2', '3']],
  ])('is known by %s', async (_, rooms, keys) => {
    const event = anEvent()
    const json = rooms.map((room) =>
      JSON.stringify(room, (_key, v: unknown) => (typeof v === 'bigint' ? Number(v) : v)),
    )
    await loadRows(
      opened,
      events,
      `[{"eventId":${event.id},"meetingRooms":[${json.join(',').replace('12345678901234567000', '12345678901234567890')}]}]`,
    )
    expect(keysOf(await event.table('meeting_rooms', ['_position', '_child_key']))).toEqual(keys)
  })

  it('has columns of its own for its scalars, JSON columns for what is nested, and its payload as sent', async () => {
    const event = anEvent()
    const room = { id: 1, roomName: 'A', seats: 12, open: '2026-01-02', layout: { rows: [1, 2.5] }, tags: ['x'] }
    await event.load({ assignments: [room] })
    const columns = [
      'id',
      'room_name',
      'seats',
      'open',
      'layout',
      'tags',
      '_payload',
      '_position',
      'is_deleted',
      '_extra',
    ]
    expect(await event.table('assignments', columns)).toEqual([
      {
        id: '1',
        room_name: 'A',
        seats: '12',
        open: '2026-01-02',
        layout: '{"rows":[1,2.5]}',
        tags: '["x"]',
        _payload: JSON.stringify(room),
        _position: '0',
        is_deleted: 'false',
        _extra: null,
      },
    ])
    await event.load({ assignments: [{ id: 1, seats: { min: 2 } }] })
    expect(await event.table('assignments', ['seats', 'room_name'])).toEqual([{ seats: null, room_name: null }])
  })

  it('that is a scalar keeps its place and value', async () => {
    const event = anEvent()
    await event.load({ meetingRooms: [7, 'a', null, true, 1e30, [1, [2]]] })
    expect(await event.rooms()).toEqual(['0 7', '1 "a"', '2 null', '3 true', '4 1e+30', '5 [1,[2]]'])
  })

  it('has typed values for more fields than its lines have columns, and texts with every escape', async () => {
    const event = anEvent()
    const many = Object.fromEntries(Array.from({ length: 140 }, (_, n) => [`wide${n}`, n]))
    await event.load({ operationsRecord: { ...many, said: 'a\tb\n"c" \\ é \u0007', none: '', list: ['x'] } })
    const columns = ['wide0', 'wide139', 'said', 'none', 'list']
    expect(await event.table('operations_record', columns)).toEqual([
      { wide0: '0', wide139: '139', said: 'a\tb\n"c" \\ é \u0007', none: '', list: '["x"]' },
    ])
  })

  it('has its decimals exact, however many digits they have', async () => {
    const event = anEvent()
    const sent = [
      '0.1',
      '-0.000000001',
      '1386551802.930513494',
      '-99999999999999999.999999999',
      '12345678901234567890.5',
    ]
    const rooms = sent.map((price) => `{"id":${Math.abs(Number.parseInt(price.slice(-3), 10))},"price":${price}}`)
    await loadRows(opened, events, `[{"eventId":${event.id},"accommodations":[${rooms.join(',')}]}]`)
    const rows = await event.table('accommodations', ['_position', 'price'])
    expect(rows.map(({ price }) => Number(price))).toEqual(sent.map(Number))
    expect(rows.map(({ price }) => price?.replace(/0+$/, ''))).toEqual(sent)
  })
})

describe('the children of a row', () => {
  it('are written where they changed, left alone where they are equal, marked where they left', async () => {
    const event = anEvent()
    const first = await event.load({
      meetingRooms: [
        { id: 1, v: 1 },
        { id: 2, v: 1 },
        { id: 3, v: 1 },
      ],
    })
    const second = await event.load({
      meetingRooms: [
        { id: 1, v: 1 },
        { id: 2, v: 2 },
        { id: 4, v: 1 },
      ],
    })
    expect([first.childrenWritten, second.childrenWritten]).toEqual([3, 2])
    expect(await event.table('meeting_rooms', ['id', 'v', 'is_deleted', '_delete_evidence', '_load_id'])).toEqual([
      { id: '1', v: '1', is_deleted: 'false', _delete_evidence: null, _load_id: String(first.loadId) },
      { id: '2', v: '2', is_deleted: 'false', _delete_evidence: null, _load_id: String(second.loadId) },
      { id: '3', v: '1', is_deleted: 'true', _delete_evidence: 'absence', _load_id: String(second.loadId) },
      { id: '4', v: '1', is_deleted: 'false', _delete_evidence: null, _load_id: String(second.loadId) },
    ])
  })

  it('of several collections share statements, and the table of an unchanged collection is not written', async () => {
    await using folder = await aFolder()
    const path = `${folder.path}/warehouse.duckdb`
    const statements: string[] = []
    const around: AroundStatement = (sql, run) => {
      statements.push(...sql.split(';'))
      return run()
    }
    await using warehouse = await Warehouse.open({ path, memory: '512MB', around })
    const place = { warehouse, path, folder: folder.path, [Symbol.asyncDispose]: () => Promise.resolve() }
    const load = (v: number, minute: number) =>
      loadRows(place, events, [{ eventId: 1, meetingRooms: [{ id: 1, v }], assignments: [{ id: 1, v: 1 }] }], {
        observedAt: plusMs(NOON, minute * 60_000),
      })
    await load(1, 0)
    statements.length = 0
    expect((await load(2, 1)).childrenWritten).toBe(1)
    const found = (part: string) => statements.filter((each) => each.includes(part)).length
    expect([found('read_csv('), found('TEMP TABLE stored_children'), found('INSERT INTO tidemark.replaced')]).toEqual([
      1, 1, 2,
    ])
    const writes = ['INSERT INTO', 'DELETE FROM'].map((verb) =>
      ['meeting_rooms', 'assignments'].map((table) => found(`${verb} main."events__${table}"`)),
    )
    expect(writes).toEqual([
      [1, 0],
      [1, 0],
    ])
  })

  it('that share a key, as an older version left them, become one with the next change', async () => {
    const event = anEvent()
    await event.load({ meetingRooms: [{ id: 1, v: 1 }] })
    await opened.warehouse.rows(
      `INSERT INTO main.events__meeting_rooms SELECT * REPLACE (0::UBIGINT AS _row_hash) FROM main.events__meeting_rooms WHERE event_id = ${event.id}`,
    )
    await event.load({ town: 'Bath', meetingRooms: [{ id: 1, v: 1 }] })
    expect(await event.rooms()).toEqual(['1 {"id":1,"v":1}'])
  })

  it('stay when the row does not carry their collection', async () => {
    const event = anEvent()
    await event.load({ meetingRooms: [{ id: 1 }], permissions: [{ id: 2 }] })
    await event.load({ town: 'Bath', permissions: [] })
    expect(await event.rooms()).toEqual(['1 {"id":1}'])
    expect(await event.table('permissions', ['is_deleted'])).toEqual([{ is_deleted: 'true' }])
  })

  it.each([
    ['an empty collection', []],
    ['null', null],
  ])('are all gone when it is %s, and come back undeleted', { tags: 'long' }, async (_, empty) => {
    const event = anEvent()
    await event.load({ meetingRooms: [{ id: 1 }, { id: 2 }] })
    await event.load({ meetingRooms: empty })
    expect(await event.rooms()).toEqual(['1 {"id":1} gone by absence', '2 {"id":2} gone by absence'])
    const gone = await event.table('meeting_rooms', ['_deleted_seen_at', '_load_id'])
    await event.load({ meetingRooms: empty, town: 'elsewhere' })
    expect(await event.table('meeting_rooms', ['_deleted_seen_at', '_load_id'])).toEqual(gone)
    await event.load({ meetingRooms: [{ id: 2 }] })
    expect(await event.rooms()).toEqual(['1 {"id":1} gone by absence', '2 {"id":2}'])
    expect(await event.table('meeting_rooms', ['_child_key', '_deleted_seen_at'])).toMatchObject([
      { _child_key: '1', _deleted_seen_at: gone[0]?.['_deleted_seen_at'] },
      { _child_key: '2', _deleted_seen_at: null },
    ])
  })

  it('keep the flag that they carry themselves, and when it was first seen', async () => {
    const event = anEvent()
    await event.load({
      meetingRooms: [
        { id: 1, isDeleted: true, v: 1 },
        { id: 2, isDeleted: false },
        { id: 3, isDeleted: null },
      ],
    })
    const columns = ['id', 'is_deleted', '_delete_evidence', '_deleted_seen_at']
    const first = await event.table('meeting_rooms', columns)
    expect(first.map((row) => [row['is_deleted'], row['_delete_evidence']])).toEqual([
      ['true', 'flag'],
      ['false', null],
      ['false', null],
    ])
    await event.load({
      meetingRooms: [
        { id: 1, isDeleted: true, v: 2 },
        { id: 2, isDeleted: true },
      ],
    })
    const second = await event.table('meeting_rooms', columns)
    expect(second[0]).toEqual(first[0])
    expect(second.map((row) => row['_delete_evidence'])).toEqual(['flag', 'flag', 'absence'])
    await event.load({ meetingRooms: [{ id: 1, isDeleted: false, v: 2 }] })
    expect((await event.table('meeting_rooms', columns))[0]).toMatchObject({
      is_deleted: 'false',
      _delete_evidence: null,
      _deleted_seen_at: null,
    })
    const types = await opened.warehouse.rows(`SELECT 1 FROM tidemark.columns WHERE field = 'isDeleted'`)
    expect(types).toEqual([])
  })

  it('keep their flags when their parent is deleted and comes back', async () => {
    const event = anEvent()
    await event.load({ isDeleted: false, meetingRooms: [{ id: 1 }, { id: 2, isDeleted: true }] })
    const before = await event.rooms()
    await event.load({ isDeleted: true, meetingRooms: [{ id: 1 }, { id: 2, isDeleted: true }] })
    expect(await event.rooms()).toEqual(before)
    await event.load({ isDeleted: false })
    expect(await event.rooms()).toEqual(before)
  })

  it('are not touched by an older version of their parent', async () => {
    const event = anEvent()
    await event.load({ meetingRooms: [{ id: 1, v: 'new' }] })
    await loadRows(opened, events, [{ eventId: event.id, meetingRooms: [{ id: 1, v: 'old' }, { id: 2 }] }], {
      observedAt: NOON,
    })
    expect(await event.rooms()).toEqual(['1 {"id":1,"v":"new"}'])
  })

  it('are those of the newest row where a load brings several of one key', async () => {
    const id = nextId++
    const row = (stamp: string, v: number) => ({
      eventId: id,
      aggregateRecordModified: stamp,
      meetingRooms: [{ id: v }],
    })
    await loadRows(opened, events, [row('2026-03-01T11:00:00Z', 2), row('2026-03-01T10:00:00Z', 1)])
    expect(await texts(opened, 'main.events__meeting_rooms', { columns: ['id'], where: `event_id = ${id}` })).toEqual([
      { id: '2' },
    ])
  })

  it('equal the last collection that was sent, whatever came before', async () => {
    const aRoom = fc.record(
      {
        id: fc.option(fc.nat(3), { nil: undefined }),
        v: fc.nat(2),
        isDeleted: fc.option(fc.boolean(), { nil: undefined }),
      },
      { requiredKeys: ['v'] },
    )
    const aCollection = fc.option(fc.array(aRoom, { maxLength: 4 }))
    const anHistory = fc.array(fc.option(aCollection, { nil: undefined }), { minLength: 1, maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(fc.array(anHistory, { minLength: 1, maxLength: EVENTS_A_RUN }), async (histories) => {
        const first = nextId
        nextId += histories.length
        const steps = Math.max(...histories.map(({ length }) => length))
        for (let step = 0; step < steps; step += 1) {
          const rows = histories.flatMap((sent, n) =>
            step < sent.length
              ? [{ eventId: first + n, meetingRooms: sent[step], town: sent.indexOf(sent[step]) % 2 ? 'a' : 'b' }]
              : [],
          )
          await loadRows(opened, events, rows, { observedAt: plusMs(NOON, (step + 1) * 60_000) })
        }
        const columns = ['event_id', '_position', '_child_key', '_payload', 'is_deleted', '_delete_evidence']
        const where = `event_id BETWEEN ${first} AND ${nextId - 1}`
        const found = await texts(opened, 'main.events__meeting_rooms', { columns, where })
        for (const [n, sent] of histories.entries()) {
          const last = sent.findLast((rooms) => rooms !== undefined) ?? []
          const rows = found.filter((row) => row['event_id'] === `${first + n}`)
          // One that says isDeleted itself is deleted whether it is still there or left.
          const live = rows.filter((row) => row['is_deleted'] === 'false')
          expect(live.map((row) => JSON.parse(row['_payload'] ?? '') as unknown)).toEqual(
            (JSON.parse(JSON.stringify(last)) as typeof last).filter(({ isDeleted }) => isDeleted !== true),
          )
          expect(new Set(keysOf(rows)).size).toBe(rows.length)
        }
      }),
      { numRuns: 8 },
    )
  })
})

/** The property above loads the histories of several events together, because a load takes as long with one row. */
const EVENTS_A_RUN = 8

/** The collections of the property below: the field, its table, and the items that a row can send. */
const COLLECTIONS = ['meetingRooms', 'assignments', 'commission'] as const
const TABLES = { meetingRooms: 'meeting_rooms', assignments: 'assignments', commission: 'commission' }
const ROWS = 3

/** Children and misfits of rows, without what differs between rows of equal content. */
async function childrenOf(collection: keyof typeof TABLES, firstId: number) {
  const table = `events__${TABLES[collection]}`
  const columns = [
    '_position',
    '_child_key',
    '_payload',
    'vv',
    'ww',
    'is_deleted',
    '_delete_evidence',
    '_deleted_seen_at',
  ]
  const places = Array.from({ length: ROWS }, (_, row) => row)
  const ofRow = async (row: number) => {
    const id = firstId + row
    const misfits = `SELECT "column", value FROM tidemark.misfits WHERE "table" = '${table}' AND key LIKE '${id}:%' ORDER BY ALL`
    const children = await texts(opened, `main.${table}`, { columns, where: `event_id = ${id}` })
    return { children, misfits: await opened.warehouse.rows(misfits) }
  }
  return await Promise.all(places.map(ofRow))
}

describe('the collections of one load', () => {
  const anItem = fc.record(
    {
      id: fc.nat(2),
      vv: fc.constantFrom<unknown>(1, 2, 'text'),
      ww: fc.constantFrom<unknown>('a', 'b', 7),
      isDeleted: fc.boolean(),
    },
    { requiredKeys: [] },
  )
  const sent = fc.option(fc.array(anItem, { maxLength: 3 }), { nil: undefined })
  const aRow = fc.record({ meetingRooms: sent, assignments: sent, commission: fc.option(anItem, { nil: undefined }) })
  const steps = fc.array(fc.array(aRow, { minLength: ROWS, maxLength: ROWS }), { minLength: 2, maxLength: 4 })

  it('end as those of loads with one collection each', { tags: 'long' }, async () => {
    // The types of these columns exist before, so that other values are misfits.
    const typed = [{ id: 9, vv: 1, ww: 'a' }]
    await anEvent().load({ meetingRooms: typed, assignments: typed, commission: { vv: 1, ww: 'a' } })
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        const [together, ...alone] = [0, 1, 2, 3].map((group) => nextId + group * ROWS) as [number, ...number[]]
        nextId += 4 * ROWS
        for (const [step, rows] of history.entries()) {
          const observedAt = plusMs(NOON, step * 60_000)
          const load = (firstId: number, fieldsOf: (row: (typeof rows)[number]) => object) =>
            loadRows(
              opened,
              events,
              rows.map((row, place) => ({ eventId: firstId + place, town: `${step}`, ...fieldsOf(row) })),
              { observedAt },
            )
          await load(together, (row) => row)
          for (const [place, collection] of COLLECTIONS.entries())
            await load(alone[place] as number, (row) => ({ [collection]: row[collection] }))
        }
        for (const [place, collection] of COLLECTIONS.entries())
          expect(await childrenOf(collection, together)).toEqual(await childrenOf(collection, alone[place] as number))
      }),
      // To shrink a failing history would take minutes.
      { numRuns: 15, endOnFailure: true },
    )
  })
})

const commission = (event: ReturnType<typeof anEvent>) =>
  event.table('commission', ['_child_key', '_payload', 'is_deleted'])

describe('an object collection', () => {
  it('holds at most one row, also when its id changes or it becomes null', async () => {
    const event = anEvent()
    await event.load({ commission: { id: 5, rate: 1.25 } })
    expect(await commission(event)).toEqual([
      { _child_key: '5', _payload: '{"id":5,"rate":1.25}', is_deleted: 'false' },
    ])
    await event.load({ commission: { id: 6, rate: 1.25 } })
    expect(await commission(event)).toEqual([
      { _child_key: '6', _payload: '{"id":6,"rate":1.25}', is_deleted: 'false' },
    ])
    await event.load({ commission: null })
    expect(await commission(event)).toEqual([{ _child_key: '6', _payload: '{"id":6,"rate":1.25}', is_deleted: 'true' }])
    await event.load({ commission: { rate: 2 } })
    expect(await commission(event)).toEqual([{ _child_key: '0', _payload: '{"rate":2}', is_deleted: 'false' }])
    await event.load({ town: 'Bath' })
    expect(await commission(event)).toHaveLength(1)
  })

  it('has a key for each where an array of several comes, and the array of one takes their place', async () => {
    const event = anEvent()
    await event.load({ commission: [{ id: 5 }, { id: 5, rate: 1 }] })
    expect(keysOf(await commission(event))).toEqual(['0', '1'])
    await event.load({ commission: [{ id: 5, rate: 1 }] })
    expect(keysOf(await commission(event))).toEqual(['5'])
  })

  it('may come as an array, and an array collection as a single object', async () => {
    const event = anEvent()
    await event.load({ commission: [{ rate: 2 }], meetingRooms: { id: 1 } })
    expect(await commission(event)).toEqual([{ _child_key: '0', _payload: '{"rate":2}', is_deleted: 'false' }])
    expect(await event.rooms()).toEqual(['1 {"id":1}'])
  })
})

describe('a collection that is a scalar', () => {
  it('goes to _extra and does not change the children', async () => {
    const event = anEvent()
    await event.load({ meetingRooms: [{ id: 1 }], commission: { id: 2 } })
    await event.load({ meetingRooms: 'none', commission: 0.1 })
    expect(await event.rooms()).toEqual(['1 {"id":1}'])
    expect(await texts(opened, 'main.events', { columns: ['_extra'], where: `event_id = ${event.id}` })).toEqual([
      { _extra: '{"meetingRooms":"none","commission":0.1}' },
    ])
  })
})

/** `tidemark schema --retype`: a discovered column gets another type on purpose, and every value is read again. */
import { afterEach, describe, expect, it } from 'vitest'
import { events } from '../../schema/reports/events.ts'
import { type ColumnType, chosenTypes, partsOf, VALUES } from '../../schema/values.ts'
import { plusMs } from '../../src/instant.ts'
import { NO_RULES } from '../../src/warehouse/load/loadInput.ts'
import { aWarehouse, loadRows, NOON, type OpenWarehouse, texts } from '../support/warehouse.ts'

let opened: OpenWarehouse
afterEach(() => opened[Symbol.asyncDispose]())

const at = (minute: number) => ({ observedAt: plusMs(NOON, minute * 60_000) })
const retype = (column: string, type: ColumnType, excludesPayload = false) =>
  opened.warehouse.retypeColumn({ column, type, excludesPayload: () => excludesPayload })
const stored = async (columns: string[], table = 'main.events') => {
  const rows = await texts(opened, table, { columns: ['event_id', ...columns] })
  return rows
    .toSorted((a, b) => Number(a['event_id']) - Number(b['event_id']))
    .map((row) => {
      const { event_id: _id, ...rest } = row
      return rest
    })
}
const listed = () => texts(opened, 'tidemark.misfits', { columns: ['table', 'column', 'key', 'value', 'reason'] })

const rooms = (key: number, ...rates: string[]) =>
  `[{"eventId":${key},"assignments":[${rates.map((rate, n) => `{"id":"${n}","rate":${rate}}`).join(',')}]}]`

/** Stores the first value alone, so that the column gets a type, and then the others. Keys are 1, 2 and so on. */
async function load(field: string, ...values: string[]) {
  const rows = values.map(
    (value, n) => `{"eventId":${n + 1},"${field}":${value},"other":{"n":0.12345678901234567890,"x":null}}`,
  )
  await loadRows(opened, events, `[${rows[0]}]`)
  await loadRows(opened, events, `[${rows.slice(1).join(',')}]`, at(1))
}

describe('a column that gets another type', () => {
  it('takes the values that did not fit before, and their misfits leave the list', async () => {
    opened = await aWarehouse()
    await load('code', '1', '"n/a"', '12345678901234567.1234567891', '"7"')
    await loadRows(opened, events, '[{"eventId":5,"code":"x"}]', at(2))
    expect(await listed()).toHaveLength(2)
    expect(await retype('events.code', 'VARCHAR')).toEqual({
      column: 'events.code',
      from: 'DECIMAL(38,9)',
      to: 'VARCHAR',
      values: 5,
      fitted: 2,
      misfits: 0,
    })
    const other = '{"other":{"n":0.12345678901234567890,"x":null}}'
    expect(await stored(['code', '_extra'])).toEqual([
      { code: '1', _extra: other },
      { code: 'n/a', _extra: other },
      { code: '12345678901234567.1234567891', _extra: other },
      { code: '7', _extra: other },
      { code: 'x', _extra: null },
    ])
    expect(await listed()).toEqual([])
    expect(
      await opened.warehouse.rows(
        "SELECT table_name, column_name, old_type, new_type FROM tidemark.schema_changes WHERE change = 'retyped'",
      ),
    ).toEqual([{ table_name: 'events', column_name: 'code', old_type: 'DECIMAL(38,9)', new_type: 'VARCHAR' }])
  })

  it('gives up the values that do not fit: they go to _extra as sent and are listed', async () => {
    opened = await aWarehouse()
    await load('code', '"x"', '" 42 "', '"n/a"', '1.5', '""', '{"a":1.12345678901234567890}', 'null')
    expect(await retype('events.code', 'BIGINT')).toMatchObject({ values: 1, fitted: 0, misfits: 4 })
    expect(await stored(['code', '_extra'])).toEqual([
      { code: null, _extra: '{"other":{"n":0.12345678901234567890,"x":null},"code":"x"}' },
      { code: '42', _extra: '{"other":{"n":0.12345678901234567890,"x":null}}' },
      { code: null, _extra: '{"other":{"n":0.12345678901234567890,"x":null},"code":"n/a"}' },
      { code: null, _extra: '{"other":{"n":0.12345678901234567890,"x":null},"code":"1.5"}' },
      { code: null, _extra: '{"other":{"n":0.12345678901234567890,"x":null}}' },
      { code: null, _extra: '{"other":{"n":0.12345678901234567890,"x":null},"code":{"a":1.12345678901234567890}}' },
      { code: null, _extra: '{"other":{"n":0.12345678901234567890,"x":null}}' },
    ])
    expect(await listed()).toEqual(
      [
        ['1', '"x"'],
        ['3', '"n/a"'],
        ['4', '"1.5"'],
        ['6', '{"a":1.12345678901234567890}'],
      ].map(([key, value]) => ({ table: 'events', column: 'code', key, value, reason: VALUES.BIGINT.misfit })),
    )
    // And back: nothing was lost.
    expect(await retype('events.code', 'VARCHAR')).toMatchObject({ fitted: 3, misfits: 1 })
    expect((await stored(['code'])).map(({ code }) => code)).toEqual(['x', '42', 'n/a', '1.5', null, null, null])
  })

  it('keeps its type in later loads, also where a column of integers would widen', async () => {
    opened = await aWarehouse()
    await load('code', '0.5', '3')
    await retype('events.code', 'BIGINT')
    await loadRows(opened, events, '[{"eventId":9,"code":2.5},{"eventId":10,"code":4}]', at(3))
    expect((await stored(['code'])).map(({ code }) => code)).toEqual([null, '3', null, '4'])
    expect((await listed()).map(({ key, value }) => [key, value])).toEqual([
      ['1', '0.5'],
      ['9', '2.5'],
    ])
  })

  it('of a collection is read again from _payload', async () => {
    opened = await aWarehouse()
    await loadRows(opened, events, rooms(1, '1', '2.50', '"n/a"'))
    await loadRows(opened, events, rooms(2, '4', '5'), at(1))
    await loadRows(opened, events, rooms(2, '4'), at(2))
    expect(await retype('events__assignments.rate', 'DECIMAL(38,9)')).toMatchObject({ from: 'VARCHAR', misfits: 1 })
    expect(await stored(['_child_key', 'rate', 'is_deleted', '_payload'], 'main.events__assignments')).toEqual([
      { _child_key: '0', rate: '1.000000000', is_deleted: 'false', _payload: '{"id":"0","rate":1}' },
      { _child_key: '1', rate: '2.500000000', is_deleted: 'false', _payload: '{"id":"1","rate":2.50}' },
      { _child_key: '2', rate: null, is_deleted: 'false', _payload: '{"id":"2","rate":"n/a"}' },
      { _child_key: '0', rate: '4.000000000', is_deleted: 'false', _payload: '{"id":"0","rate":4}' },
      { _child_key: '1', rate: '5.000000000', is_deleted: 'true', _payload: '{"id":"1","rate":5}' },
    ])
    expect(await listed()).toMatchObject([{ table: 'events__assignments', column: 'rate', key: '1:2', value: '"n/a"' }])
    await retype('events__assignments.rate', 'VARCHAR')
    const texts = await stored(['_child_key', 'rate'], 'main.events__assignments')
    expect(texts.map(({ rate }) => rate)).toEqual(['1', '2.50', 'n/a', '4', '5'])
  })

  it('changes in closed versions too', async () => {
    opened = await aWarehouse()
    await opened.warehouse.recordReportStates([
      { report: 'events', enabled: true, offReason: undefined, history: { on: true, now: NOON } },
    ])
    await load('code', '1', '2')
    await loadRows(opened, events, '[{"eventId":1,"code":3}]', at(2))
    await retype('events.code', 'VARCHAR')
    expect((await stored(['code'], 'history.events')).map(({ code }) => code)).toEqual(['1', '3', '2'])
  })
})

describe.each(chosenTypes)('a column that becomes %s and then text again', (type) => {
  it('has the same values as before, or equal ones', async () => {
    opened = await aWarehouse()
    const examples = [...VALUES[type].examples.map((each) => partsOf(each)[0]), ...VALUES[type].misfits]
    await load('code', '"x"', ...examples)
    const before = await listed()
    if (type !== 'VARCHAR') await retype('events.code', type)
    const asLoaded = await stored(['code'])
    expect(asLoaded.slice(1, 1 + VALUES[type].examples.length).every(({ code }) => code !== null)).toBe(true)
    // A later load of the same rows agrees with what was read again.
    const rows = examples.map((sent, n) => `{"eventId":${n + 2},"code":${sent},"town":"new"}`)
    await loadRows(opened, events, `[${rows.join(',')}]`, { ...at(9), rules: NO_RULES })
    expect((await stored(['code'])).slice(1)).toEqual(asLoaded.slice(1))
    if (type !== 'VARCHAR') await retype('events.code', 'VARCHAR')
    expect(await listed()).toEqual(before)
  })
})

describe('a change of type is refused', () => {
  it.each([
    ['of an unknown table', 'nothing.code', 'there is no table nothing'],
    ['of an unknown collection', 'events__nothing.code', 'there is no table events__nothing'],
    ['of an unknown column', 'events.nothing', 'there is no column events.nothing'],
    ['of a key column', 'events.event_id', 'the type of events.event_id is fixed'],
    ['of a documented column', 'events.attendees', 'the type of events.attendees is fixed'],
    ['of a system column', 'events__assignments._payload', 'the type of events__assignments._payload is fixed'],
    ['to the type that the column has', 'events.code', 'the type of events.code is BIGINT already'],
  ])('%s', async (_, column, message) => {
    opened = await aWarehouse()
    await load('code', '1', '2')
    await expect(retype(column, 'BIGINT')).rejects.toMatchObject({
      code: 'USAGE_INVALID',
      message: expect.stringContaining(message),
    })
  })

  it('if values would be lost, because rows are stored in columns only', async () => {
    opened = await aWarehouse()
    await loadRows(opened, events, '[{"eventId":1,"code":"x"}]', { rules: { ...NO_RULES, excludePayload: true } })
    await expect(retype('events.code', 'BIGINT', true)).rejects.toMatchObject({
      code: 'USAGE_INVALID',
      message: expect.stringContaining('events.code: values (1) would be lost: no 64-bit integer'),
    })
    expect(await stored(['code'])).toEqual([{ code: 'x' }])
  })
})

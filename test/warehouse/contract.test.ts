/**
 * `schema_contract`: what becomes of fields and types that the service brings anew, in rows and in the items of
 * collections.
 */
import { describe, expect, it } from 'vitest'
import { reportOf } from '../../schema/index.ts'
import type { SchemaContract } from '../../src/plan/columns.ts'
import { aTide } from '../support/tide.ts'
import { aWarehouse, loadRows, type OpenWarehouse, texts } from '../support/warehouse.ts'

const enquiries = reportOf('enquiries')

const under = (contract: SchemaContract) => ({ rules: { contract, excludePayload: false, settleMs: 30_000 } })

/** A table that knows the fields `size`, `day` and `price`, in the row and in its taxes. */
async function anEstablished(): Promise<OpenWarehouse> {
  const opened = await aWarehouse()
  const known = { size: 1, day: '2026-01-02', price: 1.5, rate: 1e3, open: true }
  const row = `{"enquiryId":1,"size":1,"day":"2026-01-02","price":1.5,"rate":1e3,"open":true,"taxes":[${JSON.stringify({ id: 1, ...known })}]}`
  await loadRows(opened, enquiries, `[${row}]`)
  return opened
}

const columnsOf = ({ warehouse }: OpenWarehouse) =>
  warehouse.rows('SELECT table_name, field, type FROM tidemark.columns ORDER BY ALL')

const ROUNDED = { price: '0.123456789', rate: '1.2345678901234568e+16' }
const MISFITS = '"size":1.25,"day":[7],"price":0.12345678901234567890,"rate":12345678901234567.5,"open":"perhaps"'

describe('schema_contract: freeze', () => {
  it('changes no column; new fields and misfits stay in _extra and _payload with every digit, recorded once', async () => {
    await using opened = await anEstablished()
    const before = await columnsOf(opened)
    const sent = `[{"enquiryId":2,${MISFITS},"fresh":"new","taxes":[{"id":1,${MISFITS},"fresh":"new"}]}]`
    const first = await loadRows(opened, enquiries, sent, under('freeze'))
    expect(await columnsOf(opened)).toEqual(before)
    const [row] = await texts(opened, 'main.enquiries', { where: 'enquiry_id = 2' })
    expect(row).toMatchObject({ size: null, open: null, ...ROUNDED })
    expect(row?.['_extra']).toBe(`{${MISFITS},"fresh":"new"}`)
    const [tax] = await texts(opened, 'main.enquiries__taxes', { where: 'enquiry_id = 2' })
    expect(tax).toMatchObject({ size: null, open: null, price: ROUNDED.price, rate: null })
    expect(tax?.['_payload']).toBe(`{"id":1,${MISFITS},"fresh":"new"}`)
    expect(first.changes.map(({ change }) => change.change)).toEqual(Array.from({ length: 5 }, () => 'frozen'))
    const again = await loadRows(opened, enquiries, sent.replace('2,', '3,'), under('freeze'))
    expect(again.changes).toEqual([])
    const told = await opened.warehouse.rows(
      "SELECT DISTINCT column_name AS field FROM tidemark.schema_changes WHERE change = 'frozen' ORDER BY 1",
    )
    expect(told.map((each) => (each as { field: string }).field)).toEqual(['fresh', 'rate', 'size'])
  })

  it('still takes what fits the columns that are there', async () => {
    await using opened = await anEstablished()
    await loadRows(opened, enquiries, [{ enquiryId: 2, size: 7, day: '2026-05-06', open: false }], under('freeze'))
    const [row] = await texts(opened, 'main.enquiries', { where: 'enquiry_id = 2' })
    expect(row).toMatchObject({ size: '7', day: '2026-05-06', open: 'false', _extra: null })
  })
})

/** Items whose texts look like lists and objects, and one that is an object, in a field that holds texts. */
const texty = (id: number, note: unknown) => ({ enquiryId: id, taxes: [{ id: 1, note }] })
const LIKE_NESTED = [texty(2, '[VIP] guest'), texty(3, '{"x":1}'), texty(4, { x: 1 }), texty(5, ['y'])]

describe("an item's text that looks like a list or an object", () => {
  it('stays in its column where columns are frozen, and what is one does not come there', async () => {
    await using opened = await aWarehouse()
    await loadRows(opened, enquiries, [texty(1, 'plain')])
    await loadRows(opened, enquiries, LIKE_NESTED, under('freeze'))
    const held = await texts(opened, 'main.enquiries__taxes', { columns: ['enquiry_id', 'note'] })
    expect(held.map((row) => row['note'])).toEqual(['plain', '[VIP] guest', '{"x":1}', null, null])
  })

  it('is a misfit only where it is a list or an object', async () => {
    await using opened = await aWarehouse()
    await loadRows(opened, enquiries, [texty(1, 'plain')])
    await loadRows(opened, enquiries, LIKE_NESTED)
    expect(await texts(opened, 'tidemark.misfits', { columns: ['key', 'value', 'reason'] })).toEqual([
      { key: '4:1', value: '{"x":1}', reason: 'no text' },
      { key: '5:1', value: '["y"]', reason: 'no text' },
    ])
  })
})

describe('schema_contract: reject', () => {
  it('rejects a row that carries a field without a column, whole, and the row with such an item', async () => {
    await using opened = await anEstablished()
    const good = '{"enquiryId":2,"size":7,"taxes":[{"id":1,"size":7}]}'
    const row = `{"enquiryId":3,"fresh":1,"status":4}`
    const item = `{"enquiryId":4,"status":4,"taxes":[{"id":1,"size":2},{"id":2,"fresh":1}]}`
    const loaded = await loadRows(opened, enquiries, `[${good},${row},${item}]`, under('reject'))
    expect(loaded).toMatchObject({ inserted: 1, rejected: 2, changes: [] })
    const reason = 'the field fresh has no column (schema_contract: reject)'
    const refused = await texts(opened, 'tidemark.rejected_rows', { columns: ['key', 'reason', 'row'] })
    expect(refused).toEqual([
      { key: '3', reason, row },
      { key: '4', reason: `taxes: ${reason}`, row: item },
    ])
  })

  it.each(['"size":"big"', '"open":7', '"price":"much"'])(
    'loads a row with the misfit %s',
    { tags: 'long' },
    async (field) => {
      await using opened = await anEstablished()
      const row = `{"enquiryId":3,${field},"taxes":[{"id":1,${field}}]}`
      expect(await loadRows(opened, enquiries, `[${row}]`, under('reject'))).toMatchObject({
        inserted: 1,
        rejected: 0,
        misfits: 2,
      })
    },
  )

  it('lets pass what has no column under any contract: nested values of rows, and null', async () => {
    await using opened = await anEstablished()
    const row = '{"enquiryId":2,"nested":{"a":1},"nothing":null,"taxes":[{"id":1,"nothing":null}]}'
    expect(await loadRows(opened, enquiries, `[${row}]`, under('reject'))).toMatchObject({ inserted: 1, rejected: 0 })
    expect(await texts(opened, 'main.enquiries', { columns: ['_extra'], where: 'enquiry_id = 2' })).toEqual([
      { _extra: '{"nested":{"a":1}}' },
    ])
  })
})

describe('a contract that the service breaks', () => {
  it('is reported by the run, loses nothing, and the rows are loaded once the contract allows them', {
    tags: 'long',
  }, async () => {
    await using tide = await aTide({ settings: { reports: { events: {} } } })
    await tide.sync('events')
    const { events: report } = tide.config.reports
    const as = (contract: SchemaContract) => {
      const reports = { ...tide.config.reports, events: { ...report, contract } }
      Object.assign(tide.context, { settings: { ...tide.context.settings, reports } })
    }
    as('reject')
    const { world } = tide.sandbox
    const [first, second] = world.liveKeys('events') as [number, number]
    world.putRow('events', first, { brandNew: '"value"' })
    world.edit('events', second)
    const [run] = await tide.sync('events')
    expect(run?.figures).toMatchObject({ rejected: 1, schemaChanges: 0 })
    const reasons = await tide.warehouse.rows('SELECT key, reason FROM tidemark.rejected_rows')
    expect(reasons).toEqual([
      { key: String(first), reason: 'the field brandNew has no column (schema_contract: reject)' },
    ])
    as('evolve')
    const { retryRejected } = await import('../../src/sync/retryRejected.ts')
    expect(await retryRejected(tide.context, 'events')).toMatchObject({ tried: 1, loaded: 1, rejected: 0 })
    const [row] = await tide.warehouse.rows<{ new: string }>(
      `SELECT brand_new AS new FROM events WHERE event_id = ${first}`,
    )
    expect(row?.new).toBe('value')
  })
})

/** The declaration of a report of one's own changes after its table was filled. */
import { expect, it } from 'vitest'
import { type ReportName, registerReports, reports } from '../../schema/index.ts'
import {
  dateTime,
  decimal,
  type Declaration,
  defineReport,
  type Field,
  integer,
  json,
  manyOf,
  string,
} from '../../schema/report.ts'
import { plusMs } from '../../src/instant.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { aFolder, loadRows, NOON, type OpenWarehouse, texts } from '../support/warehouse.ts'
import { copyWarehouse } from '../support/templates.ts'

const orders = (fields: Record<string, Field>, ...flags: string[]) =>
  defineReport({
    name: 'orders',
    meaning: 'Orders',
    path: '/Orders',
    answer: 'envelope',
    key: ['order_id'],
    fields: { orderId: integer('Identifier'), ...fields },
    window: { since: 'since', until: 'until', required: false },
    expand: manyOf(...flags),
  })

/** Opens the warehouse with this declaration, as the next start after a change of its file does. */
async function openedWith(folder: string, report: ReturnType<typeof orders>): Promise<OpenWarehouse> {
  const names: readonly string[] = reports.map(({ name }) => name)
  const place = names.indexOf('orders')
  if (place === -1) registerReports([report])
  else reports[place] = report as Declaration as (typeof reports)[number]
  const path = `${folder}/warehouse.duckdb`
  const warehouse = await Warehouse.open({ path, memory: '512MB', threads: 1 })
  return { warehouse, folder, path, [Symbol.asyncDispose]: () => warehouse.close() }
}

const sent = (id: number, more: object = {}) => ({
  orderId: id,
  guests: 7,
  note: 'window seat',
  menu: { course: 1.5 },
  placedAt: '2026-03-01T10:00:00',
  ...more,
})
const NEW = { observedAt: plusMs(NOON, 3_600_000) }
const HISTORY = {
  report: 'orders' as ReportName,
  enabled: true,
  offReason: undefined,
  history: { on: true, now: NOON },
}

it('fields that are declared later keep the values of stored rows, also in the history', async () => {
  await using folder = await aFolder()
  await copyWarehouse(`${folder.path}/warehouse.duckdb`)
  {
    await using before = await openedWith(folder.path, orders({}))
    await before.warehouse.recordReportStates([HISTORY])
    await loadRows(before, orders({}), [sent(1), sent(2, { guests: 8 })])
  }
  const declared = orders(
    {
      guests: decimal('Guests'),
      note: string('Note'),
      menu: json('Menu'),
      placedAt: dateTime('Placed'),
      total: decimal('Total'),
    },
    'dishes',
  )
  await using opened = await openedWith(folder.path, declared)
  const columns = ['order_id', 'guests', 'note', 'menu', 'placed_at', 'total']
  const old = { note: 'window seat', menu: null, placed_at: '2026-03-01 10:00:00+00', total: null }
  const rows = [
    { ...old, order_id: '1', guests: '7.000000000' },
    { ...old, order_id: '2', guests: '8.000000000' },
  ]
  expect(await texts(opened, 'orders', { columns })).toEqual(rows)
  await loadRows(
    opened,
    declared,
    [sent(1), sent(2, { guests: 9, note: 'corner', total: 12.25, dishes: [{ id: 1 }] })],
    NEW,
  )
  // The row that did not change is written again, because it fills new columns.
  const menu = '{"course":1.5}'
  expect(await texts(opened, 'current.orders', { columns })).toEqual([
    { ...rows[0], menu },
    { ...rows[1], menu, guests: '9.000000000', note: 'corner', total: '12.250000000' },
  ])
  expect(await texts(opened, 'history.orders', { columns, where: '_valid_to IS NOT NULL' })).toEqual(rows)
  expect(await texts(opened, 'orders__dishes', { columns: ['order_id'] })).toEqual([{ order_id: '2' }])
  expect(await texts(opened, 'tidemark.columns', { where: `table_name = 'orders'` })).toEqual([])
})

it.each([
  ['note', integer('Number of the note'), /2 values of "note" do not fit BIGINT/],
  ['price', integer('Whole price'), /2 values of "price" do not fit BIGINT/],
] as const)(
  'a declared type that stored values of %s do not fit is refused, and loses no value',
  async (field, type, why) => {
    await using folder = await aFolder()
    await copyWarehouse(`${folder.path}/warehouse.duckdb`)
    {
      await using before = await openedWith(folder.path, orders({}))
      await loadRows(before, orders({}), [sent(1, { price: 7.5 }), sent(2, { price: 8.25 })])
    }
    await expect(openedWith(folder.path, orders({ [field]: type }))).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(why),
      cure: expect.stringMatching(/earlier type \((?:VARCHAR|DECIMAL\(38,9\))\) again, or string/),
    })
    await using opened = await openedWith(folder.path, orders({ note: string('Note') }))
    expect(await texts(opened, 'orders', { columns: ['note', 'price'] })).toEqual([
      { note: 'window seat', price: '7.500000000' },
      { note: 'window seat', price: '8.250000000' },
    ])
  },
)

it('a field that is no longer declared keeps its column', async () => {
  await using folder = await aFolder()
  await copyWarehouse(`${folder.path}/warehouse.duckdb`)
  {
    const both = orders({ placedAt: dateTime('Placed'), guests: integer('Guests') })
    await using before = await openedWith(folder.path, both)
    await loadRows(before, both, [sent(1), sent(2)])
  }
  const fewer = orders({ note: string('Note') })
  await using opened = await openedWith(folder.path, fewer)
  await loadRows(opened, fewer, [sent(2, { guests: 9.5, placedAt: '2026-03-02T10:00:00' })], NEW)
  expect(await texts(opened, 'orders', { columns: ['guests', 'placed_at', 'note'] })).toEqual([
    { guests: '7.000000000', placed_at: '2026-03-01 10:00:00+00', note: 'window seat' },
    { guests: '9.500000000', placed_at: '2026-03-02 10:00:00+00', note: 'window seat' },
  ])
})

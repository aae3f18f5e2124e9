/** Reports of a declaration file pass the same test as the reports of the specification. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ReportName } from '../../schema/index.ts'
import { dateTime, decimal, defineReport, integer, many, one, string } from '../../schema/report.ts'
import type { WorldReport } from '../../src/sandbox/server.ts'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import { differences } from '../../src/cli/certify/compare.ts'
import { roomKeys } from '../support/roomKeys.ts'
import { aTide } from '../support/tide.ts'

/** Names of parameters and of the envelope's fields that no report of the specification uses. */
const cateringOrders = defineReport({
  name: 'catering_orders',
  meaning: 'Catering orders',
  path: '/v2/Catering/Orders',
  answer: 'envelope',
  scope: 'catering.read',
  key: ['order_id'],
  fields: {
    orderId: integer('Unique order identifier'),
    caterer: string('Name of the caterer'),
    orderedAt: dateTime('When the order was made'),
    changedAt: dateTime('When the order was last changed'),
    totalAmount: decimal('Total amount in the currency of the order'),
  },
  newerBy: ['changed_at'],
  window: { since: 'changedFrom', until: 'changedTo', required: false },
  created: { since: 'orderedFrom', until: 'orderedTo' },
  pages: { number: 'page', size: 'perPage', items: 'orders', total: 'found' },
  deletes: 'absence',
  expand: { dishes: many('dishes'), withCaterer: one('contact') },
  filters: { eventId: 'integer' },
})
const declared = [cateringOrders, roomKeys]

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tidemark-own-'))
  for (const each of declared)
    await writeFile(path.join(folder, `${each.name}.mjs`), `export const report = ${JSON.stringify(each)}`)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const aTideWithOwn = () =>
  aTide({
    sandbox: { rows: 60, declared },
    settings: { reports_from: folder, defaults: { page_size: 25 } },
  })

describe.each(declared.map(({ name }) => ({ name })))('the report $name of a declaration file', ({ name }) => {
  const [report, world] = [name as ReportName, name as WorldReport]

  it('lands every row exactly once, and brings edits, new rows and changed collections', async () => {
    await using tide = await aTideWithOwn()
    await tide.sync(report)
    expect(await differences(tide.warehouse, tide.sandbox.world, { report: world })).toEqual([])
    const [first, second] = tide.sandbox.world.liveKeys(world) as [number, number]
    tide.sandbox.world.edit(world, first)
    if (name === 'catering_orders') tide.sandbox.world.addChild(world, second)
    tide.sandbox.world.insert(world)
    await tide.sync(report)
    expect(await differences(tide.warehouse, tide.sandbox.world, { report: world })).toEqual([])
  })

  it('rewrites nothing when the same window is read again', async () => {
    await using tide = await aTideWithOwn()
    await tide.sync(report)
    await tide.warehouse.rows('DELETE FROM tidemark.marks')
    const [again] = await tide.sync(report)
    expect(again?.figures).toMatchObject({ inserted: 0, updated: 0, deleted: 0, childrenWritten: 0 })
  })

  it('marks a deleted row', async () => {
    await using tide = await aTideWithOwn()
    await tide.sync(report)
    const [key] = tide.sandbox.world.liveKeys(world) as [number]
    tide.sandbox.world.softDelete(world, key)
    const column = name === 'room_keys' ? 'key_id' : 'order_id'
    for (let run = 0; run < 3; run += 1) {
      tide.clock.pass(60_000)
      await tide.sync(report)
    }
    expect(
      await tide.warehouse.rows(`SELECT is_deleted, _delete_evidence AS by FROM ${name} WHERE ${column} = ${key}`),
    ).toEqual([{ is_deleted: true, by: name === 'room_keys' ? 'flag' : 'absence' }])
  })
})

it('comments a column of a declaration file again at the next publication, after its description has changed', async () => {
  await using tide = await aTideWithOwn()
  const comments = async () => {
    await tide.warehouse.publish(tide.config.published)
    await using copy = await Database.open(tide.config.published, { readOnly: true, memory: '256MB' })
    const columns = await copy.rows<{ comment: string }>(
      `SELECT comment FROM duckdb_columns() WHERE table_name = 'room_keys' AND column_name = 'room' ORDER BY schema_name`,
    )
    return columns.map(({ comment }) => comment)
  }
  expect(await comments()).toEqual(['Name of the room', 'Name of the room'])
  await tide.warehouse.rows(`COMMENT ON COLUMN main.room_keys.room IS 'an older description'`)
  await tide.sync('room_keys' as ReportName)
  expect(await comments()).toEqual(['Name of the room', 'Name of the room'])
})

/** Reports of a declaration file pass the same test as the reports of the specification. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ReportName, reportNames, reports } from '../../schema/index.ts'
import { boolean, dateTime, decimal, defineReport, integer, many, one, string } from '../../schema/report.ts'
import { ENDPOINTS, WORLD_REPORTS, type WorldReport } from '../../src/sandbox/server.ts'
import { differences } from '../support/equality.ts'
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
const roomKeys = defineReport({
  name: 'room_keys',
  meaning: 'Keys of rooms',
  path: '/v2/Rooms/Keys',
  answer: 'array',
  key: ['key_id'],
  fields: {
    keyId: integer('Unique key identifier'),
    room: string('Name of the room'),
    changedAt: dateTime('When the key was last changed'),
    isGone: boolean('Whether the key is deleted'),
  },
  newerBy: ['changed_at'],
  window: { since: 'since', until: 'until', required: true },
  deletes: 'flag',
  deletedFlag: 'isGone',
  includeDeleted: 'withGone',
})
const declared = [cateringOrders, roomKeys]
const declaredNames = new Set<string>(declared.map(({ name }) => name))
const nameOf = (each: unknown): string =>
  typeof each === 'string' ? each : String((each as { name?: string }).name ?? (each as { report?: string }).report)

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tidemark-own-'))
  for (const each of declared)
    await writeFile(path.join(folder, `${each.name}.mjs`), `export const report = ${JSON.stringify(each)}`)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

afterAll(() => {
  // Test files share the modules of a process, so the lists of reports become as they were.
  for (const list of [reports, reportNames, WORLD_REPORTS, ENDPOINTS] as unknown[][])
    list.splice(0, list.length, ...list.filter((each) => !declaredNames.has(nameOf(each))))
})

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

/**
 * A worker whose disk is full, and has room again later: it goes on by itself, and nothing is lost.
 * @module-tag long
 */
import { rm } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { fill, mayMount, type SmallDisk, aSmallDisk } from '../support/smallDisk.ts'
import { aWorkshop, hasSaid, linesOf, stop, until } from './support.ts'
import { Database } from '../../src/warehouse/database/duckdb.ts'

describe.skipIf(!(await mayMount()))('a worker on a full disk', () => {
  it('goes on by itself once there is room', { timeout: 300_000 }, async () => {
    await using disk = (await aSmallDisk(64)) as SmallDisk
    const warehouse = `${disk.path}/warehouse.duckdb`
    await using shop = await aWorkshop({ store: 'redis', settings: { warehouse } })
    const worker = shop.worker()
    await until(() => hasSaid(worker, 'published'))
    await fill(`${disk.path}/filler`)
    shop.sandbox.setChangesPerSecond(100)
    await until(() => linesOf(worker).some(({ code }) => code === 'DISK_FULL'))
    shop.sandbox.setChangesPerSecond(0)
    await rm(`${disk.path}/filler`)
    disk.grow(512)
    const said = linesOf(worker).length
    await until(() =>
      linesOf(worker)
        .slice(said)
        .some(({ report, state }) => report === 'events' && state === 'done'),
    )
    expect(await shop.run('sync', 'events')).toMatchObject({ code: 0 })
    expect(await stop(worker)).toMatchObject({ code: 0 })
    await using held = await Database.open(warehouse, { readOnly: true, memory: '256MB' })
    const [counted] = await held.rows<{ n: number }>('SELECT count(*)::INTEGER AS n FROM main.events')
    expect(counted?.n).toBe(shop.sandbox.world.keys('events').length)
  })
})

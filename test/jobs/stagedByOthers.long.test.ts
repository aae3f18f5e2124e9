/**
 * A worker does not pull into the staging directory before that was cleared.
 * @module-tag long
 */
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { systemClock as clock } from '../../src/clock.ts'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import { aWorkshop, hasSaid, OWNS, stop, until } from './support.ts'

const RARELY = { defaults: { every: '1h', reconcile_every: 'never', page_size: 20 } }
/** In which a worker would ask for a window or two. */
const A_WHILE_MS = 3_000

it('a worker alone pulls no windows before it owns the warehouse, and all of them then', async () => {
  await using shop = await aWorkshop({ store: 'embedded', sandbox: { rows: 400 }, settings: RARELY })
  const first = shop.worker()
  await until(() => hasSaid(first, 'published'))
  shop.sandbox.setFaults(['slow@events:2000'])
  const command = shop.start(['backfill', 'events'])
  await until(async () => ((await shop.status()).queues?.['windows']?.['waiting'] ?? 0) > 0)
  first.kill('SIGKILL')
  await Promise.all([first.ended, command.ended])
  const holder = await Database.open(join(shop.folder, 'data/warehouse.duckdb'), { memory: '128MB' })
  const next = shop.worker()
  await until(() => hasSaid(next, 'standing by'))
  shop.sandbox.setFaults([])
  // What the killed worker asked is counted once its slow answer is sent.
  await clock.sleep(A_WHILE_MS)
  const asked = () => shop.sandbox.requests.count('/reportingapi/v1/EventReport/GetEventsReport')
  const before = asked()
  await clock.sleep(A_WHILE_MS)
  expect(asked()).toBe(before)
  await holder.close()
  await until(() => hasSaid(next, OWNS))
  await until(() => hasSaid(next, 'events (backfill): '))
  const { stderr, code } = await stop(next)
  expect(code).toBe(0)
  expect(stderr).toMatch(/"kind":"backfill","state":"done"/)
})

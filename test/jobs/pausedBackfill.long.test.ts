/**
 * A backfill whose report is refused in the middle of it: it waits, and goes on by itself.
 * @module-tag long
 */
import { expect, it } from 'vitest'
import type { Running } from '../cli/support.ts'
import { aWorkshop, hasSaid, held, linesOf, OWNS, stop, until, type Workshop } from './support.ts'

const RARELY = { defaults: { every: '1h', reconcile_every: 'never', page_size: 10 } }

const statesOf = (shop: Workshop) =>
  held<{ state: string }>(shop, 'SELECT state FROM tidemark.backfills ORDER BY requested_at')

const isRead = (worker: Running) =>
  linesOf(worker).some(({ msg, state }) => msg.startsWith('events (backfill): ') && state === 'done')

const waitsForIt = async (shop: Workshop) =>
  / backfill \S+ waits until events is resumed\n/.test((await shop.run('status')).stdout)

it('that is refused in the middle waits like a paused one, and reads the rest afterwards', async () => {
  await using shop = await aWorkshop({ store: 'redis', sandbox: { rows: 200 }, settings: RARELY })
  const worker = shop.worker()
  await until(() => hasSaid(worker, OWNS))
  await shop.run('sync', 'events')
  shop.sandbox.setFaults(['403@events'])
  expect(await shop.run('backfill', 'events')).toMatchObject({ code: 1 })
  await until(() => waitsForIt(shop))
  expect(worker.said()).not.toContain('backfill events: given up')
  shop.sandbox.setFaults([])
  await shop.run('resume', 'events')
  await until(() => isRead(worker))
  await stop(worker)
  expect(await statesOf(shop)).toEqual([{ state: 'done' }])
})

/** A backfill whose report is paused before it began: it waits, and goes on by itself. */
import { expect, it } from 'vitest'
import type { Running } from '../cli/support.ts'
import { aWorkshop, hasSaid, held, linesOf, stop, until, type Workshop } from './support.ts'

const LONG = { timeout: 300_000 }
const RARELY = { defaults: { every: '1h', reconcile_every: 'never', page_size: 10 } }

const statesOf = (shop: Workshop) =>
  held<{ state: string }>(shop, 'SELECT state FROM tidemark.backfills ORDER BY requested_at')

const isRead = (worker: Running) =>
  linesOf(worker).some(({ msg, state }) => msg.startsWith('events (backfill): ') && state === 'done')

const waitsForIt = async (shop: Workshop) =>
  / backfill \S+ waits until events is resumed\n/.test((await shop.run('status')).stdout)

it('that is asked for while its report is paused waits, is shown so, and goes on once it is resumed', {
  ...LONG,
  tags: 'long',
}, async () => {
  await using shop = await aWorkshop({ store: 'redis', settings: RARELY })
  const worker = shop.worker()
  await until(() => hasSaid(worker, 'published'))
  await shop.run('pause', 'events')
  const asked = await shop.run('backfill', 'events')
  expect(asked.code).toBe(1)
  expect(asked.stdout).toMatch(/paused by an operator; the backfill waits.*\(REPORT_PAUSED\)/)
  expect(asked.stdout).toContain('what to do: Run: tidemark resume events')
  await until(() => waitsForIt(shop))
  expect(worker.said()).not.toContain('backfill events: given up')
  const before = (await shop.status()).waiting?.map(({ id }) => id) ?? []
  await shop.run('backfill', 'events', '--from', '2020-01-01')
  await until(async () => (await shop.status()).waiting?.length === 2)
  const other = (await shop.status()).waiting?.find(({ id }) => !before.includes(id))?.id ?? ''
  const what = 'a backfill of events that had not begun\n'
  expect(await shop.run('cancel', other)).toMatchObject({ code: 0, stdout: `cancelled: ${what}` })
  expect(await shop.run('cancel', other)).toMatchObject({ code: 0, stdout: `cancelled already: ${what}` })
  await shop.run('resume', 'events')
  await until(() => isRead(worker))
  await stop(worker)
  expect(await statesOf(shop)).toEqual([{ state: 'done' }])
})

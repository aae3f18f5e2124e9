/**
 * What `tidemark status` says while a worker on the embedded queue runs that does not own the warehouse.
 * @module-tag long
 */
import { expect, it } from 'vitest'
import { aWorkshop, hasSaid, stop, until, type Workshop } from './support.ts'

const saysSo = async (shop: Workshop, text: string) => (await shop.run('status')).stdout.includes(text)

it('names a worker on the embedded queue without the role load', async () => {
  await using shop = await aWorkshop({ store: 'embedded' })
  expect(await shop.run('sync', 'events')).toMatchObject({ code: 0 })
  const worker = shop.worker('--roles', 'schedule,console')
  await until(() => hasSaid(worker, 'the console listens'))
  await until(() => saysSo(shop, ' s ago that it lives, but none owns the warehouse'))
  await stop(worker)
  expect(await saysSo(shop, '\nNo worker runs, so nothing is read by itself')).toBe(true)
})

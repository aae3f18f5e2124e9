/** What `tidemark status` says while workers run and none of them owns the warehouse. */
import { expect, it } from 'vitest'
import { openStore } from '../../jobs/stores/openStore.ts'
import { systemClock } from '../../src/clock.ts'
import { aWorkshop, stop, until, type Workshop } from './support.ts'

const saysSo = async (shop: Workshop, text: string) => (await shop.run('status')).stdout.includes(text)

it('lists pullers and a scheduler, and that no worker owns the warehouse', { tags: 'long' }, async () => {
  await using shop = await aWorkshop({ store: 'redis' })
  expect(await shop.run('sync', 'events')).toMatchObject({ code: 0 })
  expect(await saysSo(shop, '\nNo worker runs, so nothing is read by itself')).toBe(true)
  const pullers = [shop.worker('--roles', 'pull'), shop.worker('--roles', 'pull,schedule')]
  await until(() =>
    saysSo(
      shop,
      '\nThere run 2 workers with the role pull and 1 worker with the role schedule. If a worker has just started, it opens',
    ),
  )
  expect(await saysSo(shop, '\nNo worker owns the warehouse, so nothing is read by itself')).toBe(true)
  for (const puller of pullers) await stop(puller)
  await until(() => saysSo(shop, '\nNo worker runs, so nothing is read by itself'))
})

it('does not deny a worker that is too busy to answer', { tags: 'long' }, async () => {
  await using shop = await aWorkshop({ store: 'redis' })
  expect(await shop.run('sync', 'events')).toMatchObject({ code: 0 })
  await using store = await openStore(shop.redis?.url ?? '', { directory: '', clock: systemClock })
  const { promise: stopped, resolve: stopBusy } = Promise.withResolvers<undefined>()
  await store.worker('control', () => stopped).waitUntilReady()
  await until(async () => (await store.workersOf('control')) === 1)
  const { stdout } = await shop.run('status')
  stopBusy(undefined)
  expect(stdout).toContain('A worker runs, but it did not answer: it is busy')
  expect(stdout).not.toContain('No worker')
  expect(stdout).toContain('events')
})

it('says that the queue does not answer, and reads the warehouse', { tags: 'long' }, async () => {
  await using shop = await aWorkshop({ store: 'redis' })
  expect(await shop.run('sync', 'events')).toMatchObject({ code: 0 })
  shop.redis?.freeze()
  const { stdout } = await shop.run('status')
  expect(stdout).toMatch(
    /^the queue store redis:.* cannot be reached: .*\nA worker may run\. This is the last known state\.$/m,
  )
  expect(stdout).toContain('events')
})

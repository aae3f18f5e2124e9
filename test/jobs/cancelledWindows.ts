/** Cancels a backfill while its windows are read, and expects that whoever reads them stops. */
import { expect } from 'vitest'
import { openStore } from '../../jobs/stores/openStore.ts'
import { systemClock } from '../../src/clock.ts'
import { aWorkshop, hasSaid, type Store, stop, until, type Workshop } from './support.ts'

const RARELY = { defaults: { every: '1h', reconcile_every: 'never', page_size: 10 } }

/** A process of its own that pulls them, where there can be one; until it is there the owner would. */
async function aPuller(shop: Workshop) {
  if (shop.redis === undefined) return []
  const puller = shop.worker('--roles', 'pull')
  await using store = await openStore(shop.redis.url, { directory: '', clock: systemClock })
  await until(async () => (await store.workersOf('windows')) === 1)
  return [puller]
}

export async function cancelReadWindows(store: Store): Promise<void> {
  await using shop = await aWorkshop({ store, sandbox: { rows: 200 }, settings: RARELY })
  const owner = shop.worker(...(store === 'redis' ? ['--roles', 'load,schedule'] : []))
  await until(() => hasSaid(owner, 'published'))
  const pullers = await aPuller(shop)
  const readNow = async () => (await shop.status()).queues?.['windows']?.['active']
  // Their answers come long after this test.
  shop.sandbox.setFaults(['slow@events:900000'])
  const asked = shop.start(['backfill', 'events'])
  await until(async () => (await readNow()) === 2)
  const [run] = (await shop.status()).running ?? []
  expect(await shop.run('cancel', run?.runId ?? '')).toMatchObject({ code: 0 })
  expect(await asked.ended).toMatchObject({ code: 1 })
  await until(async () => (await readNow()) === 0)
  for (const worker of [...pullers, owner]) {
    await stop(worker)
    expect(worker.said()).not.toContain('given up')
  }
}

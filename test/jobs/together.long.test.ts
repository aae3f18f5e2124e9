/**
 * Ten workers that start at the same moment, where the service grants three tokens a minute: one token serves them all.
 * @module-tag long
 */
import { expect, it } from 'vitest'
import { openStore } from '../../jobs/stores/openStore.ts'
import { systemClock } from '../../src/clock.ts'
import { aWorkshop, hasSaid, OWNS, until, whileAllRun } from './support.ts'

const TOKEN_PATH = '/authenticationapi/Account/RequestToken'
const WORKERS = 10

it('ten workers that start together stay within three tokens a minute', async () => {
  const settings = { defaults: { every: '1h', reconcile_every: 'never', page_size: 10 } }
  const sandbox = { rows: 200, tokenRequestsPerMinute: 3 }
  await using shop = await aWorkshop({ store: 'redis', sandbox, settings })
  const workers = Array.from({ length: WORKERS }, () => shop.worker())
  await using store = await openStore(shop.redis?.url ?? '', { directory: '', clock: systemClock })
  const hasOwner = () => workers.some((worker) => hasSaid(worker, OWNS))
  const haveCome = until(async () => (await store.workersOf('windows')) === WORKERS && hasOwner())
  await whileAllRun(workers, haveCome)
  expect(await shop.run('backfill', 'events')).toMatchObject({ code: 0 })
  const asked = shop.sandbox.requests.list().filter(({ path }) => path === TOKEN_PATH)
  expect(asked.map(({ status }) => status)).toEqual(asked.map(() => 200))
  expect(asked.length).toBeLessThanOrEqual(3)
})

/**
 * What the service refused is forgiven by an operator in one process, and no other goes on believing it: neither one that
 * pulls windows, nor one that takes over the warehouse later, nor one that shares the books of a lake.
 */
import { writeFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { openStore } from '../../jobs/stores/openStore.ts'
import { systemClock } from '../../src/clock.ts'
import { syncAll } from '../../src/sync/syncAll.ts'
import { SECRET_TEXT } from '../cli/support.ts'
import { aTide } from '../support/tide.ts'
import { aWorkshop, hasSaid, held, linesOf, stop, until } from './support.ts'

const LONG = { timeout: 300_000 }
const RARELY = { defaults: { every: '1h', reconcile_every: 'never', page_size: 10 } }

it('a puller that met a refusal asks again once an operator has resumed the report', {
  ...LONG,
  tags: 'long',
}, async () => {
  await using shop = await aWorkshop({ store: 'redis', sandbox: { rows: 100 }, settings: RARELY })
  const owner = shop.worker('--roles', 'load,schedule')
  await until(() => hasSaid(owner, 'published'))
  const puller = shop.worker('--roles', 'pull')
  await using store = await openStore(shop.redis?.url ?? '', { directory: '', clock: systemClock })
  await until(async () => (await store.workersOf('windows')) === 1)
  shop.sandbox.setFaults(['403@events'])
  expect(await shop.run('backfill', 'events')).toMatchObject({ code: 1 })
  shop.sandbox.setFaults([])
  expect(await shop.run('resume', 'events')).toMatchObject({ code: 0 })
  expect(await shop.run('backfill', 'events')).toMatchObject({ code: 0 })
  await stop(puller)
  await stop(owner)
  const backfills = await held(shop, 'SELECT DISTINCT state FROM tidemark.backfills')
  expect(backfills).toEqual([{ state: 'done' }])
})

it('a process asks again about a report that another one has resumed in the books', async () => {
  await using tide = await aTide({ sandbox: { faults: ['403@events'] } })
  expect(await syncAll(tide.context, ['events'])).toMatchObject([{ error: { code: 'REPORT_FORBIDDEN' } }])
  tide.sandbox.setFaults([])
  expect(await syncAll(tide.context, ['events'])).toMatchObject([{ state: 'paused' }])
  await tide.warehouse.resume(['events'])
  expect(await syncAll(tide.context, ['events'])).toMatchObject([{ state: 'done' }])
})

it('a worker with a wrong secret runs again after its cure was followed', { ...LONG, tags: 'long' }, async () => {
  const env = { REPORTING_CLIENT_SECRET: undefined, REPORTING_CLIENT_SECRET_FILE: 'secret' }
  await using shop = await aWorkshop({ store: 'redis', env, settings: RARELY })
  await writeFile(`${shop.folder}/secret`, 'not-the-secret')
  const worker = shop.worker()
  await until(() => linesOf(worker).some(({ code }) => code === 'CREDENTIALS_REFUSED'))
  expect((await shop.run('status')).stdout).toMatch(
    /what to do: .*uses a changed file of the secret by itself.*; then run: tidemark check/,
  )
  await writeFile(`${shop.folder}/secret`, SECRET_TEXT)
  expect((await shop.run('check')).stdout).toMatch(/resumed .*its secret unless that is in a file/)
  await until(() => linesOf(worker).some(({ report, state }) => report === 'events' && state === 'done'))
  expect(hasSaid(worker, 'the file with the client secret has changed')).toBe(true)
  await stop(worker)
  expect(worker.said()).not.toContain('not-the-secret')
  expect(worker.said()).not.toContain('marked-hunter2')
})

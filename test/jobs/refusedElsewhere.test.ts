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
import { aTideWithoutCollections as aTide } from '../support/tide.ts'
import { aWorkshop, hasSaid, held, linesOf, reportsOnly, stop, until } from './support.ts'

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

it('a worker with a wrong secret shows one card for all reports, and runs by itself once the file is corrected', {
  ...LONG,
  tags: 'long',
}, async () => {
  const env = {
    REPORTING_CLIENT_SECRET: undefined,
    REPORTING_CLIENT_SECRET_FILE: 'secret',
    TIDEMARK_CONSOLE_TOKEN: 'marked-console-token',
  }
  const settings = {
    defaults: { ...RARELY.defaults, every: '2s' },
    reports: reportsOnly({ events: {}, enquiries: {} }),
  }
  await using shop = await aWorkshop({ store: 'redis', env, settings })
  await writeFile(`${shop.folder}/secret`, 'not-the-secret')
  const worker = shop.worker()
  const cards = async () => {
    const line = linesOf(worker).find(({ msg }) => msg.includes('the console listens'))
    const { address = '' } = (line ?? {}) as { readonly address?: string }
    const headers = { authorization: 'Bearer marked-console-token' }
    const response = address === '' ? undefined : await fetch(`${address}/api/overview`, { headers })
    return (
      (await response?.json()) as
        | { attention: { reports: string[]; title: string; next_try: string | null }[] }
        | undefined
    )?.attention
  }
  await until(async () => (await cards())?.some(({ title }) => title.includes('paused')) ?? false)
  expect(await cards()).toMatchObject([
    { reports: ['events', 'enquiries'], title: '2 reports are paused', action: 'resume' },
  ])
  await writeFile(`${shop.folder}/secret`, SECRET_TEXT)
  await until(async () => (await cards())?.length === 0)
  await until(() => linesOf(worker).some(({ report, state }) => report === 'enquiries' && state === 'done'))
  shop.sandbox.setFaults(['5xx@events:400'])
  await until(async () => (await cards())?.some(({ next_try: next }) => next !== null) ?? false)
  expect(await cards()).toMatchObject([{ reports: ['events'], title: 'events failed', action: 'sync' }])
  await stop(worker)
  expect(worker.said()).not.toContain('not-the-secret')
})

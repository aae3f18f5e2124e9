/**
 * Commands on another machine: a folder of their own with no warehouse and no socket, only the same configuration and
 * the same Redis. What they ask goes through the queue; and rejected rows are loaded again by the worker that owns
 * them.
 */
import { existsSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { aPlace, SECRET_TEXT } from '../cli/support.ts'
import { aWorkshop, hasSaid, held, linesOf, OWNS, stop, until } from './support.ts'

const RARELY = { defaults: { every: '1h', reconcile_every: 'never' } }

it('a command elsewhere does its work through the queue', { tags: 'long' }, async () => {
  await using shop = await aWorkshop({ store: 'redis', settings: RARELY })
  const worker = shop.worker()
  await until(() => hasSaid(worker, 'published'))
  await using elsewhere = await aPlace({ env: { REPORTING_CLIENT_SECRET: SECRET_TEXT } })
  await copyFile(`${shop.folder}/tidemark.yaml`, `${elsewhere.folder}/tidemark.yaml`)
  shop.sandbox.world.edit('events', shop.sandbox.world.keys('events')[0] ?? 0)
  const synced = JSON.parse((await elsewhere.run('sync', '--json')).stdout) as { reports: object[] }
  expect(synced.reports).toContainEqual(expect.objectContaining({ report: 'events', state: 'done', changed: 1 }))
  expect(await elsewhere.run('pause', 'events')).toMatchObject({ code: 0, stdout: 'paused: events\n' })
  expect(JSON.parse((await elsewhere.run('status', '--json')).stdout)).toMatchObject({
    from: 'worker',
    reports: expect.arrayContaining([expect.objectContaining({ report: 'events', state: 'paused' })]) as unknown,
  })
  expect(await elsewhere.run('sync', 'events')).toMatchObject({ code: 1 })
  expect(await elsewhere.run('resume', 'events')).toMatchObject({ code: 0 })
  const reconciled = JSON.parse((await elsewhere.run('reconcile', 'events', '--json')).stdout) as object
  expect(reconciled).toMatchObject({ reports: [{ report: 'events', found: { rows: 40 } }] })
  expect(await elsewhere.run('backfill', 'events', '--from', '2020-01-01')).toMatchObject({ code: 0 })
  shop.sandbox.setFaults(['slow@events:20000'])
  const slow = elsewhere.start(['sync', 'events', '--json'])
  await until(() => linesOf(worker).length > 0)
  const running = async () =>
    (JSON.parse((await elsewhere.run('status', '--json')).stdout) as { running: { runId: string }[] }).running
  await until(async () => (await running()).length === 1)
  const [run] = await running()
  expect(await elsewhere.run('cancel', run?.runId ?? '')).toMatchObject({ code: 0, stdout: 'cancelled: a run\n' })
  expect((await slow.ended).code).toBe(1)
  expect(existsSync(`${elsewhere.folder}/data`)).toBe(false)
  expect(await stop(worker)).toMatchObject({ code: 0 })
})

it('rejected rows are loaded again by the worker that owns the warehouse', { tags: 'long' }, async () => {
  await using shop = await aWorkshop({
    store: 'redis',
    sandbox: { faults: ['bad-rows@events:7'] },
    settings: RARELY,
  })
  const worker = shop.worker()
  await until(() => hasSaid(worker, OWNS))
  expect(await shop.run('sync', 'events')).toMatchObject({ code: 0 })
  const retried = await shop.run('retry-rejected', 'events', '--json')
  expect(retried.code).toBe(0)
  const { reports } = JSON.parse(retried.stdout) as { reports: { report: string; tried: number; rejected: number }[] }
  const [{ tried, rejected } = { tried: 0, rejected: 0 }] = reports
  expect(tried).toBeGreaterThan(0)
  await stop(worker)
  const [kept] = await held<{ n: number }>(shop, 'SELECT count(*)::INTEGER AS n FROM tidemark.rejected_rows')
  expect(kept?.n).toBe(rejected)
})

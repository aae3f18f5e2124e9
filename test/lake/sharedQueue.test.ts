/** Several workers, one lake in PostgreSQL, one queue in Redis. The jobs of reports are spread over the workers. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openStore } from '../../jobs/stores/openStore.ts'
import { systemClock } from '../../src/clock.ts'
import { WORLD_REPORTS } from '../../src/sandbox/server.ts'
import { reportsOnly, until } from '../jobs/support.ts'
import { type PostgresServer, startPostgresHere } from '../support/postgresServer.ts'
import { aLakeside, ALL, complaints, ended, RARELY, stopAll } from './lakeside.ts'

let postgres: PostgresServer
beforeAll(async () => {
  postgres = await startPostgresHere()
})
afterAll(() => postgres.stop())

const REPORT = 'merf_submissions'
const ONE_REPORT = { reports: reportsOnly({ [REPORT]: {} }) }
const SELDOM = { ...ONE_REPORT, defaults: RARELY }

it('eight reports are spread over three workers, and each row is in the lake once', async () => {
  const audit = { audit_entries: { entities: [{ entity_id: 3, follows: 'events' }] } }
  const settings = { currencies: ['EUR'], defaults: RARELY, reports: audit }
  await using shop = await aLakeside(postgres, { sandbox: { rows: 12 }, settings })
  const workers = await shop.workers(3)
  await until(() => ALL.every((report) => workers.some((worker) => ended(worker, report) > 0)))
  await using store = await openStore(shop.redis?.url ?? '', { directory: '', clock: systemClock })
  // Eight reports, and two schedules of housekeeping.
  expect(await store.queue('ticks').getJobSchedulersCount()).toBe(10)
  expect(complaints(workers)).toEqual([])
  await stopAll(workers)
  for (const worker of workers) expect(ALL.some((report) => ended(worker, report) > 0)).toBe(true)
  expect(await shop.problems(...WORLD_REPORTS)).toEqual([])
})

it('commands reach all runs, in whichever worker they are', async () => {
  await using shop = await aLakeside(postgres, { settings: SELDOM })
  const workers = await shop.workers(2)
  await until(() => workers.some((worker) => ended(worker, REPORT) > 0))
  const { world } = shop.sandbox
  const [first] = world.liveKeys(REPORT) as [number]
  // Each of them can be answered by one worker and executed by the other.
  for (let round = 1; round <= 4; round += 1) {
    world.edit(REPORT, first)
    const { stdout, stderr } = await shop.run('sync', REPORT, '--json')
    expect(JSON.parse(stdout), stderr).toMatchObject({ reports: [{ state: 'done', changed: 1 }] })
  }
  const compared = await shop.run('reconcile', REPORT, '--json')
  expect(JSON.parse(compared.stdout), compared.stderr).toMatchObject({ reports: [{ found: { rows: 40, missed: 0 } }] })
  const filled = await shop.run('backfill', REPORT, '--from', '2020-01-01')
  expect(filled.code, filled.stdout + filled.stderr).toBe(0)
  expect(await shop.run('pause', REPORT)).toMatchObject({ code: 0 })
  expect((await shop.run('sync', REPORT)).stdout).toContain('paused by an operator')
  expect(await shop.run('resume', REPORT)).toMatchObject({ code: 0 })
  await stopAll(workers)
  expect(await shop.problems(REPORT)).toEqual([])
})

/**
 * Several workers, one lake in PostgreSQL, one queue in Redis. The jobs of reports are spread over the workers. Kills,
 * freezes, partitions and restarts lose no row, double none and move no mark ahead.
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openStore } from '../../jobs/stores/openStore.ts'
import { systemClock } from '../../src/clock.ts'
import { WORLD_REPORTS } from '../../src/sandbox/server.ts'
import type { Running } from '../cli/support.ts'
import { hasSaid, linesOf, OWNS, reportsOnly, until } from '../jobs/support.ts'
import { type PostgresServer, startPostgresHere } from '../support/postgresServer.ts'
import { startProxy } from '../support/tcpProxy.ts'
import { aLakeside, ALL, complaints, ended, type Lakeside, pause, RARELY, stopAll, untilRunEnds } from './lakeside.ts'

let postgres: PostgresServer
beforeAll(async () => {
  postgres = await startPostgresHere()
})
afterAll(() => postgres.stop())

const REPORT = 'merf_submissions'
const ONE_REPORT = { reports: reportsOnly({ [REPORT]: {} }) }
const OFTEN = { ...ONE_REPORT, defaults: { every: '1s', reconcile_every: 'never' } }
const SELDOM = { ...ONE_REPORT, defaults: RARELY }

/** Looks into the queue, because `status` answers without runs if a busy worker does not answer within 5 s. */
const isRunning = async (shop: Lakeside): Promise<boolean> => {
  await using store = await openStore(shop.redis?.url ?? '', { directory: '', clock: systemClock })
  return (await store.queue('incremental').getActiveCount()) > 0
}

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
  await until(async () => !(await isRunning(shop)))
  shop.sandbox.setFaults([`slow@${REPORT}:900000`])
  for (let round = 1; round <= 2; round += 1) {
    const asked = shop.run('sync', REPORT)
    await until(() => isRunning(shop))
    const [run] = (await shop.status()).running ?? []
    expect(await shop.run('cancel', run?.runId ?? '')).toMatchObject({ code: 0, stdout: 'cancelled: a run\n' })
    expect(await asked).toMatchObject({ code: 1 })
  }
  shop.sandbox.setFaults([])
  await stopAll(workers)
  expect(await shop.problems(REPORT)).toEqual([])
})

it('a worker that slept in a run commits nothing when it wakes, because another has taken over', async () => {
  await using shop = await aLakeside(postgres, { settings: SELDOM, sandbox: { faults: [`slow@${REPORT}:8000`] } })
  const [sleeper] = (await shop.workers(1)) as [Running]
  await until(() => isRunning(shop))
  sleeper.kill('SIGSTOP')
  shop.sandbox.setFaults([])
  const [heir] = (await shop.workers(1)) as [Running]
  await until(() => ended(heir, REPORT) > 0)
  const before = linesOf(sleeper).length
  sleeper.kill('SIGCONT')
  // It notices that it has lost its locks, and opens the lake again.
  await until(() =>
    linesOf(sleeper)
      .slice(before)
      .some(({ msg }) => msg.includes(OWNS)),
  )
  await stopAll([sleeper, heir])
  const states = `SELECT DISTINCT state FROM tidemark.runs WHERE report = '${REPORT}'`
  expect(await shop.rows(states)).toEqual([{ state: 'done' }])
  expect(ended(sleeper, REPORT)).toBe(0)
  expect(await shop.problems(REPORT)).toEqual([])
})

it('a worker joins later, and one that leaves in a run returns it to the queue', async () => {
  await using shop = await aLakeside(postgres, { settings: SELDOM, sandbox: { faults: [`slow@${REPORT}:900000`] } })
  const [leaver] = (await shop.workers(1)) as [Running]
  await until(() => isRunning(shop))
  const [joined] = (await shop.workers(1)) as [Running]
  shop.sandbox.setFaults([])
  await stopAll([leaver])
  await until(() => ended(joined, REPORT) > 0)
  expect(ended(leaver, REPORT)).toBe(0)
  await stopAll([joined])
  expect(await shop.problems(REPORT)).toEqual([])
})

it('a backfill of many windows ends beside runs every second, without LAKE_BUSY', async () => {
  const settings = {
    reports: reportsOnly({ events: { page_size: 5, expand: [] }, [REPORT]: {} }),
    defaults: { every: '1s', reconcile_every: 'never' },
    limits: { load_rows_max: 10, warehouse_threads: 1 },
  }
  await using shop = await aLakeside(postgres, { settings, sandbox: { rows: 60 } })
  const workers = await shop.workers(2)
  await untilRunEnds(workers, 'events')
  shop.sandbox.setChangesPerSecond(5)
  const filled = await shop.run('backfill', 'events', '--from', '2020-01-01')
  expect(filled.code, filled.stdout + filled.stderr).toBe(0)
  shop.sandbox.setChangesPerSecond(0)
  await untilRunEnds(workers, 'events')
  await untilRunEnds(workers, REPORT)
  await stopAll(workers)
  expect(complaints(workers).filter((line) => line.includes('LAKE_BUSY'))).toEqual([])
  const windows = `SELECT count(*) > 3 AS many, bool_and(state = 'done') AS done FROM tidemark.backfill_windows`
  expect(await shop.rows(windows)).toEqual([{ many: true, done: true }])
})

it('work goes on after Redis and after the catalogue were restarted', async () => {
  await using shop = await aLakeside(postgres, { settings: OFTEN })
  const workers = await shop.workers(2)
  await untilRunEnds(workers, REPORT)
  shop.sandbox.setChangesPerSecond(10)
  await shop.redis?.restart()
  await untilRunEnds(workers, REPORT)
  await postgres.restart()
  await untilRunEnds(workers, REPORT)
  shop.sandbox.setChangesPerSecond(0)
  await untilRunEnds(workers, REPORT)
  await untilRunEnds(workers, REPORT)
  await stopAll(workers)
  expect(await shop.problems(REPORT)).toEqual([])
})

it('a worker that is parted from the catalogue stops no other, and works again afterwards', async () => {
  await using shop = await aLakeside(postgres, { settings: OFTEN })
  await using proxy = await startProxy(Number(/port=(\d+)/.exec(shop.at)?.[1]))
  const parted = shop.workerAt(proxy.port)
  await until(() => hasSaid(parted, OWNS))
  const [other] = (await shop.workers(1)) as [Running]
  shop.sandbox.setChangesPerSecond(10)
  await untilRunEnds([parted], REPORT)
  await untilRunEnds([other], REPORT)
  proxy.partition()
  // The parted worker can have the job of the report. Then the job waits for the end of the partition.
  await pause(5_000)
  proxy.heal()
  shop.sandbox.setChangesPerSecond(0)
  await untilRunEnds([parted, other], REPORT)
  await untilRunEnds([parted, other], REPORT)
  await stopAll([parted, other])
  expect(await shop.problems(REPORT)).toEqual([])
})

const KILLS = 30
const SEED = 20_261_126

it(`after each of ${KILLS} kills no mark is ahead and no row is there twice; afterwards nothing is missing`, async () => {
  await using shop = await aLakeside(postgres, {
    settings: { ...OFTEN, limits: { load_rows_max: 10, warehouse_threads: 1 } },
  })
  let state = SEED
  const random = () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32
  const workers = await shop.workers(3)
  shop.sandbox.setChangesPerSecond(20)
  for (let kill = 1; kill <= KILLS; kill += 1) {
    await until(() => workers.some((worker) => hasSaid(worker, OWNS)))
    await pause(random() * 2_000)
    const owners = workers.filter((worker) => hasSaid(worker, OWNS))
    const victim = owners[Math.floor(random() * owners.length)] as Running
    victim.kill('SIGKILL')
    await victim.ended
    workers.splice(workers.indexOf(victim), 1, shop.worker())
    expect(await shop.problems(), `after kill ${kill}`).toEqual([])
  }
  shop.sandbox.setChangesPerSecond(0)
  await untilRunEnds(workers, REPORT)
  await untilRunEnds(workers, REPORT)
  await stopAll(workers)
  expect(await shop.problems(REPORT)).toEqual([])
})

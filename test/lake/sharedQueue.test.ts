/**
 * Several workers, one lake in PostgreSQL, one queue in Redis. The jobs of reports are spread over the workers. Kills,
 * freezes, partitions and restarts lose no row, double none and move no mark ahead.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { ReportName } from '../../schema/index.ts'
import { type Instant, toMillis } from '../../src/instant.ts'
import { WORLD_REPORTS } from '../../src/sandbox/server.ts'
import type { Running } from '../cli/support.ts'
import { hasSaid, linesOf, OWNS, reportsOnly, until } from '../jobs/support.ts'
import { type PostgresServer, startPostgresHere } from '../support/postgresServer.ts'
import { mayLosePackets, startProxy } from '../support/tcpProxy.ts'
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
const FEW = { rows: 15 }
const RETRY_AFTER_SECONDS = 12
const PAUSED = /RATE_LIMITED|requests a pause/
const TOKEN_PATH = '/authenticationapi/Account/RequestToken'

const isRunning = (shop: Lakeside, kind: 'incremental' | 'reconcile' = 'incremental'): Promise<boolean> =>
  shop.queue(async (store) => (await store.queue(kind).getActiveCount()) > 0)

/** Waits until all workers have started. Each of them adds a run of each report then, and the sync waits for these. */
async function untilStarted(shop: Lakeside, workers: readonly Running[]): Promise<void> {
  await until(() => workers.every((worker) => hasSaid(worker, OWNS)))
  await shop.run('sync', REPORT)
}

/** Cancels the active run. Reads its identifier from the queue, because `status` of a busy worker lists no runs. */
async function cancelRun(shop: Lakeside): Promise<void> {
  await until(() => isRunning(shop))
  const [job] = await shop.queue((store) => store.queue('incremental').getActive())
  // A job is active a moment before its run is known.
  await until(async () => (await shop.run('cancel', job?.id ?? '')).stdout === 'cancelled: a run\n')
}

it('eight reports are spread over three workers, each row is in the lake once, and the service is treated politely', async () => {
  const audit = { audit_entries: { entities: [{ entity_id: 3, follows: 'events' }] } }
  const settings = { currencies: ['EUR'], defaults: RARELY, reports: audit }
  const sandbox = { rows: 12, faults: [`429*1:${RETRY_AFTER_SECONDS}`] }
  await using shop = await aLakeside(postgres, { sandbox, settings })
  const workers = await shop.workers(3)
  await until(() => ALL.every((report) => workers.some((worker) => ended(worker, report) > 0)))
  // Eight reports, and two schedules of housekeeping.
  expect(await shop.queue((store) => store.queue('ticks').getJobSchedulersCount())).toBe(10)
  expect(complaints(workers).filter((line) => !PAUSED.test(line))).toEqual([])
  await stopAll(workers)
  // One worker has three runs at once, at most. So each of the three has asked the service, and all with one token.
  for (const worker of workers) expect(ALL.some((report) => ended(worker, report) > 0)).toBe(true)
  const { requests } = shop.sandbox
  expect(requests.count(TOKEN_PATH)).toBe(1)
  const refusedMs = toMillis(requests.list().find(({ status }) => status === 429)?.at as Instant)
  const waitedMs = requests.list().map(({ at }) => toMillis(at) - refusedMs)
  // Requests that were on their way are not counted.
  expect(waitedMs.filter((ms) => ms > 5_000 && ms < RETRY_AFTER_SECONDS * 1_000)).toEqual([])
  expect(await shop.problems(...WORLD_REPORTS)).toEqual([])
})

it('commands reach all runs, in whichever worker they are', async () => {
  await using shop = await aLakeside(postgres, { settings: SELDOM })
  const workers = await shop.workers(2)
  await untilStarted(shop, workers)
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
    await cancelRun(shop)
    expect(await asked).toMatchObject({ code: 1 })
  }
  shop.sandbox.setFaults([])
  await stopAll(workers)
  expect(await shop.problems(REPORT)).toEqual([])
})

it('a worker that slept in a run commits nothing when it wakes, because another has taken over', async () => {
  await using shop = await aLakeside(postgres, {
    settings: SELDOM,
    sandbox: { ...FEW, faults: [`slow@${REPORT}:8000`] },
  })
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
  await until(async () => !(await isRunning(shop)))
  await stopAll([sleeper, heir])
  const states = `SELECT DISTINCT state FROM tidemark.runs WHERE report = '${REPORT}'`
  expect(await shop.rows(states)).toEqual([{ state: 'done' }])
  expect(ended(sleeper, REPORT)).toBe(0)
  expect(await shop.problems(REPORT)).toEqual([])
})

it('a worker joins later, and one that leaves in a run returns it to the queue', async () => {
  await using shop = await aLakeside(postgres, {
    settings: SELDOM,
    sandbox: { ...FEW, faults: [`slow@${REPORT}:900000`] },
  })
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
  await using shop = await aLakeside(postgres, { settings: OFTEN, sandbox: FEW })
  const workers = await shop.workers(2)
  await untilRunEnds(workers, REPORT)
  shop.sandbox.setChangesPerSecond(2)
  await shop.redis?.restart()
  await untilRunEnds(workers, REPORT)
  await postgres.restart()
  shop.sandbox.setChangesPerSecond(0)
  // The first of these runs can have begun before the last change.
  await untilRunEnds(workers, REPORT)
  await untilRunEnds(workers, REPORT)
  await stopAll(workers)
  expect(await shop.problems(REPORT)).toEqual([])
})

/** Returns the worker that has begun a reconcile. All workers log into one folder. */
function reconciling({ folder }: Lakeside, workers: readonly Running[]): Running | undefined {
  const logs = join(folder, 'data/lake.logs')
  const lines = readdirSync(logs).flatMap((file) => readFileSync(join(logs, file), 'utf8').split('\n'))
  const line = lines.find((each) => each.includes('reconcile run begins')) ?? '{}'
  const { pid } = JSON.parse(line) as { pid?: number }
  return workers.find((worker) => worker.pid === pid)
}

it('a worker that is parted from the catalogue stops no other, and works again afterwards', async () => {
  const OTHER = 'budgets'
  const settings = { ...SELDOM, currencies: ['EUR'], reports: reportsOnly({ [REPORT]: {}, [OTHER]: { expand: [] } }) }
  await using shop = await aLakeside(postgres, { settings, sandbox: FEW })
  const port = Number(/port=(\d+)/.exec(shop.at)?.[1])
  await using one = await startProxy(port)
  await using two = await startProxy(port)
  const proxies = [one, two]
  const workers = proxies.map((proxy) => shop.workerAt(proxy.port))
  const hasRun = (report: ReportName) => workers.some((worker) => ended(worker, report) > 0)
  await until(() => workers.every((worker) => hasSaid(worker, OWNS)) && hasRun(REPORT) && hasRun(OTHER))
  await until(async () => !(await isRunning(shop)))
  shop.sandbox.setFaults([`slow@${REPORT}:5000`])
  const waiting = shop.run('reconcile', REPORT, '--json')
  await until(() => reconciling(shop, workers) !== undefined)
  const proxy = proxies[workers.indexOf(reconciling(shop, workers) as Running)]
  proxy?.partition()
  shop.sandbox.setFaults([])
  // A worker does one reconcile at a time. So the other worker must take the second one.
  const compared = await shop.run('reconcile', OTHER, '--json')
  expect(JSON.parse(compared.stdout), compared.stderr).toMatchObject({ reports: [{ found: { rows: 15, missed: 0 } }] })
  expect(await isRunning(shop, 'reconcile')).toBe(true)
  proxy?.heal()
  const { code, stdout } = await waiting
  expect(code, stdout).toBe(0)
  shop.sandbox.world.edit(REPORT, shop.sandbox.world.liveKeys(REPORT)[0] as number)
  expect(await shop.run('sync', REPORT)).toMatchObject({ code: 0 })
  await stopAll(workers)
  expect(await shop.problems(REPORT)).toEqual([])
})

it.runIf(mayLosePackets())(
  'the run of a worker whose catalogue is silent returns to the queue, and another worker does it meanwhile',
  async () => {
    await using shop = await aLakeside(postgres, { settings: SELDOM, sandbox: FEW })
    await using proxy = await startProxy(Number(/port=(\d+)/.exec(shop.at)?.[1]))
    const silent = shop.workerAt(proxy.port)
    await until(() => ended(silent, REPORT) > 0)
    await until(async () => !(await isRunning(shop)))
    const { world } = shop.sandbox
    world.edit(REPORT, world.liveKeys(REPORT)[0] as number)
    shop.sandbox.setFaults([`slow@${REPORT}:5000`])
    const asked = shop.run('sync', REPORT)
    await until(() => isRunning(shop))
    proxy.losePackets()
    const [heir] = (await shop.workers(1)) as [Running]
    shop.sandbox.setFaults([])
    await until(() => ended(heir, REPORT) > 0)
    // The silent worker answers this command, because no other one was there. It cannot read the result.
    expect((await asked).stderr).toContain('cannot be reached')
    // The operator sees the failure in the log, also if it is before the run has requested anything.
    await until(() => /cannot be reached.*will be tried again/.test(complaints([silent]).join('\n')))
    proxy.heal()
    expect(complaints([silent]).filter((line) => line.includes('UNEXPECTED'))).toEqual([])
    await stopAll([silent, heir])
    expect(await shop.problems(REPORT)).toEqual([])
  },
)

it('with the queue in PostgreSQL, two workers share the runs, and commands reach both of them', async () => {
  await using shop = await aLakeside(postgres, { queue: 'postgres', settings: SELDOM, sandbox: FEW })
  const workers = await shop.workers(2)
  await untilStarted(shop, workers)
  const { world } = shop.sandbox
  const [first] = world.liveKeys(REPORT) as [number]
  world.edit(REPORT, first)
  const { stdout, stderr } = await shop.run('sync', REPORT, '--json')
  expect(JSON.parse(stdout), stderr).toMatchObject({ reports: [{ state: 'done', changed: 1 }] })
  shop.sandbox.setFaults([`slow@${REPORT}:900000`])
  const asked = shop.run('sync', REPORT)
  await cancelRun(shop)
  expect(await asked).toMatchObject({ code: 1 })
  shop.sandbox.setFaults([])
  await stopAll(workers)
  expect(await shop.problems(REPORT)).toEqual([])
})

/** A kill, the start of the next worker and the checks take 10 s to a minute. Set TIDEMARK_TEST_KILLS for more kills. */
const KILLS = Number(process.env['TIDEMARK_TEST_KILLS'] ?? 3)
const LIMITS = { timeout: (KILLS + 5) * 120_000 }
const SEED = 20_261_126

it(
  `after each of ${KILLS} kills no mark is ahead and no row is there twice; afterwards nothing is missing`,
  LIMITS,
  async () => {
    const limits = { load_rows_max: 10, warehouse_threads: 1 }
    await using shop = await aLakeside(postgres, { settings: { ...OFTEN, limits }, sandbox: FEW })
    let state = SEED
    const random = () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32
    const workers = await shop.workers(2)
    shop.sandbox.setChangesPerSecond(3)
    for (let kill = 1; kill <= KILLS; kill += 1) {
      await until(() => isRunning(shop))
      await pause(random() * 1_000)
      const victim = workers.splice(Math.floor(random() * workers.length), 1)[0] as Running
      victim.kill('SIGKILL')
      await victim.ended
      expect(await shop.disorder(REPORT), `after kill ${kill}`).toEqual([])
      workers.push(...(await shop.workers(1)))
    }
    shop.sandbox.setChangesPerSecond(0)
    await untilRunEnds(workers, REPORT)
    await untilRunEnds(workers, REPORT)
    await stopAll(workers)
    expect(await shop.problems(REPORT)).toEqual([])
  },
)

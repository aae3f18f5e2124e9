/** People who ask the worker for something, and ask twice, or leave, or change their minds. */
import { request } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openBackfillJobs } from '../../jobs/backfill/backfillJobs.ts'
import { JobQueues } from '../../jobs/queue/jobQueues.ts'
import { Runs } from '../../jobs/runs/runs.ts'
import { openStore } from '../../jobs/stores/openStore.ts'
import type { QueueStore } from '../../jobs/stores/store.ts'
import { followRuns } from '../../src/operations/followRuns.ts'
import { askQueue } from '../../src/operations/queue.ts'
import { socketPathOf } from '../../src/operations/socket.ts'
import { cancelWaiting, waitingRuns } from '../../src/operations/workerOperations.ts'
import { systemClock as clock, within } from '../../src/clock.ts'
import { plusMs } from '../../src/instant.ts'
import { noFigures } from '../../src/sync/reportOutcome.ts'
import { startRedis } from '../support/redisServer.ts'
import { copyEmbeddedStore } from '../support/templates.ts'
import { aWarehouse, type OpenWarehouse } from '../support/warehouse.ts'
import { aWorkshop, hasSaid, until } from './support.ts'

const LONG = { timeout: 300_000 }
const RARELY = { defaults: { every: '1h', reconcile_every: 'never' } }
const never = new AbortController().signal

describe('without a worker on the queues', () => {
  let opened: OpenWarehouse
  let store: QueueStore
  let queues: JobQueues
  beforeAll(async () => {
    opened = await aWarehouse()
    const directory = join(opened.folder, 'queue')
    await copyEmbeddedStore(directory)
    store = await openStore('embedded', { directory, clock })
    queues = new JobQueues(store)
  }, LONG.timeout)
  afterAll(async () => {
    await store.close()
    await opened[Symbol.asyncDispose]()
  })

  const addEvents = () => queues.addIncremental('events')
  const follow = (runs: Runs, signal: AbortSignal, { addJob = addEvents, named = 1 } = {}) =>
    followRuns(Array<'events'>(named).fill('events'), {
      kind: 'incremental',
      addJob,
      runs,
      queues,
      clock,
      caller: { by: 'test', onEvent: () => undefined, signal },
    })

  it('a caller that waits for a cancelled run gets CANCELLED, and the run is not requested again', LONG, async () => {
    const runs = new Runs()
    const waits = follow(runs, never)
    await until(async () => (await waitingRuns(queues)).length === 1)
    const [waiting] = await waitingRuns(queues)
    expect(waiting).toMatchObject({ report: 'events', kind: 'incremental' })
    expect(await cancelWaiting({ queues, runs }, waiting?.id ?? '')).toEqual(waiting)
    const [{ outcome } = { outcome: undefined }] = await waits
    expect(outcome).toMatchObject({ report: 'events', state: 'failed', error: { code: 'CANCELLED' } })
    expect(await waitingRuns(queues)).toEqual([])
    expect(await cancelWaiting({ queues, runs }, waiting?.id ?? '')).toBeUndefined()
  })

  it('who names a report twice waits for one run of it', LONG, async () => {
    const runs = new Runs()
    const waits = follow(runs, never, { named: 2 })
    await until(async () => (await waitingRuns(queues)).length === 1)
    await cancelWaiting({ queues, runs }, (await waitingRuns(queues))[0]?.id ?? '')
    const ended = await within(5_000, clock, () => waits)
    expect(ended?.map(({ outcome }) => outcome.report)).toEqual(['events'])
  })

  it('who leaves while the job is still being added ends only their own wait', LONG, async () => {
    const asking = new AbortController()
    const gone = new Error('the asker is gone')
    const ask = async () => {
      asking.abort(gone)
      await clock.sleep(50)
    }
    await expect(follow(new Runs(), asking.signal, { addJob: ask })).rejects.toBe(gone)
    await expect(follow(new Runs(), asking.signal, { addJob: ask })).rejects.toBe(gone)
  })

  it('a backfill that is requested twice is one, while it is named, waits, and can be cancelled', LONG, async () => {
    const start = plusMs(clock.now(), -86_400_000)
    const withJobs = openBackfillJobs({ books: opened.warehouse.backfills, queues, clock, startOf: () => start })
    const asked = [{ report: 'events', from: start, to: undefined }] as const
    const add = (named: Parameters<Parameters<typeof withJobs>[1]>[0]) => {
      const job = named.get('events')
      return job === undefined ? Promise.resolve('') : queues.addBackfill(job).then(() => job.backfillId)
    }
    const [first, second] = await Promise.all([withJobs(asked, add), withJobs(asked, add)])
    expect(second).toBe(first)
    expect(await withJobs(asked, add), 'nobody waits for it any more').toBe(first)
    expect(await waitingRuns(queues)).toEqual([{ id: first, report: 'events', kind: 'backfill' }])
    const other = [{ report: 'events', from: plusMs(start, 1_000), to: undefined }] as const
    expect(await withJobs(other, async (named) => named.get('events')?.backfillId)).not.toBe(first)
    expect(await cancelWaiting({ queues, runs: new Runs() }, first)).toMatchObject({ kind: 'backfill' })
    expect(await waitingRuns(queues)).toEqual([])
  })

  it('the last request for a pause or resume wins, whatever was requested a moment before', LONG, async () => {
    const { warehouse } = opened
    const paused = {
      report: 'events',
      code: 'REPORT_PAUSED',
      reason: 'by hand',
      cure: 'Resume it.',
      client: 'x',
    } as const
    await warehouse.pause(paused, clock.now())
    await Promise.all([warehouse.resume(['events']), warehouse.pause(paused, clock.now())])
    expect(await warehouse.books.pauses()).toHaveLength(1)
    expect(await warehouse.resume(['events'], { onlyRefused: true })).toEqual([])
    expect(await warehouse.books.pauses()).toHaveLength(1)
    await warehouse.pause({ ...paused, code: 'REPORT_FORBIDDEN' }, clock.now())
    expect(await warehouse.resume(['events', 'budgets'], { onlyRefused: true })).toEqual(['events'])
    expect(await warehouse.books.pauses()).toEqual([])
  })
})

it('who waits for a run that is at work goes on waiting while the queue is away', LONG, async () => {
  await using redis = await startRedis()
  const store = await openStore(redis.url, { directory: '', clock })
  const queues = new JobQueues(store)
  const runs = new Runs()
  let looks = 0
  const looking = Object.create(clock, {
    sleep: {
      value: (ms: number, signal?: AbortSignal) => clock.sleep(Math.min(ms, 20), signal).then(() => (looks += 1)),
    },
  }) as typeof clock
  const run = {
    runId: 'r',
    report: 'events',
    kind: 'incremental',
    startedAt: clock.now(),
    cancel: () => undefined,
  } as const
  const ends = Promise.withResolvers<void>()
  const outcome = {
    report: 'events',
    runId: 'r',
    state: 'done',
    pages: 1,
    figures: noFigures(),
    elapsedMs: 1,
  } as const
  await queues.underWay('incremental')
  // It runs before the first look, so that none is under way when Redis ends.
  const during = Promise.withResolvers<unknown>()
  const ask = async () => during.resolve(runs.during(run, () => ends.promise.then(() => ({ outcome }))))
  const caller = { by: 'test', onEvent: () => undefined, signal: never }
  const waits = followRuns(['events'], { kind: 'incremental', addJob: ask, runs, queues, clock: looking, caller })
  await redis.stop('SIGKILL')
  const before = looks
  await Promise.race([waits, until(() => looks > before + 5)])
  ends.resolve()
  await during.promise
  expect(await waits).toMatchObject([{ outcome: { state: 'done' } }])
  await store.close()
})

it('a worker goes on when commands are ended the moment they ask, and a pause from elsewhere is not kept waiting by commands that wait for their runs', {
  ...LONG,
  tags: 'long',
}, async () => {
  await using shop = await aWorkshop({ store: 'redis', settings: RARELY })
  const worker = shop.worker()
  await until(() => hasSaid(worker, 'published'))
  const socketPath = socketPathOf(join(shop.folder, 'data', 'warehouse.duckdb'))
  const body = JSON.stringify({ request: { do: 'sync', reports: ['events', 'budgets'] }, by: 'test' })
  for (let ms = 0; ms < 30; ms += 1) {
    const asked = request({ socketPath, method: 'POST', path: '/', agent: false })
    asked.on('error', () => undefined)
    asked.end(body)
    await clock.sleep(ms)
    asked.destroy()
  }
  expect(await shop.status()).toMatchObject({ from: 'worker' })
  const store = await openStore(shop.redis?.url ?? '', { directory: '', clock })
  try {
    const ask = (asked: Parameters<typeof askQueue>[1]) =>
      askQueue({ store, clock }, asked, { by: 'test', onEvent: () => undefined, signal: never })
    shop.sandbox.setFaults(['slow@events:600000'])
    let synced = 0
    const syncs = Array.from({ length: 20 }, () => ask({ do: 'sync', reports: ['events'] }).then(() => (synced += 1)))
    await until(async () => (await shop.status()).running?.length === 1)
    expect(await ask({ do: 'pause', reports: ['budgets'] })).toMatchObject({ result: { paused: ['budgets'] } })
    expect(synced).toBe(0)
    const [run] = (await shop.status()).running ?? []
    shop.sandbox.setFaults([])
    expect(await ask({ do: 'cancel', id: run?.runId ?? '' })).toMatchObject({ result: { what: 'a run' } })
    await Promise.all(syncs)
  } finally {
    await store.close()
  }
})

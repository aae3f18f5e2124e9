/** What a worker process does, by the title of its test. */
import { expect, it } from 'vitest'
import { openStore } from '../../jobs/stores/openStore.ts'
import { systemClock } from '../../src/clock.ts'
import {
  aWorkshop,
  hasSaid,
  held,
  linesOf,
  OWNS,
  published,
  reportsOnly,
  type Store,
  stop,
  TAKES_OVER,
  until,
  type Workshop,
} from './support.ts'

/** The store on which worker.test.ts runs each test; worker.long.test.ts runs them on the other one. */
const SHORT_STORES: Readonly<Record<keyof typeof WORKER_TESTS, Store>> = {
  'turns ticks into published rows, and logs its work': 'embedded',
  'does what commands ask while it owns the warehouse, and runs a report as soon as it is resumed': 'redis',
  'pauses a report that is forbidden, and goes on with the others': 'redis',
  'asks for no more tokens once its credentials were refused, also after a restart': 'redis',
  'hands a run back when it is stopped, and the next one finishes it': 'redis',
  'is killed in mid-run, and the next one finishes that run within 20 s': 'embedded',
}

/** Tests of what `npm test` shows of a worker on no other occasion. */
const IN_SHORT: readonly string[] = [
  'turns ticks into published rows, and logs its work',
  'does what commands ask while it owns the warehouse, and runs a report as soon as it is resumed',
  'is killed in mid-run, and the next one finishes that run within 20 s',
]

/** Registers each test on its store, or on the other one. */
export function testWorkers(which: 'short' | 'long'): void {
  for (const [title, test] of Object.entries(WORKER_TESTS)) {
    const short = SHORT_STORES[title as keyof typeof WORKER_TESTS]
    const other = short === 'redis' ? 'embedded' : 'redis'
    const store = which === 'short' ? short : other
    it(`${title}, on ${store}`, IN_SHORT.includes(title) ? {} : { tags: 'long' }, () => test(store))
  }
}

/** What the store holds of a run, after its worker has ended. */
async function jobOf({ folder, redis }: Workshop, runId: string) {
  const directory = `${folder}/data/warehouse.duckdb.queue`
  await using store = await openStore(redis?.url ?? 'embedded', { directory, clock: systemClock })
  const job = await store.queue('incremental').getJob(runId)
  return job && { state: await job.getState(), tries: job.attemptsMade, crashes: job.stalledCounter }
}

const WORKER_TESTS = {
  'turns ticks into published rows, and logs its work': async (store: Store) => {
    await using shop = await aWorkshop({ store })
    const worker = shop.worker()
    const counted = async () => (await published<{ n: number }>(shop, 'SELECT count(*) AS n FROM main.events'))[0]?.n
    await until(async () => (await counted()) === 40)
    expect(worker.said()).toMatch(/^roles +pull, load, schedule, console$/m)
    expect(worker.said()).toMatch(/^events +every 1s$/m)
    expect(worker.said()).toMatch(/^enquiries +off: enabled: false$/m)
    expect(worker.said()).not.toContain('marked-hunter2')
    shop.sandbox.setChangesPerSecond(20)
    await until(() => linesOf(worker).filter(({ report }) => report === 'events').length > 3)
    shop.sandbox.setChangesPerSecond(0)
    const before = shop.sandbox.world.keys('events').length
    await until(async () => (await counted()) === before)
    expect(await stop(worker)).toMatchObject({ code: 0 })
    const runs = await held<{ state: string }>(shop, `SELECT DISTINCT state FROM tidemark.runs WHERE state = 'running'`)
    expect(runs).toEqual([])
  },

  'does what commands ask while it owns the warehouse, and runs a report as soon as it is resumed': async (
    store: Store,
  ) => {
    await using shop = await aWorkshop({ store, settings: { defaults: { every: '1h', reconcile_every: 'never' } } })
    const worker = shop.worker()
    await until(() => hasSaid(worker, 'published'))
    const event = shop.sandbox.world.keys('events')[0] ?? 0
    shop.sandbox.world.edit('events', event)
    const synced = JSON.parse((await shop.run('sync', '--json')).stdout) as { reports: object[]; published: string }
    expect(synced.reports).toContainEqual(expect.objectContaining({ report: 'events', state: 'done', changed: 1 }))
    expect(synced.published).toContain('published.duckdb')

    shop.sandbox.world.putRow('events', event, { oddNumber: '7' })
    expect(await shop.run('sync', 'events')).toMatchObject({ code: 0 })
    const retyped = await shop.run('schema', '--retype', 'events.odd_number', 'double', '--json')
    expect(JSON.parse(retyped.stdout)).toMatchObject({ from: 'BIGINT', to: 'DOUBLE', misfits: 0 })
    const odd = 'SELECT odd_number::VARCHAR AS odd FROM main.events WHERE odd_number IS NOT NULL'
    expect(await published(shop, odd)).toEqual([{ odd: '7.0' }])

    expect(await shop.run('pause', 'events')).toMatchObject({ code: 0, stdout: 'paused: events\n' })
    const paused = await shop.run('sync', 'events')
    expect(paused.code).toBe(1)
    expect(paused.stdout).toContain('paused by an operator')
    const done = () => linesOf(worker).filter(({ report, state }) => report === 'events' && state === 'done').length
    const before = done()
    expect(await shop.run('resume', 'events')).toMatchObject({ code: 0 })
    await until(() => done() > before)

    const reconciled = await shop.run('reconcile', 'events', '--json')
    expect(JSON.parse(reconciled.stdout)).toMatchObject({ reports: [{ report: 'events', found: { rows: 40 } }] })
    const filled = await shop.run('backfill', 'events', '--from', '2020-01-01')
    expect(filled.stdout).toMatch(/events/)
    expect(filled.code).toBe(0)

    const status = await shop.status()
    expect(status).toMatchObject({ from: 'worker', queues: { incremental: { waiting: 0, active: 0 } } })
    expect(await shop.run('cancel', 'nothing')).toMatchObject({ code: 2 })
    shop.sandbox.setFaults(['slow@events:20000'])
    const logged = worker.said().length
    const asked = shop.run('sync', 'events')
    await until(async () => ((await shop.status()).running?.length ?? 0) > 0)
    const [run] = (await shop.status()).running ?? []
    expect(await shop.run('cancel', run?.runId ?? '')).toMatchObject({ code: 0, stdout: 'cancelled: a run\n' })
    expect(await asked).toMatchObject({ code: 1 })
    await until(() => linesOf(worker).some(({ report, state }) => report === 'events' && state === 'stopped'))
    await stop(worker)
    expect(worker.said().slice(logged)).not.toContain('given up')
    const ended = await held(shop, `SELECT state FROM tidemark.runs WHERE run_id = '${run?.runId}'`)
    expect(ended).toEqual([{ state: 'stopped' }])
    const kinds = await held<{ kind: string }>(
      shop,
      `SELECT DISTINCT kind FROM tidemark.runs WHERE state = 'done' ORDER BY 1`,
    )
    expect(kinds.map(({ kind }) => kind)).toEqual(['backfill', 'incremental', 'reconcile'])
  },

  'pauses a report that is forbidden, and goes on with the others': async (store: Store) => {
    const clients = [{ clientId: 'acme', clientSecret: 'x', scopes: [], forbidden: ['enquiries'] as const }]
    const { clientSecret: _, scopes: _none, ...client } = clients[0] as (typeof clients)[0]
    await using shop = await aWorkshop({
      store,
      sandbox: { clients: [client as never] },
      settings: { reports: reportsOnly({ enquiries: {}, events: {} }) },
    })
    const worker = shop.worker()
    await until(() => linesOf(worker).some(({ report, code }) => report === 'enquiries' && code === 'REPORT_FORBIDDEN'))
    const asked = () => shop.sandbox.requests.count('/reportingapi/v1/EnquiryReport/GetEnquiriesReport')
    const refused = asked()
    const runs = () => linesOf(worker).filter(({ report, state }) => report === 'events' && state === 'done').length
    const before = runs()
    await until(() => runs() >= before + 3)
    expect(asked()).toBe(refused)
    const { reports } = await shop.status()
    expect(reports).toContainEqual(expect.objectContaining({ report: 'enquiries', state: 'paused' }))
    await stop(worker)
  },

  'asks for no more tokens once its credentials were refused, also after a restart': async (store: Store) => {
    await using shop = await aWorkshop({
      store,
      sandbox: { clients: [{ disabled: true } as never] },
      settings: { reports: reportsOnly({ enquiries: {}, events: {} }) },
    })
    const tokens = () => shop.sandbox.requests.count('/authenticationapi/Account/RequestToken')
    const worker = shop.worker()
    await until(() => linesOf(worker).some(({ code }) => code === 'CREDENTIALS_REFUSED'))
    await until(async () => (await shop.status()).reports.some(({ state }) => state === 'paused'))
    const asked = tokens()
    await stop(worker)
    const next = shop.worker()
    await until(() => hasSaid(next, OWNS))
    const sync = await shop.run('sync')
    expect(sync).toMatchObject({ code: 1 })
    expect(tokens()).toBe(asked)
    await stop(next)
  },

  'hands a run back when it is stopped, and the next one finishes it': async (store: Store) => {
    // Its answer comes long after this test: what is handed back was called off, and did not end by itself.
    await using shop = await aWorkshop({ store, sandbox: { faults: ['slow@events:900000'] } })
    const worker = shop.worker()
    await until(() => shop.sandbox.requests.total > 1 || hasSaid(worker, 'a new token'))
    await until(async () => ((await shop.status()).running?.length ?? 0) > 0)
    const [run] = (await shop.status()).running ?? []
    expect(await stop(worker)).toMatchObject({ code: 0 })
    expect(hasSaid(worker, 'returned the jobs to the queue')).toBe(true)
    expect(worker.said()).not.toContain('given up')
    const job = await jobOf(shop, run?.runId ?? '')
    expect(job).toEqual({ state: 'waiting', tries: 0, crashes: 0 })
    expect(await stateAfterAnother(shop, run?.runId)).toBe('done')
  },

  'is killed in mid-run, and the next one finishes that run within 20 s': async (store: Store) => {
    await using shop = await aWorkshop({ store, sandbox: { faults: ['slow@events:20000'] } })
    const worker = shop.worker()
    await until(() => hasSaid(worker, OWNS))
    await until(async () => ((await shop.status()).running?.length ?? 0) > 0)
    const [run] = (await shop.status()).running ?? []
    worker.kill('SIGKILL')
    await worker.ended
    expect(await stateAfterAnother(shop, run?.runId, TAKES_OVER)).toBe('done')
  },
}

/** How a run ended once the service is well again and another worker has had its turn. */
async function stateAfterAnother(shop: Workshop, runId: string | undefined, first = OWNS): Promise<string | undefined> {
  shop.sandbox.setFaults([])
  const next = shop.worker()
  await until(() => hasSaid(next, first))
  await until(() => linesOf(next).some(({ report, state }) => report === 'events' && state === 'done'))
  await stop(next)
  const [ended] = await held<{ state: string }>(shop, `SELECT state FROM tidemark.runs WHERE run_id = '${runId}'`)
  return ended?.state
}

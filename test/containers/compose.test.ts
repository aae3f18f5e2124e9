/**
 * The deployment as docker-compose.yml has it: image, Redis, a worker and two pullers, on a service that speaks https,
 * and the demo.
 * Processes crash and containers restart while a backfill runs.
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  aDeployment,
  becomesHealthy,
  buildImage,
  crash,
  type Deployment,
  docker,
  eventually,
  expectConfined,
  factsOf,
} from './deployment.ts'

let deployed: Deployment
let ids: readonly string[]
/** The first is the owner of the warehouse. */
let workers: readonly string[]
let redis: string

beforeAll(async () => {
  await buildImage()
  deployed = await aDeployment()
  await deployed.compose('up', '-d', '--no-build', '--scale', 'puller=2', 'reporting', 'worker', 'puller')
  workers = [...(await deployed.idsOf('worker')), ...(await deployed.idsOf('puller'))]
  const [only = ''] = await deployed.idsOf('redis')
  redis = only
  ids = [redis, ...workers]
}, 900_000)
afterAll(() => deployed?.[Symbol.asyncDispose]())

const rowsHeld = async () =>
  await deployed.query('SELECT count(*)::INT AS rows, count(DISTINCT event_id)::INT AS keys FROM main.events')
const rowsOfService = async (): Promise<number> => {
  const { rows } = (await deployed.control('state')) as { rows: { events: { all: number } } }
  return rows.events.all
}
const markOf = async (): Promise<number> => {
  const { reports } = (await deployed.ask('/api/overview')) as unknown as {
    reports: { report: string; mark: string }[]
  }
  return Date.parse(reports.find(({ report }) => report === 'events')?.mark ?? '')
}
/** Waits until the mark has passed the present time, so that everything the service has changed so far is committed. */
const markPassesNow = async (): Promise<void> => {
  const then = Date.now()
  await eventually(async () => (await markOf()) > then)
}

/** Stops the changes of the service and expects each of its rows once in the published copy. */
const expectRowsOfService = async (): Promise<void> => {
  await deployed.control('changes', { perSecond: 0 })
  await markPassesNow()
  const rows = await rowsOfService()
  expect(rows).toBeGreaterThanOrEqual(600)
  await eventually(async () => (await rowsHeld())[0]?.['rows'] === rows)
  expect(await rowsHeld()).toEqual([{ rows, keys: rows }])
}

it('is healthy with an owner, two pullers and Redis', async () => {
  expect(workers).toHaveLength(3)
  await Promise.all(ids.map(becomesHealthy))
})

it('runs without root, without capabilities and on a read-only file system', async () => {
  for (const id of ids) await expectConfined(id)
})

it('serves the console on the published port, to the holder of its token', async () => {
  const page = await fetch(deployed.url, { headers: { accept: 'text/html' } })
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<html')])
  expect((await fetch(`${deployed.url}/api/overview`)).status).toBe(401)
  expect(await deployed.ask('/api/overview')).toMatchObject({ status: 200, owner: true })
})

it('stores the rows of the service', async () => {
  await expectRowsOfService()
  await deployed.control('changes', { perSecond: 2 })
})

it('has a Redis that answers nobody without the password', async () => {
  const orders = [['get', 'x'], ['config', 'get', '*'], ['flushall']]
  for (const order of orders) expect(await docker('exec', redis, 'redis-cli', ...order)).toMatch(/NOAUTH/)
  const health = ['redis-cli', '--no-auth-warning', '--user', 'health', '--pass', 'none']
  expect(await docker('exec', redis, ...health, 'ping')).toMatch(/PONG/)
  for (const order of orders) expect(await docker('exec', redis, ...health, ...order)).toMatch(/NOPERM/)
  const wrong = await docker('exec', redis, 'redis-cli', '--no-auth-warning', '--pass', 'wrong', 'get', 'x')
  expect(wrong).toMatch(/WRONGPASS|NOAUTH/)
})

it('continues a backfill after a worker and a puller crashed', async () => {
  const before = await markOf()
  await beginBackfill('2001-01-01')
  const [owner = '', puller = ''] = workers
  await crash(puller)
  await crash(owner)
  await eventually(async () => (await factsOf(owner)).RestartCount === 1)
  await Promise.all(workers.map(becomesHealthy))
  await endOfBackfill('2001-01-01')
  await markPassesNow()
  expect(await markOf()).toBeGreaterThan(before)
  expect((await factsOf(puller)).RestartCount).toBe(1)
})

it('loses and doubles no work when its containers restart one after another', async () => {
  for (const [index, id] of [redis, ...workers.toReversed()].entries()) {
    const from = `200${index + 2}-01-01`
    await beginBackfill(from)
    await docker('restart', '--time', '40', id)
    await becomesHealthy(id)
    await endOfBackfill(from)
  }
  await expectRowsOfService()
  const [owner = ''] = workers
  expect(await docker('exec', owner, 'node', 'bin/tidemark.js', 'verify', 'events')).toMatch(/events .* 0 +0 +0/)
})

it('shows no secret in its logs, its environment or the description of its containers', async () => {
  const environments = workers.map((id) => docker('exec', id, 'cat', '/proc/1/environ', '/proc/1/cmdline'))
  const described = await docker('inspect', ...ids, 'tidemark')
  const logs = await deployed.compose('logs', '--no-color', 'redis', 'worker', 'puller')
  expect(logs).toContain('this process owns the warehouse')
  const shown = [described, logs, ...(await Promise.all(environments))].join('\n')
  for (const secret of Object.values(deployed.secrets)) {
    expect(secret.length).toBeGreaterThan(40)
    expect(shown.includes(secret)).toBe(false)
  }
})

it('ends well within its grace period', async () => {
  await deployed.compose('stop')
  const ends = (await Promise.all(ids.map(factsOf))).map(({ State }) => State)
  expect(ends.map(({ ExitCode, OOMKilled }) => [ExitCode, OOMKilled])).toEqual(ids.map(() => [0, false]))
})

it('runs the demo in 512 MB for each container: a service with changes, and a worker on the embedded queue', async () => {
  const overview = await deployed.startDemo('512m')
  const [demo = ''] = await deployed.idsOf('demo')
  await becomesHealthy(demo)
  const counted = async () => (await deployed.query('SELECT count(*)::INT AS n FROM main.events', 'demo'))[0]?.['n']
  await eventually(async () => Number(await counted()) > 0)
  expect(await overview()).toMatchObject({ status: 200, owner: true })
  const { State, RestartCount, HostConfig } = await factsOf(demo)
  expect([State.OOMKilled, RestartCount, HostConfig.Memory]).toEqual([false, 0, 512 * 2 ** 20])
})

interface BackfillState {
  readonly since: string
  readonly state: string
  readonly windows: number
  readonly done: number
}

/** Begins a backfill and waits until windows are done and others are not. Slow responses keep it in this state. */
async function beginBackfill(from: string): Promise<void> {
  await deployed.control('faults', { faults: ['slow:1000@events'] })
  const { status } = await deployed.ask('/api/backfills', { report: 'events', from })
  expect([200, 202]).toContain(status)
  await eventually(async () => (await backfillFrom(from)).done > 0)
  const { state, windows, done } = await backfillFrom(from)
  expect(state).toBe('running')
  expect(windows - done).toBeGreaterThan(4)
}

/** Returns the backfill that begins at this time. Rejects until the books contain it. */
async function backfillFrom(from: string): Promise<BackfillState> {
  const { backfills } = (await deployed.ask('/api/backfills')) as unknown as { backfills: readonly BackfillState[] }
  const [found, ...others] = backfills.filter(({ since }) => since.startsWith(from))
  if (found === undefined || others.length > 0) throw new TypeError(`${others.length} other backfills from ${from}`)
  return found
}

async function endOfBackfill(from: string): Promise<void> {
  await deployed.control('faults', { faults: [] })
  await eventually(async () => !['pending', 'running'].includes((await backfillFrom(from)).state))
  const { state, windows, done } = await backfillFrom(from)
  expect([state, done]).toEqual(['done', windows])
}

/**
 * The profile "lake" of docker-compose.yml: PostgreSQL, object storage, Redis, two workers and a reader, on a service with
 * https. One worker is killed while rows change. At the end, two workers of a lake on the service of the demo.
 */
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  aDeployment,
  becomesHealthy,
  buildImage,
  type Deployment,
  docker,
  eventually,
  expectConfined,
} from './deployment.ts'

interface RowCounts {
  readonly rows: number
  readonly keys: number
}

let deployed: Deployment
let parts: readonly string[]
let workers: readonly string[]

beforeAll(async () => {
  await buildImage()
  await buildImage('lake')
  deployed = await aDeployment()
  await deployed.compose('up', '-d', '--no-build', 'reporting', 'lake')
  workers = await deployed.idsOf('lake-worker')
  const others = ['redis', 'postgres', 'storage', 'lake'].map(deployed.idsOf)
  parts = [...workers, ...(await Promise.all(others)).flat()]
}, 900_000)
afterAll(() => deployed?.[Symbol.asyncDispose]())

const rowsOfService = async (): Promise<number> => {
  const { rows } = (await deployed.control('state')) as { rows: { events: { all: number } } }
  return rows.events.all
}
const rowsInLake = async (service = 'lake'): Promise<readonly RowCounts[]> => {
  const sql = 'SELECT count(*)::INT AS rows, count(DISTINCT event_id)::INT AS keys FROM main.events'
  return (await deployed.query(sql, service)).map(({ rows, keys }) => ({ rows: Number(rows), keys: Number(keys) }))
}

/** Stops the changes of the service, and waits until the reader sees each of its rows once. */
async function readerSeesEachRow(): Promise<void> {
  await deployed.control('changes', { perSecond: 0 })
  const rows = await rowsOfService()
  expect(rows).toBeGreaterThanOrEqual(600)
  const expected = JSON.stringify([{ rows, keys: rows }])
  await eventually(async () => JSON.stringify(await rowsInLake()) === expected)
  await deployed.control('changes', { perSecond: 2 })
}

/** Returns the identifiers of the runs that each worker has logged, by the name of its container. */
async function runsByWorker(): Promise<ReadonlyMap<string, readonly string[]>> {
  const lines = (await deployed.compose('logs', '--no-color', 'lake-worker')).split('\n')
  const done = /"hostname":"([^"]+)".*"runId":"([^"]+)".*"kind":"incremental","state":"done"/
  const runs = lines.map((line) => done.exec(line)).filter((found) => found !== null)
  const found = Map.groupBy(runs, ([, host = '']) => host)
  return new Map([...found].map(([host, each]) => [host, each.map(([, , run = '']) => run)]))
}

it('is healthy with PostgreSQL, object storage, Redis, two workers and a reader', async () => {
  expect([workers.length, parts.length]).toEqual([2, 6])
  await Promise.all(parts.map(becomesHealthy))
})

it('runs without root, without capabilities and on a read-only file system', async () => {
  for (const id of parts) await expectConfined(id)
})

it('stores the rows of the service, and the reader sees each of them once', async () => {
  await readerSeesEachRow()
  expect(await deployed.askLake('/api/overview')).toMatchObject({ status: 200, owner: false })
})

it('gives runs to both workers, and those of a stopped worker to the other one', async () => {
  // On a slow machine, each run is followed by the next one on the same worker, so the other worker may wait forever.
  await eventually(async () => (await runsByWorker()).size > 0)
  const [name = ''] = (await runsByWorker()).keys()
  const stopped = workers.find((id) => id.startsWith(name)) ?? ''
  await docker('stop', '--time', '40', stopped)
  await eventually(async () => (await runsByWorker()).size === 2)
  await docker('start', stopped)
  await becomesHealthy(stopped)
  const [one = [], other = []] = (await runsByWorker()).values()
  expect(one.filter((run) => other.includes(run))).toEqual([])
})

it('shows no secret in its logs, its environment or the description of its containers', async () => {
  const environments = workers.map((id) => docker('exec', id, 'cat', '/proc/1/environ', '/proc/1/cmdline'))
  const logs = await deployed.compose('logs', '--no-color', 'lake-worker', 'lake', 'postgres', 'storage')
  const described = await docker('inspect', ...parts, 'tidemark-lake')
  const shown = [described, logs, ...(await Promise.all(environments))].join('\n')
  for (const secret of Object.values(deployed.secrets)) {
    expect(secret.length).toBeGreaterThan(40)
    expect(shown.includes(secret)).toBe(false)
  }
})

it('goes on with one worker after the other one was killed', async () => {
  const [killed = '', other = ''] = workers
  await docker('kill', killed)
  await readerSeesEachRow()
  const verified = await docker('exec', other, 'node', 'bin/tidemark.js', 'verify', 'events')
  expect(verified).toMatch(/events .* 0 +0 +0/)
})

it('ends, and loads the service of the demo into a lake with the same secrets', async () => {
  await deployed.compose('down', '--volumes')
  await writeFile(path.join(deployed.folder, 'secrets/reporting'), 'demo-secret')
  await deployed.compose('up', '-d', '--no-build', 'demo-lake')
  const both = await deployed.idsOf('demo-lake')
  expect(both).toHaveLength(2)
  await Promise.all(both.map(becomesHealthy))
  await eventually(async () => ((await rowsInLake('demo-lake'))[0]?.rows ?? 0) > 0)
  const [{ rows, keys } = { rows: 0, keys: 1 }] = await rowsInLake('demo-lake')
  expect(rows).toBe(keys)
})

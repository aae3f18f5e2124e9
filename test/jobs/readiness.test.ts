/** `/readyz` fails while a worker could store nothing: a queue that takes no writes, a full disk, a lost warehouse. */
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { JobQueues } from '../../jobs/queue/jobQueues.ts'
import { openStore } from '../../jobs/stores/openStore.ts'
import type { QueueStore } from '../../jobs/stores/store.ts'
import { systemClock } from '../../src/clock.ts'
import { readinessCheck, type WarehouseOwnership } from '../../src/worker/readiness.ts'
import { rolesOf } from '../../src/worker/roles.ts'
import { type RedisServer, startRedis } from '../support/redisServer.ts'
import { aSmallDisk, fill } from '../support/smallDisk.ts'
import { copyWarehouse } from '../support/templates.ts'
import { aFolder, openAt } from '../support/warehouse.ts'

let redis: RedisServer
let store: QueueStore
beforeAll(async () => {
  redis = await startRedis()
  store = await openStore(redis.url, { directory: '', clock: systemClock })
  await new JobQueues(store).queue('ticks').upsertJobScheduler('events', { every: 3_600_000 })
})
afterAll(async () => {
  await store.close()
  await redis.stop()
})

/** Returns a function that asks each time, because the clock has passed the two seconds of a shared answer. */
function asking(warehouse: string, ownership: WarehouseOwnership): () => Promise<boolean> {
  let nowMs = 0
  const clock = { ...systemClock, monotonicMs: () => (nowMs += 10_000) }
  return readinessCheck({ clock, warehouse, store, queues: new JobQueues(store), roles: rolesOf(undefined), ownership })
}

const standby: WarehouseOwnership = { isOwnerKnown: true }

it('a worker is ready while its queue takes writes, and not while the queue is a replica that only reads', async () => {
  await using folder = await aFolder()
  const isReady = asking(join(folder.path, 'warehouse.duckdb'), standby)
  expect(await isReady()).toBe(true)
  await redis.tell('REPLICAOF 127.0.0.1 1')
  expect(await isReady()).toBe(false)
  await redis.tell('REPLICAOF NO ONE')
  expect(await isReady()).toBe(true)
})

it('a worker is not ready while the disk of its warehouse is full', async () => {
  await using disk = await aSmallDisk(2)
  if (disk === undefined) throw new TypeError('this test mounts a small disk: run it as root')
  const isReady = asking(join(disk.path, 'warehouse.duckdb'), standby)
  expect(await isReady()).toBe(true)
  await fill(join(disk.path, 'filler'))
  expect(await isReady()).toBe(false)
  await rm(join(disk.path, 'filler'))
  expect(await isReady()).toBe(true)
})

it.each([
  ['was moved away', (path: string) => rename(path, `${path}.elsewhere`)],
  ['was replaced', (path: string) => rm(path).then(() => writeFile(path, 'another file'))],
])('an owner is not ready after the file of its warehouse %s', async (_, lose) => {
  await using folder = await aFolder()
  const path = join(folder.path, 'warehouse.duckdb')
  await copyWarehouse(path)
  await using warehouse = await openAt(path)
  const isReady = asking(path, { isOwnerKnown: true, owned: { backend: {} as never, warehouse } })
  expect(await isReady()).toBe(true)
  await lose(path)
  expect(await isReady()).toBe(false)
})

it('requests at the same time share one answer, because everybody may ask', async () => {
  await using folder = await aFolder()
  const path = join(folder.path, 'warehouse.duckdb')
  let questions = 0
  const counted = {
    checkWritable: () => {
      questions += 1
      return Promise.resolve()
    },
  }
  const parts = { clock: systemClock, warehouse: path, queues: new JobQueues(store), ownership: standby }
  const isReady = readinessCheck({ ...parts, store: counted, roles: rolesOf(undefined) })
  await Promise.all([isReady(), isReady(), isReady()])
  expect(questions).toBe(1)
})

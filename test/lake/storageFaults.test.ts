/**
 * A lake whose object storage is slow or disappears, and loaders that are killed. Nothing is lost, nothing is doubled, and
 * no mark is ahead. The retention of a worker deletes the files of killed loads.
 */
import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { Housekeeping } from '../../jobs/owner/housekeeping.ts'
import { JobQueues } from '../../jobs/queue/jobQueues.ts'
import { systemClock } from '../../src/clock.ts'
import { createLog } from '../../src/log.ts'
import { openContext } from '../../src/wiring/openContext.ts'
import { until } from '../cli/support.ts'
import { aGround } from '../jobs/stores/support.ts'
import { aWire } from '../support/storageWire.ts'
import {
  age,
  aStorageWorld,
  CATALOGUES,
  configOf,
  done,
  isOrderly,
  isWhole,
  keyless,
  parquetOf,
  postgres,
  REPORTS,
  startServers,
  storage,
  type StorageWorld,
} from './storageWorld.ts'

/** A kill and its checks take 7 to 16 s. Set TIDEMARK_TEST_KILLS for more kills. */
const KILLS = Number(process.env['TIDEMARK_TEST_KILLS'] ?? 3)
const LIMITS = { timeout: (KILLS + 5) * 180_000 }
const SEED = 20_261_126

startServers()

/** Returns the same numbers for the same seed. */
function* numbers(seed: number): Generator<number, never> {
  let state = seed >>> 0
  for (;;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    yield state / 2 ** 32
  }
}

/** Does the hourly retention of a worker. Returns the number of files that it deleted from the storage. */
async function orphansOfRetention(world: StorageWorld): Promise<number> {
  const nowhere = new Writable({ write: (_chunk, _encoding, next) => next() })
  const log = createLog({ level: 'info', pretty: false, destination: nowhere })
  const { signal } = new AbortController()
  const config = await configOf(world)
  await using opened = await openContext(config, { clock: systemClock, signal, log })
  await using ground = await aGround('postgres', postgres.url)
  const store = await ground.open()
  const { published, historyMs } = config
  const parts = { context: opened.context, queues: new JobQueues(store), log, published, historyMs }
  const removed = (await new Housekeeping(parts).do('retention', signal)) as { orphans: number }
  await store.close()
  return removed.orphans
}

/** Files of the last day stay, because a load may still be writing them. */
async function retentionRemovesOrphans(world: StorageWorld): Promise<void> {
  const before = parquetOf(world)
  expect(await orphansOfRetention(world)).toBe(0)
  for (const file of before) age(file)
  const removed = await orphansOfRetention(world)
  expect(removed).toBeGreaterThan(0)
  expect(parquetOf(world)).toHaveLength(before.length - removed)
}

describe('a storage behind a bad network', () => {
  it('that takes 200 ms for each answer: every row arrives', async () => {
    await using world = await aStorageWorld()
    await using wire = await aWire(storage.port)
    wire.delayMs = 200
    await world.lake({ lake_endpoint: wire.endpoint })
    await done(world, 'sync', '--quiet', ...REPORTS)
    await isWhole(world)
  })

  it.each(CATALOGUES)(
    'that is cut in the middle of a load, with the catalogue in %s: the load is not stored, and the next run is whole',
    async (catalogue) => {
      await using world = await aStorageWorld(catalogue)
      await using wire = await aWire(storage.port)
      await world.lake({ lake_endpoint: wire.endpoint })
      let written = 0
      wire.onRequest = (line) => {
        if (line.startsWith('PUT') && line.includes('.parquet') && (written += 1) === 2) wire.isCut = true
      }
      const cut = await world.run('sync', '--json', ...REPORTS)
      expect(cut.code, keyless(cut)).toBe(1)
      expect(keyless(cut)).toContain('STORAGE_UNREACHABLE')
      wire.isCut = false
      await done(world, 'sync', '--quiet', ...REPORTS)
      await isWhole(world)
    },
  )

  it('that loses all bytes in the middle of a load: the load ends, is not stored, and the next run is whole', async () => {
    await using world = await aStorageWorld('postgres')
    await using wire = await aWire(storage.port)
    await world.lake({ lake_endpoint: wire.endpoint })
    wire.onRequest = (line) => {
      if (line.startsWith('PUT') && line.includes('.parquet')) wire.isSilent = true
    }
    const parted = await world.run('sync', '--json', 'events')
    expect(parted.code, keyless(parted)).toBe(1)
    expect(keyless(parted)).toContain('STORAGE_UNREACHABLE')
    expect(wire.isSilent).toBe(true)
    wire.onRequest = undefined
    wire.isSilent = false
    await isOrderly(world)
    await done(world, 'sync', '--quiet', ...REPORTS)
    await isWhole(world)
  })

  it('that is cut while a worker runs, for longer than its retries: the worker says so, goes on, and is whole', async () => {
    await using world = await aStorageWorld()
    await using wire = await aWire(storage.port)
    await world.lake({ lake_endpoint: wire.endpoint })
    const env = { TIDEMARK_EVERY: '2s', TIDEMARK_REPORTS: REPORTS.join(','), TIDEMARK_RECONCILE_EVERY: 'never' }
    const worker = world.start(['worker'], { env, isTied: true })
    const read = async (report: string) => {
      const ended = await world.run('query', '--format', 'csv', `SELECT count(*) AS n FROM ${report}`)
      return Number(ended.stdout.split('\n')[1] ?? 0)
    }
    const isComplete = async (report: (typeof REPORTS)[number]) =>
      (await read(report)) >= world.sandbox.world.keys(report).length
    for (const report of REPORTS) await until(() => isComplete(report), `rows of ${report}`)
    wire.isCut = true
    for (let n = 0; n < 30; n += 1) world.sandbox.world.insert('events')
    await until(() => worker.said().includes('STORAGE_UNREACHABLE'), 'a run that fails')
    wire.isCut = false
    await until(() => isComplete('events'), 'rows of the time without storage')
    worker.kill('SIGTERM')
    const ended = await worker.ended
    expect(ended.code, keyless(ended)).toBe(0)
    await isWhole(world)
  })
})

describe.each(CATALOGUES)('loaders that are killed, with the catalogue in %s', (catalogue) => {
  it(
    `${KILLS} times at seeded moments: no row is doubled, no mark is ahead, and retention deletes the files`,
    LIMITS,
    async () => {
      await using world = await aStorageWorld(catalogue)
      await done(world, 'sync', '--quiet', ...REPORTS)
      await using wire = await aWire(storage.port)
      await world.lake({ lake_endpoint: wire.endpoint })
      const random = numbers(SEED)
      let [orphans, killed] = [0, 0]
      for (let kill = 0; kill < KILLS; kill += 1) {
        for (const report of REPORTS) for (let n = 0; n < 20; n += 1) world.sandbox.world.insert(report)
        const known = new Set(parquetOf(world))
        // The sync writes about twelve files. It is killed when it begins or has just written one of them.
        const [last, pauseMs] = [Math.floor(random.next().value * 12), Math.floor(random.next().value * 60)]
        let written = 0
        const running = world.start(['sync', '--quiet', ...REPORTS])
        wire.onRequest = (line) => {
          if (line.startsWith('PUT') && line.includes('.parquet') && (written += 1) === last + 1)
            void systemClock.sleep(pauseMs).then(() => running.kill('SIGKILL'))
        }
        if ((await running.ended).signal === 'SIGKILL') killed += 1
        wire.onRequest = undefined
        orphans += parquetOf(world).filter((file) => !known.has(file)).length
        await isOrderly(world)
      }
      expect(killed, 'loaders that were killed before their end').toBeGreaterThan(KILLS / 2)
      expect(orphans).toBeGreaterThan(0)
      await done(world, 'sync', '--quiet', ...REPORTS)
      await isWhole(world)
      await retentionRemovesOrphans(world)
      await isWhole(world)
    },
  )
})

/**
 * What goes wrong with a store in months of work: killed workers, restarted and emptied servers, two processes at once.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { JobQueues } from '../../../jobs/queue/jobQueues.ts'
import type { QueueStore } from '../../../jobs/stores/store.ts'
import { systemClock } from '../../../src/clock.ts'
import { SyncError } from '../../../src/errors.ts'
import { findPostgres, startPostgres } from '../../support/postgresServer.ts'
import { startRedis } from '../../support/redisServer.ts'
import { aGround, type Ground, grounds, QUICK_LOCKS, settingsOf, startProgram, until } from './support.ts'

describe.each(grounds)('a worker on $title', ({ lay }) => {
  let ground: Ground
  beforeAll(async () => {
    ground = await lay()
  })
  afterAll(() => ground[Symbol.asyncDispose]())

  it('that is killed loses its job to another one, again and again, and the job never fails for that', {
    tags: 'long',
    timeout: 180_000,
  }, async () => {
    const settings = { ...settingsOf(ground), STORE_QUEUE: 'held' }
    for (const add of [{ STORE_ADD: 'job-1' }, {}]) {
      await using program = startProgram('holdJob', { ...settings, ...add })
      expect(await program.line()).toBe('open')
      expect(await program.line()).toBe('holding job-1')
      await program.kill('SIGKILL')
    }
    await using store = await ground.open()
    const attempts: number[] = []
    store.worker('held', async (job) => void attempts.push(job.attemptsMade), QUICK_LOCKS)
    await until(async () => (await store.queue('held').getCompletedCount()) === 1)
    expect(attempts).toEqual([0])
    expect(await store.queue('held').getFailedCount()).toBe(0)
  })

  it('that owned the warehouse and is killed leaves its jobs to the next owner at once, not when their locks expire', {
    timeout: 60_000,
  }, async () => {
    const settings = { ...settingsOf(ground), STORE_QUEUE: 'incremental', STORE_ADD: 'job-2' }
    await using program = startProgram('holdJob', settings)
    expect(await program.line()).toBe('open')
    expect(await program.line()).toBe('holding job-2')
    await program.kill('SIGKILL')
    await using store = await ground.open()
    const queue = store.queue('incremental')
    // No worker runs here, so nothing else looks for expired locks.
    expect(await queue.getActiveCount()).toBe(1)
    expect(await new JobQueues(store).takeOverFromDeadOwner()).toBe(1)
    expect(await queue.getActiveCount()).toBe(0)
    const taken: (string | undefined)[] = []
    store.worker('incremental', async (job) => void taken.push(job.id))
    await until(async () => (await queue.getCompletedCount()) === 1)
    expect(taken).toEqual(['job-2'])
  })

  it('that closes leaves nothing open', { tags: 'long' }, async () => {
    const store = await ground.open()
    store.worker('closed', async () => undefined)
    await store.queue<object>('closed').add('one', {})
    await until(async () => (await store.queue('closed').getCompletedCount()) === 1)
    await store.close()
    await store.close()
    const again = await ground.open()
    expect(await again.workersOf('closed')).toBe(0)
    await again.close()
  })
})

describe('the embedded store', () => {
  it('serves one process, and keeps its jobs when that is killed', { tags: 'long', timeout: 180_000 }, async () => {
    await using ground = await aGround('embedded', 'embedded')
    await using first = startProgram('holdJob', { ...settingsOf(ground), STORE_QUEUE: 'kept', STORE_ADD: 'job-7' })
    expect(await first.line()).toBe('open')
    expect(await first.line()).toBe('holding job-7')
    const refusal = await failureOf(ground.open())
    expect(refusal).toMatchObject({ code: 'QUEUE_LOCKED', retry: 'transient' })
    expect(refusal.message).toMatch(/in use by process \d+$/)
    expect(refusal.cure).toContain('Redis')
    await first.kill('SIGKILL')
    await using store = await ground.open()
    expect(await store.queue('kept').getJob('job-7')).toBeDefined()
    // Nor has it room for two openings within one process.
    expect((await failureOf(ground.open())).code).toBe('QUEUE_LOCKED')
    await using refused = startProgram('holdJob', settingsOf(ground))
    expect(await refused.line()).toContain('QUEUE_LOCKED')
  })
})

/** A worker and a producer that notice an outage; what each said about it. */
async function working(store: QueueStore) {
  const done: string[] = []
  const worker = store.worker('going', async (job) => void done.push(job.name), QUICK_LOCKS)
  await worker.waitUntilReady()
  await store.queue<object>('going').add('before', {})
  await until(() => done.includes('before'))
  return done
}

describe('a Redis', () => {
  it.each([
    ['comes back with its data', ['--appendonly', 'yes', '--appendfsync', 'always']],
    ['comes back empty', []],
  ])('that is killed and %s: the worker goes on by itself', { tags: 'long' }, async (what, persistence) => {
    await using folder = await aGround('redis', 'redis://127.0.0.1')
    const isKept = what.endsWith('its data')
    const place = isKept ? ['--dir', (await import('node:path')).dirname(folder.directory)] : []
    await using redis = await startRedis({ settings: [...persistence, ...place] })
    await using ground = await aGround('redis', redis.url)
    await using store = await ground.open()
    const done = await working(store)
    await store.queue<object>('going').add('kept', {}, { delay: 1_000 })
    await redis.stop('SIGKILL')
    await expect(store.queue<object>('going').add('away', {})).rejects.toThrow()
    await redis.restart()
    await until(() => added(store, 'after'))
    await until(() => done.includes('after') && (!isKept || done.includes('kept')))
    expect(done).not.toContain('away')
  })

  it('that is away makes a command fail at once, and its token a passing trouble', async () => {
    await using redis = await startRedis()
    await using ground = await aGround('redis', redis.url)
    const store = await ground.open()
    const queue = store.queue<object>('gone')
    await queue.waitUntilReady()
    await redis.stop('SIGKILL')
    const asked = [queue.add('x', {}), queue.getJobs(['waiting']), queue.getActive(), queue.getJobSchedulers()]
    for (const call of [...asked, queue.getJobState('x'), queue.getJobCounts('waiting')])
      expect(await failureOf(call)).toMatchObject({ code: 'QUEUE_UNREACHABLE', retry: 'transient' })
    const { Secret } = await import('../../../src/secret.ts')
    const tokens = store.tokens({ identity: 'acme', secret: new Secret('s') })
    expect(await failureOf(tokens.read())).toMatchObject({ code: 'QUEUE_UNREACHABLE', retry: 'transient' })
    await store.close()
  })

  it.each([
    ['whose memory is full', 'OOM', 'CONFIG SET maxmemory 1', 'CONFIG SET maxmemory 0'],
    ['that became a replica', 'READONLY', 'REPLICAOF 127.0.0.1 1', 'REPLICAOF NO ONE'],
  ])('%s says so to who asks, as a passing trouble, and takes jobs again afterwards', async (_, word, to, back) => {
    await using redis = await startRedis({ settings: ['--maxmemory-policy', 'noeviction'] })
    await using ground = await aGround('redis', redis.url)
    await using store = await ground.open()
    const queue = store.queue<object>('full')
    await queue.waitUntilReady()
    await redis.tell(to)
    const error = await failureOf(queue.add('x', {}))
    expect(error).toMatchObject({ code: 'QUEUE_UNREACHABLE', retry: 'transient' })
    expect(error.message).toContain(word)
    expect(error.message).toContain(redis.url)
    await redis.tell(back)
    await until(() => added(store, 'after'))
  })

  it('that stays away does not keep a worker from closing', async () => {
    await using redis = await startRedis()
    await using ground = await aGround('redis', redis.url)
    const store = await ground.open()
    await working(store)
    await redis.stop('SIGKILL')
    await systemClock.sleep(200)
    await store.close()
  })
})

const postgres = findPostgres()

describe(postgres === undefined ? 'PostgreSQL is not on this machine: a Redis' : 'a PostgreSQL', () => {
  it('that is restarted in the middle: the worker goes on by itself', { tags: 'long' }, async () => {
    await using server = postgres === undefined ? await startRedis() : await startPostgres(postgres)
    await using ground = await aGround(postgres === undefined ? 'redis' : 'postgres', server.url)
    await using store = await ground.open()
    const done = await working(store)
    await server.restart()
    await until(() => added(store, 'after'))
    await until(() => done.includes('after'))
  })
})

async function added(store: QueueStore, name: string): Promise<boolean> {
  return await store
    .queue<object>('going')
    .add(name, {})
    .then(
      () => true,
      () => false,
    )
}

async function failureOf(call: Promise<unknown>): Promise<SyncError> {
  const error: unknown = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(SyncError)
  return error as SyncError
}

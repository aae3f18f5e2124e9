/** Opening a store: which one a setting names, what is refused with which cure, and that no password is ever shown. */
import { describe, expect, inject, it } from 'vitest'
import { addressOf } from '../../../jobs/stores/address.ts'
import { openStore } from '../../../jobs/stores/openStore.ts'
import { postgresFindings } from '../../../jobs/stores/postgresStore.ts'
import { redisFindings } from '../../../jobs/stores/redisStore.ts'
import { ProblemLog } from '../../../jobs/stores/problemLog.ts'
import { systemClock } from '../../../src/clock.ts'
import { SyncError } from '../../../src/errors.ts'
import { createLog } from '../../../src/log.ts'
import { findPostgres, startPostgres } from '../../support/postgresServer.ts'
import { startRedis } from '../../support/redisServer.ts'
import { freePort } from '../../support/programsOnPath.ts'
import { aGround, aPrefix, until } from './support.ts'

const PASSWORD = 'marked-pass/word&1'
const IN_URL = encodeURIComponent(PASSWORD)
const directory = '/nonexistent/never-used.queue'

async function refusal(setting: string): Promise<SyncError> {
  const opened = openStore(setting, { directory, clock: systemClock, prefix: aPrefix() })
  const error: unknown = await opened.then(
    (store) => store.close(),
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(SyncError)
  return error as SyncError
}

/** Everything that a log or a terminal could show of it. */
const shown = (error: SyncError): string =>
  [error.stack, JSON.stringify(error), error.cure, String(error.cause), JSON.stringify(error.cause)].join(' ')

describe('a setting', () => {
  it.each([
    ['embedded', 'embedded', 'embedded'],
    ['redis://queue.example:6379', 'redis', 'redis://queue.example:6379'],
    [`rediss://user:${IN_URL}@queue.example:6380/2`, 'redis', 'rediss://queue.example:6380/2'],
    [`postgres://user:${IN_URL}@db.example/jobs?sslmode=require`, 'postgres', 'postgres://db.example/jobs'],
    ['postgresql://db.example:5433/jobs', 'postgres', 'postgresql://db.example:5433/jobs'],
  ])('%s names its store', (setting, kind, text) => {
    expect(addressOf(setting)).toMatchObject({ kind, shown: text })
  })

  it.each(['', 'sqlite', `mysql://user:${IN_URL}@host/x`, `redis:/${IN_URL}`.replace('redis', 'reddis')])(
    '%o names none, and is not repeated in the error',
    async (setting) => {
      const error = await refusal(setting)
      expect(error).toMatchObject({ code: 'CONFIG_INVALID', isUsage: true })
      expect(shown(error)).not.toContain(IN_URL)
    },
  )
})

describe('a store that cannot be opened', () => {
  it.each(['redis', 'postgres'])('as nothing listens there: %s', async (kind) => {
    const error = await refusal(`${kind}://user:${IN_URL}@127.0.0.1:${await freePort()}/0`)
    expect(error).toMatchObject({ code: 'QUEUE_UNREACHABLE', retry: 'transient' })
    expect(error.message).toContain('ECONNREFUSED')
    expect(error.cure).toContain('TIDEMARK_QUEUE_URL')
    expect(shown(error)).not.toContain(IN_URL)
    expect(shown(error)).not.toContain(PASSWORD)
  })

  it('as the password is wrong, without the password in the error', async () => {
    await using redis = await startRedis({ password: 'another' })
    const error = await refusal(redis.url.replace('//', `//:${IN_URL}@`))
    expect(error).toMatchObject({ code: 'QUEUE_UNREACHABLE' })
    expect(error.message).toContain('WRONGPASS')
    expect(shown(error)).not.toContain(IN_URL)
    expect(shown(error)).not.toContain(PASSWORD)
    expect((await refusal(redis.url)).message).toContain('NOAUTH')
  })

  it('as it evicts keys, with a cure', async () => {
    await using redis = await startRedis({ settings: ['--maxmemory-policy', 'allkeys-lru'] })
    const error = await refusal(redis.url)
    expect(error).toMatchObject({ code: 'QUEUE_UNFIT', retry: 'never' })
    expect(error.message).toContain('allkeys-lru')
    expect(error.cure).toContain('noeviction')
  })

  it('as it is a replica', async () => {
    await using primary = await startRedis()
    await using replica = await startRedis({ settings: ['--replicaof', '127.0.0.1', String(primary.port)] })
    expect(await refusal(replica.url)).toMatchObject({ code: 'QUEUE_UNFIT' })
  })
})

describe('the log of a store', () => {
  it('logs an outage once, and its end, and never the password', async () => {
    await using redis = await startRedis({ password: PASSWORD })
    await using ground = await aGround('redis', redis.url.replace('//', `//:${IN_URL}@`))
    let text = ''
    const log = createLog({ level: 'trace', pretty: false, destination: { write: (line) => (text += line) } })
    const store = await ground.open({ log })
    store.worker('x', async () => undefined)
    await redis.stop('SIGKILL')
    await until(() => text.includes('has trouble'))
    await systemClock.sleep(400)
    expect(text.match(/ECONNREFUSED/g)?.length ?? 0).toBeLessThanOrEqual(2)
    await redis.restart()
    await until(() => text.includes('is back'))
    await store.close()
    expect(text).not.toContain(PASSWORD)
    expect(text).not.toContain(IN_URL)
  })
})

describe('the log of problems', () => {
  it('logs each problem once a minute, however many alternate and whichever script of Redis has them', () => {
    const lines: string[] = []
    const log = createLog({ level: 'trace', pretty: false, destination: { write: (line) => void lines.push(line) } })
    const problems = new ProblemLog({ log, clock: systemClock }, (text) => text)
    const full = "OOM command not allowed when used memory > 'maxmemory'."
    for (let turn = 0; turn < 10; turn += 1) {
      problems.log(new Error(`${full} script: 1e9bb7deb6219644a634d32c430ce15ed39a377e, on @user_script:119.`))
      problems.log(new Error(`${full} script: d96ca626f1ea141b44a856b312fc636d99aa9ea9, on @user_script:217.`))
      problems.log(new Error('connect ECONNREFUSED 127.0.0.1:6379'))
    }
    expect(lines.map((line) => /OOM|ECONNREFUSED/.exec(line)?.[0])).toEqual(['OOM', 'ECONNREFUSED'])
  })
})

describe('check', () => {
  it('of an open store looks again: a Redis that was set to evict keys fails', async () => {
    await using redis = await startRedis()
    await using ground = await aGround('redis', redis.url)
    await using store = await ground.open()
    const states = async () => (await store.check()).map(({ state }) => state)
    expect(await states()).not.toContain('failed')
    const { Redis } = await import('ioredis')
    const operator = new Redis(redis.url)
    await operator.config('SET', 'maxmemory-policy', 'volatile-lru')
    operator.disconnect()
    expect(await states()).toContain('failed')
  })

  it('judges the Redis of this run by its version', async () => {
    await using ground = await aGround('redis', inject('redisUrl'))
    await using store = await ground.open()
    expect((await store.check())[0]).toMatchObject({ what: expect.stringMatching(/^(Redis|Valkey) \d+\./) as string })
  })

  it('of the embedded store names its directory', { tags: 'long' }, async () => {
    await using ground = await aGround('embedded', 'embedded')
    await using store = await ground.open()
    expect(await store.check()).toEqual([{ state: 'passed', what: `embedded, in ${ground.directory}` }])
  })
})

const stateOf = (info: string, facts: { save?: string; policy?: string } = {}) => {
  const states = redisFindings({ info, save: facts.save, policy: facts.policy }).map(({ state }) => state)
  return (['failed', 'warned'] as const).find((state) => states.includes(state)) ?? 'passed'
}

describe('the findings on a Redis', () => {
  const fit =
    'redis_version:7.4.0\r\nrole:master\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\ncluster_enabled:0\r\n'
  it.each([
    ['a fit one', fit, 'passed'],
    ['Valkey, which calls itself Redis 7 as well', `${fit}valkey_version:8.1.0\r\n`, 'passed'],
    ['one below 5', fit.replace('7.4.0', '4.0.14'), 'failed'],
    ['one below 6.2', fit.replace('7.4.0', '6.0.20'), 'warned'],
    ['one that tells no version', fit.replace('redis_version:7.4.0', ''), 'warned'],
    ['one that evicts', fit.replace('noeviction', 'allkeys-lru'), 'failed'],
    ['one that does not tell whether it evicts', fit.replace('maxmemory_policy:noeviction', ''), 'warned'],
    ['one without append-only file', fit.replace('aof_enabled:1', 'aof_enabled:0'), 'warned'],
    ['one whose memory is full', `${fit}used_memory:1048577\r\nmaxmemory:1048576\r\n`, 'warned'],
    ['one that has room', `${fit}used_memory:1048575\r\nmaxmemory:1048576\r\n`, 'passed'],
    ['one without a limit', `${fit}used_memory:1048577\r\nmaxmemory:0\r\n`, 'passed'],
    ['a replica', fit.replace('master', 'slave'), 'failed'],
    ['a cluster', fit.replace('cluster_enabled:0', 'cluster_enabled:1'), 'failed'],
  ])('%s', (_, info, state) => {
    expect(stateOf(info)).toBe(state)
  })

  it('take the policy from the configuration where INFO does not tell it', () => {
    const silent = fit.replace('maxmemory_policy:noeviction', '')
    expect(stateOf(silent, { policy: 'noeviction' })).toBe('passed')
    expect(stateOf(silent, { policy: 'volatile-ttl' })).toBe('failed')
  })

  it('always say how to mend what they find', () => {
    const bad = 'redis_version:3.2\r\nrole:slave\r\nmaxmemory_policy:allkeys-lru\r\naof_enabled:0\r\n'
    for (const { state, cure } of redisFindings({ info: bad, save: '', policy: undefined })) {
      expect(state).not.toBe('passed')
      expect(cure).toMatch(/\S.{10}/)
    }
  })
})

describe('the findings on a PostgreSQL', () => {
  const fit = {
    version: '15.18',
    is_replica: false,
    read_only: 'off',
    fsync: 'on',
    synchronous_commit: 'on',
  }
  const statesOf = (facts: typeof fit) => postgresFindings(facts).map(({ state }) => state)

  it.each([
    ['a fit one', {}, ['passed', 'passed', 'passed']],
    ['one that is too old', { version: '12.22' }, ['failed', 'passed', 'passed']],
    ['an old one', { version: '13.22 (Debian 13.22-1)' }, ['warned', 'passed', 'passed']],
    ['a replica', { is_replica: true }, ['passed', 'failed', 'passed']],
    ['a read-only database', { read_only: 'on' }, ['passed', 'failed', 'passed']],
    ['one that does not sync', { fsync: 'off' }, ['passed', 'passed', 'warned']],
  ])('%s', (_, change, states) => {
    expect(statesOf({ ...fit, ...change })).toEqual(states)
  })
})

const programs = findPostgres()

describe(programs === undefined ? 'without a PostgreSQL on this machine, an address' : 'a PostgreSQL', () => {
  it('that has no such database or gives this user no right to make tables is refused, with what to do', {
    tags: 'long',
  }, async () => {
    if (programs === undefined) return expect(addressOf('postgres://db/x').kind).toBe('postgres')
    await using server = await startPostgres(programs)
    expect((await refusal(server.url.replace(/postgres$/, 'nonesuch'))).message).toContain('does not exist')
    const { default: pg } = await import('pg')
    const admin = new pg.Client({ connectionString: server.url })
    await admin.connect()
    await admin.query('CREATE ROLE guest LOGIN')
    await admin.end()
    const error = await refusal(server.url.replace('tidemark@', 'guest@'))
    expect(error).toMatchObject({ code: 'QUEUE_UNFIT', retry: 'never' })
    expect(error.cure).toContain('GRANT CREATE')
  })
})

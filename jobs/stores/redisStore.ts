/** The queue store on Redis. */
import { createRedisBackend } from 'bullmq'
import { Redis, ReplyError, type RedisOptions } from 'ioredis'
import { type ServerAddress, withoutSecrets } from './address.ts'
import type { SharedValues } from './sharedTokens.ts'
import { composeStore, type Opening, type QueueStore, refuseUnfit, type StoreFinding, versionFinding } from './store.ts'
import { messageOf, ProblemLog, unfitError, unreachableError } from './problemLog.ts'

const CONNECT_MS = 5_000
const RECONNECT_MS_MIN = 50
const RECONNECT_MS_MAX = 2_000
/** After this time, a call fails. Otherwise it would wait forever for a frozen server. */
const ANSWER_MS = 15_000

/** The number of completed jobs, and of failed jobs, that a queue keeps. Each job takes up memory in Redis. */
const ENDED_MAX = 1_000

const SHARED = {
  lazyConnect: true,
  connectTimeout: CONNECT_MS,
  keepAlive: 10_000,
  retryStrategy: (times: number) => Math.min(RECONNECT_MS_MAX, RECONNECT_MS_MIN * 2 ** Math.min(times, 10)),
} satisfies RedisOptions
const ASKING = {
  ...SHARED,
  maxRetriesPerRequest: 1,
  enableOfflineQueue: false,
} satisfies RedisOptions
const WAITING = { ...SHARED, maxRetriesPerRequest: null } satisfies RedisOptions

/** Opens the store. Throws QUEUE_UNREACHABLE or QUEUE_UNFIT. */
export async function openRedisStore(address: ServerAddress, opening: Opening): Promise<QueueStore> {
  const problems = new ProblemLog(opening, (text) => withoutSecrets(text, address))
  const { answerMs: commandTimeout = ANSWER_MS } = opening
  const asking = await connect(new Redis(address.url.href, { ...ASKING, commandTimeout }), address)
  const waiting = new Redis(address.url.href, WAITING)
  for (const redis of [asking, waiting]) redis.on('error', problems.log).on('ready', problems.reset)
  try {
    refuseUnfit(address.shown, await findingsOf(asking))
    const { db = 0 } = asking.options
    // Without this check, ioredis would use database 0 in place of one that the server refuses.
    if (db !== 0) await asking.select(db).catch((error: unknown) => refuseDatabase(db, address, error))
    await waiting.connect()
  } catch (error) {
    for (const redis of [asking, waiting]) redis.disconnect()
    throw error
  }
  return composeStore(opening, {
    kind: 'redis',
    shown: address.shown,
    backend: createRedisBackend,
    asking,
    waiting,
    problems,
    // Only Redis has this limit: with it, two workers on PostgreSQL would wait for each other's locks without end.
    endedMax: ENDED_MAX,
    isConnected: () => asking.status === 'ready',
    values: redisValues(asking, opening.prefix),
    check: () => findingsOf(asking),
    workersOf: async (queue) => (await queue.getWorkers()).filter(isInDatabaseOf(asking)).length,
    release: async () => {
      for (const redis of [asking, waiting]) redis.disconnect()
    },
  })
}

function refuseDatabase(db: number, address: ServerAddress, error: unknown): never {
  if (!(error instanceof ReplyError)) throw unreachableError(address, error)
  const cure = 'Use another number at the end of the address, or raise "databases" in redis.conf.'
  throw unfitError(address.shown, `database ${db} cannot be used: ${messageOf(error)}`, cure)
}

/** Returns a filter for workers of the connection's database. Redis lists the workers of all databases. */
const isInDatabaseOf =
  ({ options }: Redis) =>
  ({ db }: Readonly<Record<string, string | undefined>>): boolean =>
    db === undefined || db === String(options.db ?? 0)

/** Connects, or throws the reason from the last error event, because the error of `connect` itself lacks it. */
async function connect(redis: Redis, address: ServerAddress): Promise<Redis> {
  let why: unknown
  const note = (error: unknown) => (why = error)
  redis.on('error', note)
  try {
    await redis.connect()
    return redis
  } catch (error) {
    redis.disconnect()
    throw unreachableError(address, why ?? error)
  } finally {
    // After a failure, the listener stays: ioredis prints errors for which there is no listener.
    if (redis.status === 'ready') redis.off('error', note)
  }
}

async function findingsOf(redis: Redis): Promise<readonly StoreFinding[]> {
  const [save, policy] = [await readSetting(redis, 'save'), await readSetting(redis, 'maxmemory-policy')]
  return redisFindings({ info: await redis.info(), save, policy })
}

/** Returns undefined if the server forbids CONFIG, as many hosted servers do. */
async function readSetting(redis: Redis, name: string): Promise<string | undefined> {
  const answer: unknown = await redis.config('GET', name).catch(() => undefined)
  return Array.isArray(answer) ? String(answer[1] ?? '') : undefined
}

interface RedisFacts {
  readonly info: string
  readonly save: string | undefined
  readonly policy: string | undefined
}

export function redisFindings(facts: RedisFacts): readonly StoreFinding[] {
  const fields = fieldsOf(facts.info)
  const policy = fields.get('maxmemory_policy') ?? facts.policy
  return [version(fields), role(fields), eviction(policy), ...memory(fields), persistence(fields, facts)]
}

function version(fields: ReadonlyMap<string, string>): StoreFinding {
  const product = fields.has('valkey_version') ? 'Valkey' : 'Redis'
  const version = fields.get('valkey_version') ?? fields.get('redis_version') ?? 'of unknown version'
  return versionFinding(`${product} ${version}`, version, { product: 'Redis', min: 5, advised: 6.2 })
}

function role(fields: ReadonlyMap<string, string>): StoreFinding {
  if (fields.get('role') === 'slave') {
    return { state: 'failed', what: 'it is a read-only replica', cure: 'Use the address of the primary.' }
  }
  if (fields.get('cluster_enabled') === '1') {
    const cure = 'Use a Redis that is not a cluster. One small server is enough for all jobs.'
    return { state: 'failed', what: 'it is a cluster', cure }
  }
  return { state: 'passed', what: 'takes writes' }
}

function eviction(policy: string | undefined): StoreFinding {
  const cure = 'Run: redis-cli CONFIG SET maxmemory-policy noeviction; and set it in redis.conf.'
  if (policy === undefined) return { state: 'warned', what: 'the server does not show whether it evicts keys', cure }
  if (policy === 'noeviction') return { state: 'passed', what: 'never evicts keys' }
  return { state: 'failed', what: `it may evict keys, and with them jobs (maxmemory-policy ${policy})`, cure }
}

function memory(fields: ReadonlyMap<string, string>): readonly StoreFinding[] {
  const [used = 0, max = 0] = ['used_memory', 'maxmemory'].map((name) => Number(fields.get(name) ?? 0))
  if (max === 0 || used < max) return []
  const cure = 'Raise maxmemory of this Redis, or find out what else fills it.'
  return [{ state: 'warned', what: `its memory is full (maxmemory ${max} bytes): it takes no jobs`, cure }]
}

/** Warns if Redis can lose data in a restart. It is only a warning, because a worker creates lost jobs again. */
function persistence(fields: ReadonlyMap<string, string>, { save }: RedisFacts): StoreFinding {
  const aof = fields.get('aof_enabled')
  if (aof === '1') return { state: 'passed', what: 'keeps its data over a restart' }
  const cure = 'Set appendonly yes in redis.conf.'
  if (aof === undefined) return { state: 'warned', what: 'the server does not show whether it keeps its data', cure }
  const lost = save === '' ? 'keeps nothing over a restart' : 'may lose the last minutes in a crash'
  return { state: 'warned', what: `${lost} (appendonly no)`, cure }
}

const fieldsOf = (info: string): ReadonlyMap<string, string> =>
  new Map(info.matchAll(/^([^#:\r\n]+):(.*)$/gm).map(([, name = '', value = '']) => [name, value.trim()]))

const READ = `local text = redis.call('GET', KEYS[1])
if not text then return false end
return {text, redis.call('PTTL', KEYS[1])}`

const RENEW = `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`

const REMOVE = `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`

const PROLONG = `if redis.call('PTTL', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], '', 'PX', ARGV[1])
return 1`

/** Stores values in Redis. Each script reads and writes in one step, so that no other process writes in between. */
function redisValues(redis: Redis, prefix: string): SharedValues {
  const key = (name: string) => `${prefix}-shelf:${name}`
  const run = (script: string, name: string, ...values: (string | number)[]) =>
    redis.eval(script, 1, key(name), ...values)
  return {
    read: async (name) => {
      const found = (await run(READ, name)) as [string, number] | null
      return found === null ? undefined : { text: found[0], remainingMs: found[1] }
    },
    write: async (name, text, ms) => void (await redis.set(key(name), text, 'PX', whole(ms))),
    claim: async (name, text, ms) => (await redis.set(key(name), text, 'PX', whole(ms), 'NX')) === 'OK',
    renew: async (name, text, ms) => (await run(RENEW, name, text, whole(ms))) === 1,
    remove: async (name, text) => void (await run(REMOVE, name, text)),
    prolong: async (name, ms) => void (await run(PROLONG, name, whole(ms))),
  }
}

/** Rounds a time up, because Redis accepts only positive integers. */
const whole = (ms: number): number => Math.max(1, Math.ceil(ms))

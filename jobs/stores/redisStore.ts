/**
 * The queue store on Redis. All queues share two connections. One fails at once when Redis is unreachable, so that a
 * command never hangs. The other one waits until Redis is reachable again. BullMQ copies it for blocking calls.
 */
import { createRedisBackend } from 'bullmq'
import { Redis, type RedisOptions } from 'ioredis'
import { type ServerAddress, withoutSecrets } from './address.ts'
import { Queues } from './queues.ts'
import { redisFindings } from './redisFindings.ts'
import { RedisValues } from './redisValues.ts'
import type { Opening, QueueStore, StoreFinding } from './store.ts'
import { composeStore } from './composeStore.ts'
import { messageOf, Troubles, unfit, unreachable, unwilling } from './troubles.ts'

const CONNECT_MS = 5_000
const RECONNECT_MS_MIN = 50
const RECONNECT_MS_MAX = 2_000
/** Milliseconds after which a call fails. A frozen server closes no connection, so its calls would wait forever. */
const ANSWER_MS = 15_000

/** Maximum number of ended jobs in a queue. They take memory: one run per second leaves thousands per hour. */
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
  commandTimeout: ANSWER_MS,
} satisfies RedisOptions
const WAITING = { ...SHARED, maxRetriesPerRequest: null } satisfies RedisOptions

/** Connects and checks whether this Redis is fit. Throws QUEUE_UNREACHABLE, QUEUE_UNFIT. */
export async function openRedisStore(
  address: ServerAddress,
  { clock, log, prefix, leaseMs, telemetry }: Opening,
): Promise<QueueStore> {
  const mask = (text: string) => withoutSecrets(text, address)
  const troubles = new Troubles({ log, clock, mask })
  const asking = await connected(new Redis(address.url.href, ASKING), address)
  const waiting = new Redis(address.url.href, WAITING)
  for (const redis of [asking, waiting]) redis.on('error', troubles.tell).on('ready', troubles.isOver)
  try {
    await refuseUnfit(asking, address)
    await waiting.connect()
  } catch (error) {
    for (const redis of [asking, waiting]) redis.disconnect()
    throw error
  }
  const queues = new Queues({
    backend: createRedisBackend,
    prefix,
    asking,
    waiting,
    onError: troubles.tell,
    unwilling: (error) => unwilling(address.shown, mask(messageOf(error))),
    telemetry,
    // Only Redis has this limit. On PostgreSQL it makes BullMQ deadlock and turns successes into failures.
    endedMax: ENDED_MAX,
    isConnected: () => asking.status === 'ready',
  })
  return composeStore({
    kind: 'redis',
    clock,
    queues,
    values: new RedisValues(asking, prefix),
    mask,
    leaseMs,
    check: () => findingsOf(asking),
    workersOf: async (name) => (await queues.queue(name).getWorkers()).filter(isOf(asking)).length,
    release: async () => {
      for (const redis of [asking, waiting]) redis.disconnect()
    },
  })
}

/**
 * Returns whether a listed connection uses our database. Redis lists the connections of all databases, and workers of
 * another installation have the same names but do not take our jobs. If a server hides the database, the connection
 * counts as ours.
 */
const isOf =
  ({ options }: Redis) =>
  ({ db }: Readonly<Record<string, string | undefined>>): boolean =>
    db === undefined || db === String(options.db ?? 0)

/** Connects to Redis. `connect` fails only with "connection is closed"; the real reason is in the error events. */
async function connected(redis: Redis, address: ServerAddress): Promise<Redis> {
  let why: unknown
  const note = (error: unknown) => {
    why = error
  }
  redis.on('error', note)
  try {
    await redis.connect()
    return redis
  } catch (error) {
    redis.disconnect()
    throw unreachable(address, why ?? error)
  } finally {
    // The listener stays until the connection is ready, because ioredis prints errors that have no listener.
    if (redis.status === 'ready') redis.off('error', note)
  }
}

async function refuseUnfit(redis: Redis, address: ServerAddress): Promise<void> {
  const failed = (await findingsOf(redis)).find(({ state }) => state === 'failed')
  if (failed !== undefined) throw unfit(address.shown, failed.what, failed.cure ?? '')
}

async function findingsOf(redis: Redis): Promise<readonly StoreFinding[]> {
  const info = await redis.info()
  return redisFindings({ info, save: await asked(redis, 'save'), policy: await asked(redis, 'maxmemory-policy') })
}

/** Returns the response to CONFIG GET; undefined if the server forbids CONFIG, as many hosted servers do. */
async function asked(redis: Redis, name: string): Promise<string | undefined> {
  try {
    const answer: unknown = await redis.config('GET', name)
    return Array.isArray(answer) ? String(answer[1] ?? '') : undefined
  } catch {
    return undefined
  }
}

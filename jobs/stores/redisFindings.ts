/** Decides from the INFO of a Redis server whether it is fit to store jobs. Pure, so that tests reach all findings. */
import type { StoreFinding } from './store.ts'

export interface RedisFacts {
  /** The response to INFO. */
  readonly info: string
  /** The response to CONFIG GET save; undefined if the server forbids CONFIG. */
  readonly save: string | undefined
  /** The response to CONFIG GET maxmemory-policy, in case INFO lacks it; undefined if the server forbids CONFIG. */
  readonly policy: string | undefined
}

/** BullMQ's scripts need at least this version. */
const VERSION_MIN = [5, 0] as const
const VERSION_ADVISED = [6, 2] as const

export function redisFindings(facts: RedisFacts): readonly StoreFinding[] {
  const told = fieldsOf(facts.info)
  const policy = told.get('maxmemory_policy') ?? facts.policy
  return [version(told), role(told), eviction(policy), ...room(told), persistence(told, facts)]
}

function version(told: ReadonlyMap<string, string>): StoreFinding {
  const text = told.get('valkey_version') ?? told.get('redis_version') ?? ''
  const product = told.has('valkey_version') ? 'Valkey' : 'Redis'
  const what = `${product} ${text === '' ? 'of unknown version' : text}`
  const cure = 'Use Redis 6.2 or newer.'
  if (text === '') return { state: 'warned', what, cure }
  if (isOlder(text, VERSION_MIN)) return { state: 'failed', what: `${what} is too old`, cure }
  return isOlder(text, VERSION_ADVISED) ? { state: 'warned', what: `${what} is old`, cure } : { state: 'passed', what }
}

function role(told: ReadonlyMap<string, string>): StoreFinding {
  if (told.get('role') === 'slave') {
    return { state: 'failed', what: 'it is a read-only replica', cure: 'Give the address of the primary.' }
  }
  if (told.get('cluster_enabled') === '1') {
    const cure = 'Use a Redis that is no cluster: one small server carries far more jobs than there are.'
    return { state: 'failed', what: 'it is a cluster', cure }
  }
  return { state: 'passed', what: 'takes writes' }
}

function eviction(policy: string | undefined): StoreFinding {
  const cure = 'Run: redis-cli CONFIG SET maxmemory-policy noeviction; and set it in redis.conf.'
  if (policy === undefined) return { state: 'warned', what: 'whether it evicts keys is not told', cure }
  if (policy === 'noeviction') return { state: 'passed', what: 'never evicts keys' }
  return { state: 'failed', what: `it may evict keys, and with them jobs (maxmemory-policy ${policy})`, cure }
}

/** Full memory is only a warning: a worker waits until memory is free again. */
function room(told: ReadonlyMap<string, string>): readonly StoreFinding[] {
  const [used = 0, max = 0] = ['used_memory', 'maxmemory'].map((name) => Number(told.get(name) ?? 0))
  if (max === 0 || used < max) return []
  const cure = 'Raise maxmemory of this Redis, or see what else fills it.'
  return [{ state: 'warned', what: `its memory is full (maxmemory ${max} bytes): it takes no jobs`, cure }]
}

/** Losing data is only a warning: schedules and windows are restored from the configuration and the warehouse. */
function persistence(told: ReadonlyMap<string, string>, { save }: RedisFacts): StoreFinding {
  const aof = told.get('aof_enabled')
  if (aof === '1') return { state: 'passed', what: 'keeps its data over a restart' }
  const cure = 'Set appendonly yes in redis.conf.'
  if (aof === undefined) return { state: 'warned', what: 'whether it keeps its data is not told', cure }
  const lost = save === '' ? 'keeps nothing over a restart' : 'may lose the last minutes in a crash'
  return { state: 'warned', what: `${lost} (appendonly no)`, cure }
}

function fieldsOf(info: string): ReadonlyMap<string, string> {
  const lines = info.split(/\r?\n/).filter((line) => line.includes(':') && !line.startsWith('#'))
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]))
}

function isOlder(text: string, [major, minor]: readonly [number, number]): boolean {
  const [hasMajor = 0, hasMinor = 0] = text.split('.').map((part) => Number.parseInt(part, 10))
  return hasMajor < major || (hasMajor === major && hasMinor < minor)
}

/** Texts that processes share through Redis. Each script reads and writes without a write by others in between. */
import type { Redis } from 'ioredis'
import type { StoredValue, SharedValues } from './sharedValues.ts'

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

export class RedisValues implements SharedValues {
  readonly #redis: Redis
  readonly #prefix: string

  constructor(redis: Redis, prefix: string) {
    this.#redis = redis
    this.#prefix = prefix
  }

  async read(name: string): Promise<StoredValue | undefined> {
    const found = (await this.#redis.eval(READ, 1, this.#key(name))) as [string, number] | null
    return found === null ? undefined : { text: found[0], remainingMs: found[1] }
  }

  async write(name: string, text: string, ms: number): Promise<void> {
    await this.#redis.set(this.#key(name), text, 'PX', whole(ms))
  }

  async claim(name: string, text: string, ms: number): Promise<boolean> {
    return (await this.#redis.set(this.#key(name), text, 'PX', whole(ms), 'NX')) === 'OK'
  }

  async renew(name: string, text: string, ms: number): Promise<boolean> {
    return (await this.#redis.eval(RENEW, 1, this.#key(name), text, whole(ms))) === 1
  }

  async remove(name: string, text: string): Promise<void> {
    await this.#redis.eval(REMOVE, 1, this.#key(name), text)
  }

  async prolong(name: string, ms: number): Promise<void> {
    await this.#redis.eval(PROLONG, 1, this.#key(name), whole(ms))
  }

  #key(name: string): string {
    return `${this.#prefix}-shelf:${name}`
  }
}

/** Redis accepts only whole, positive milliseconds. */
const whole = (ms: number): number => Math.max(1, Math.ceil(ms))

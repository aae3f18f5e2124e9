/** Decides where the tests get their Redis from. No decision leads to skipped tests. */
import { installing } from './apt.ts'

export interface Machine {
  readonly redisUrl: string | undefined
  /** The path of `redis-server`. */
  readonly server: string | undefined
  readonly hasDockerEngine: boolean
  /** True on Debian or Ubuntu with permission to install packages. */
  readonly mayInstall: boolean
}

export type RedisChoice =
  | { readonly way: 'given'; readonly url: string }
  | { readonly way: 'spawn'; readonly server: string }
  | { readonly way: 'container' }
  | { readonly way: 'install' }
  | { readonly way: 'none'; readonly message: string }

export const INSTALL = installing('redis-server')

/** Prefers the Redis in the variable, then the fastest to start. */
export function chooseRedis({ redisUrl, server, hasDockerEngine, mayInstall }: Machine): RedisChoice {
  if (redisUrl !== undefined && redisUrl !== '') return { way: 'given', url: redisUrl }
  if (server !== undefined) return { way: 'spawn', server }
  if (hasDockerEngine) return { way: 'container' }
  if (mayInstall) return { way: 'install' }
  return {
    way: 'none',
    message: 'The tests need a real Redis. Type: brew install redis   (or: sudo apt-get install redis-server)',
  }
}

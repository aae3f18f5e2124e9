/** Opens the queue store that the `queue` setting names. The caller closes it. */
import { assert } from '../../src/errors.ts'
import { addressOf } from './address.ts'
import type { OpenOptions, QueueStore } from './store.ts'

export type { OpenOptions } from './store.ts'

export const PREFIX = 'tidemark_queue'
/** The prefix becomes part of names in PostgreSQL, and PostgreSQL cuts names at 63 characters. */
const PREFIX_FORM = /^[a-z][a-z\d_]{0,39}$/

/** Opens the store. Throws CONFIG_INVALID, QUEUE_UNREACHABLE, QUEUE_UNFIT, QUEUE_LOCKED or, if embedded, DISK_FULL. */
export async function openStore(setting: string, options: OpenOptions): Promise<QueueStore> {
  const { prefix = PREFIX } = options
  assert(PREFIX_FORM.test(prefix), 'a prefix is made of small letters, digits and underscores, 40 at most')
  const address = addressOf(setting)
  const opening = { ...options, prefix }
  if (address.kind === 'redis') return (await import('./redisStore.ts')).openRedisStore(address, opening)
  if (address.kind === 'postgres') return (await import('./postgresStore.ts')).openPostgresStore(address, opening)
  return (await import('./embeddedStore.ts')).openEmbeddedStore(opening)
}

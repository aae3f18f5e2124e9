/** Opens the queue store that the setting `queue` names. */
import { addressOf } from './address.ts'
import type { OpenOptions, QueueStore } from './store.ts'

export type { OpenOptions } from './store.ts'

export const PREFIX = 'tidemark_queue'

/** Throws CONFIG_INVALID, QUEUE_UNREACHABLE, QUEUE_UNFIT, QUEUE_LOCKED, DISK_FULL or WAREHOUSE_MISSING. */
export async function openStore(setting: string, options: OpenOptions): Promise<QueueStore> {
  const address = addressOf(setting)
  const opening = { ...options, prefix: options.prefix ?? PREFIX }
  if (address.kind === 'redis') return (await import('./redisStore.ts')).openRedisStore(address, opening)
  if (address.kind === 'postgres') return (await import('./postgresStore.ts')).openPostgresStore(address, opening)
  return (await import('./embeddedStore.ts')).openEmbeddedStore(opening)
}

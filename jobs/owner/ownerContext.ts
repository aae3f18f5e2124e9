/** What the owner opens once for all of its runs; each run adds its own signal, progress and fence. */
import type { SyncContext } from '../../src/sync/context.ts'

export type OwnerContext = Omit<SyncContext, 'signal' | 'onProgress' | 'onOutcome' | 'fence'>

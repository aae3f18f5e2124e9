/** The options of a soak, and the objects that its parts share. */
import type { World } from '../../test/cli/support.ts'
import type { RedisServer } from '../../test/support/redisServer.ts'
import type { Witness } from './witness.ts'
import type { Workers } from './workers.ts'

export interface SoakOptions {
  readonly seconds: number
  readonly workers: number
  readonly seed: number
  readonly changesPerSecond: number
  readonly killEverySeconds: number
  readonly freezeSeconds: number
  readonly tell: (line: string) => void
  /** How long the lock of a job is valid. Undefined: Tidemark's default. */
  readonly lockMs?: number
}

export interface Soak {
  readonly options: SoakOptions
  readonly world: World
  readonly redis: RedisServer
  readonly workers: Workers
  readonly witness: Witness
  readonly notes: { frozen: string; changes: number; backfills: number }
}

export const TOKEN_SECONDS = 60
export const TOKENS_A_MINUTE = 3
/** Time between two reads of the service's log. */
export const WATCH_MS = 500

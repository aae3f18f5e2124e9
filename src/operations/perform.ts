/** Executes an operation in the worker that owns the warehouse or, without a worker, in the calling process. */
import { hostname, userInfo } from 'node:os'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { ActingRequest, AnswerOf } from './contract.ts'
import type { Surroundings } from './engine.ts'
import { findWorker } from './worker.ts'

/** The process that executes an operation: the worker that owns the warehouse, or the calling process. */
export type Place = 'worker' | 'here'

export interface PerformOptions {
  readonly config: Config
  readonly clock: Clock
  /** If a worker executes the operation, the signal ends only the wait for its answer. */
  readonly signal: AbortSignal
  readonly begin: (place: Place) => Promise<Surroundings>
}

/** Throws CANCELLED or the operation's error. Errors of single reports are in the answer. */
export async function perform<R extends ActingRequest>(
  request: R,
  { config, clock, signal, begin }: PerformOptions,
): Promise<AnswerOf<R['do']>> {
  await using worker = await findWorker(config, clock)
  await using around = await begin(worker === undefined ? 'here' : 'worker')
  const caller = { by: `${userInfo().username}@${hostname()}`, tell: around.tell, signal }
  if (worker !== undefined) return await worker.ask(request, caller)
  // The modules of runs are imported only if they are needed, because imports are slow.
  const { performHere } = await import('./ownEngine.ts')
  return await performHere(request, caller, { config, clock, ...around })
}

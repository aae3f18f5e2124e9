/** Executes an operation in the worker that owns the warehouse or, without a worker, in the calling process. */
import { hostname, userInfo } from 'node:os'
import type { ActingRequest, AnswerOf, OperationEvent } from './contract.ts'
import type { Host } from './surroundings.ts'
import { findWorker } from './findWorker.ts'

/** The process that executes an operation: the worker that owns the warehouse, or the calling process. */
export type Place = 'worker' | 'here'

/** An event of an operation. The first event is `place`. */
export type PerformEvent = OperationEvent | { readonly place: Place }

export interface PerformOptions {
  /** Stops the operation. If a worker executes the operation, only ends the wait, and the operation continues. */
  readonly signal: AbortSignal
  readonly onEvent: (event: PerformEvent) => void
}

/** Executes the operation. Errors of single reports are in the answer. */
export async function perform<R extends ActingRequest>(
  request: R,
  host: Host,
  { signal, onEvent }: PerformOptions,
): Promise<AnswerOf<R['do']>> {
  const { config, clock } = host
  await using worker = await findWorker(config, clock)
  onEvent({ place: worker === undefined ? 'here' : 'worker' })
  const caller = { by: `${userInfo().username}@${hostname()}`, onEvent, signal }
  if (worker !== undefined) return await worker.ask(request, caller)
  // Imported only when needed, because these modules load slowly.
  const [{ performHere }, { openSurroundings }] = await Promise.all([
    import('./performHere.ts'),
    import('./surroundings.ts'),
  ])
  await using around = await openSurroundings(host)
  return await performHere(request, caller, { config, clock, ...around })
}

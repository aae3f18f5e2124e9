/**
 * Which run the code that is executing belongs to. It travels with asynchronous calls, so that what is logged deep
 * inside (a request that was sent again, a statement that was slow) carries the run's name without every room passing
 * it on.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

export interface RunContext {
  readonly runId: string
  readonly report: string
}

const runs = new AsyncLocalStorage<RunContext>()

/** Does the work as that run. */
export const inRun = <T>(context: RunContext, work: () => T): T => runs.run(context, work)

/** Undefined outside of runs. */
export const runNow = (): RunContext | undefined => runs.getStore()

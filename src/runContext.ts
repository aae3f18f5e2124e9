/** The run to which the executing code belongs, so that a log line from any depth has the run's identifier. */
import { AsyncLocalStorage } from 'node:async_hooks'

export interface RunContext {
  readonly runId: string
  readonly report: string
}

const runs = new AsyncLocalStorage<RunContext>()

/** Runs `work` as part of the run. Its log lines then have the run's identifier and report. */
export const inRun = <T>(context: RunContext, work: () => T): T => runs.run(context, work)

/** Returns the run to which the executing code belongs, or undefined outside of runs. */
export const runNow = (): RunContext | undefined => runs.getStore()

/**
 * A sync as the commands run it: rooms opened, reports run, the copy published, everything closed, and what came of it.
 */
import type { ReportName } from '../../schema/index.ts'
import type { Config } from '../config/config.ts'
import { asSyncError } from '../errors.ts'
import { syncAll } from '../sync/syncAll.ts'
import { ownWork } from './ownWork.ts'
import { type Listener, openContext, type OpenContext } from '../wiring/openContext.ts'
import type { Shell } from './shell.ts'
import { marksOf } from '../status/standing.ts'
import type { Summary } from './summary.ts'
import type { Loudness } from './voices.ts'

export interface SyncRun {
  readonly config: Config
  readonly wanted: readonly ReportName[]
  readonly loudness: Loudness
}

/** Errors: those of opening; CANCELLED when somebody asked to stop. What fails for one report is in the summary. */
export async function runSync(shell: Shell, { config, wanted, loudness }: SyncRun): Promise<Summary> {
  const { clock, stop } = shell
  const startedMs = clock.monotonicMs()
  await using own = await ownWork(shell, config, loudness)
  const { log, view, observe } = own
  using progress = view
  // Before anything else is said, the terminal is left clean.
  stop.signal.addEventListener('abort', () => view[Symbol.dispose](), { once: true })
  const listener = toldOnce({
    onProgress: (told) => progress.onProgress(told),
    onOutcome: (outcome) => {
      progress.onOutcome(outcome)
      // Of machines the progress itself is told in the log.
      if (loudness.json !== true) own.tell('incremental', outcome)
    },
  })
  await using open = await openContext(config, { clock, signal: stop.signal, log, listener, observe })
  const ended = await runAndPublish(open, wanted, config.published)
  stop.signal.throwIfAborted()
  for (const outcome of ended.outcomes) listener.onOutcome(outcome)
  return { ...ended, marks: await marksOf(open.warehouse), elapsedMs: clock.monotonicMs() - startedMs }
}

/** Outcomes come as reports end, and once more all together at the end of the run. */
function toldOnce(listener: Listener): Listener {
  const told = new Set<ReportName>()
  return {
    onProgress: (progress) => listener.onProgress(progress),
    onOutcome: (outcome) => {
      if (!told.has(outcome.report)) listener.onOutcome(outcome)
      told.add(outcome.report)
    },
  }
}

/** What failed in publishing is told with the rest; the rows are in the warehouse all the same. */
async function runAndPublish({ context, warehouse }: OpenContext, wanted: readonly ReportName[], to: string) {
  const outcomes = await syncAll(context, wanted)
  context.signal.throwIfAborted()
  try {
    return { outcomes, published: await warehouse.publish(to), publishFailure: undefined }
  } catch (error) {
    return { outcomes, published: undefined, publishFailure: asSyncError(error) }
  }
}

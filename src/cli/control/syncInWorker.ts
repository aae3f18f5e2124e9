/** A sync that the worker does: the same progress and the same summary as one in this process. */
import type { ReportName } from '../../../schema/index.ts'
import { errorFrom, type OutcomeDocument, outcomeFrom, type Plain } from '../../../jobs/control/wire.ts'
import type { Instant } from '../../instant.ts'
import type { Progress } from '../../sync/context.ts'
import type { Listener } from '../../wiring/openContext.ts'
import type { SyncRun } from '../run.ts'
import type { Shell } from '../shell.ts'
import type { Summary } from '../summary.ts'
import { voices } from '../voices.ts'
import type { OnEvent } from './asked.ts'
import type { Remote } from './remote.ts'

interface Ended {
  readonly outcomes: readonly OutcomeDocument[]
  readonly marks: readonly (readonly [ReportName, Instant])[]
  readonly published?: NonNullable<Summary['published']>
  readonly publishError?: Plain
}

export async function syncInWorker(shell: Shell, { wanted, loudness }: SyncRun, worker: Remote): Promise<Summary> {
  const startedMs = shell.clock.monotonicMs()
  using progress = voices(shell, loudness).view
  shell.stop.signal.addEventListener('abort', () => progress[Symbol.dispose](), { once: true })
  const ended = await worker.ask<Ended>({ do: 'sync', reports: [...wanted] }, told(progress))
  return {
    outcomes: ended.outcomes.map(outcomeFrom),
    marks: new Map(ended.marks),
    published: ended.published,
    publishFailure: ended.publishError === undefined ? undefined : errorFrom(ended.publishError),
    elapsedMs: shell.clock.monotonicMs() - startedMs,
  }
}

/** What the worker tells, to whoever listens here. */
export const told =
  (listener: Listener): OnEvent =>
  ({ progress, outcome }) => {
    if (progress !== undefined) listener.onProgress(progress as Progress)
    if (outcome !== undefined) listener.onOutcome(outcomeFrom(outcome as OutcomeDocument))
  }

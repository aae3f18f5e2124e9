/** Executes one run of one report and stores its record. A permanent refusal by the service pauses the report. */
import type { ReportName } from '../../schema/index.ts'
import { asSyncError } from '../errors.ts'
import { type Facts, runKind, unobserved } from '../observe.ts'
import { NO_RUN_COUNTS } from '../plan/runCounts.ts'
import { inRun } from '../log.ts'
import type { RunKind, RunRecord } from '../warehouse/books/runs.ts'
import { noFigures, type ReportOutcome } from './reportOutcome.ts'
import { pauseAfter } from './pauses.ts'
import type { SyncContext } from './context.ts'
import type { ReportRun } from './syncReport.ts'

export interface RunRequest {
  readonly report: ReportName
  readonly kind: RunKind
  readonly runId: string
}

export interface RunEnd<R> {
  readonly outcome: ReportOutcome
  readonly run?: R
}

/** Executes a run. `work` stores its own success; an error is stored here and returned in the outcome. */
export async function oneRun<R extends ReportRun>(context: SyncContext, request: RunRequest, work: () => Promise<R>) {
  const begun = { ...request, startedAt: context.clock.now(), ...NO_RUN_COUNTS }
  const ended = await observeRun(context, request, () => {
    context.warehouse.beginRun(begun)
    return runToEnd(context, request, work)
  })
  const { error } = ended.outcome
  if (error === undefined) return ended
  const { code, message, cure } = error
  const state = code === 'CANCELLED' || code === 'FENCED' ? 'stopped' : 'failed'
  const record: RunRecord = { ...begun, state, endedAt: context.clock.now(), error: { code, message, cure } }
  // An error in these calls must not hide the error of the run.
  await context.warehouse.recordRun(record).catch(() => undefined)
  await pauseAfter(context, request.report, error).catch(() => undefined)
  return ended
}

export function observeRun<E extends Pick<RunEnd<unknown>, 'outcome'>>(
  { observe = unobserved }: Pick<SyncContext, 'observe'>,
  { report, kind, runId }: RunRequest,
  work: () => Promise<E>,
): Promise<E> {
  return observe({ what: 'run', report, facts: { kind, run_id: runId } }, async (note) => {
    const ended = await runKind.run(kind, work)
    note(runFacts(ended.outcome))
    return ended
  })
}

function runFacts({ state, pages, figures, error }: ReportOutcome): Facts {
  const { rows, inserted, updated, deleted, rejected, misfits } = figures
  const wasStopped = error?.code === 'CANCELLED' || error?.code === 'FENCED'
  const counts = { pages, rows, inserted, updated, deleted, rejected, misfits }
  return { state: wasStopped ? 'stopped' : state, code: error?.code, ...counts }
}

/** Calls `work` and never throws: the outcome contains the error. */
export async function runToEnd<R extends Pick<ReportRun, 'pages' | 'figures'>>(
  { clock, signal }: Pick<SyncContext, 'clock' | 'signal'>,
  { report, runId }: Omit<RunRequest, 'kind'>,
  work: () => Promise<R>,
): Promise<RunEnd<R>> {
  const startedMs = clock.monotonicMs()
  const elapsed = () => clock.monotonicMs() - startedMs
  try {
    const run = await inRun({ runId, report }, work)
    const { pages, figures } = run
    return { outcome: { report, runId, state: 'done', pages, figures, elapsedMs: elapsed() }, run }
  } catch (thrown) {
    const error = signal.aborted ? asSyncError(signal.reason) : asSyncError(thrown)
    return { outcome: { report, runId, state: 'failed', pages: 0, figures: noFigures(), error, elapsedMs: elapsed() } }
  }
}

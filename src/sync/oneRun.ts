/**
 * One run of one report and its record in the books: running from its first load, then done, failed or stopped; a run
 * that finds nothing new is recorded once, at its end. What the service refuses for good pauses the report. Never
 * throws: what became of it is the result.
 */
import type { ReportName } from '../../schema/index.ts'
import { asSyncError } from '../errors.ts'
import { type Facts, unobserved } from '../observe.ts'
import { inRun } from '../runContext.ts'
import type { RunKind, RunRecord } from '../warehouse/books/books.ts'
import { noFigures } from './reportOutcome.ts'
import type { ReportOutcome } from './reportOutcome.ts'
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
  /** What the story gave; undefined when it failed. */
  readonly run?: R
}

/** Carries out the story, which records its own good end in the transaction of its last rows. */
export async function oneRun<R extends ReportRun>(
  context: SyncContext,
  ask: RunRequest,
  story: () => Promise<R>,
): Promise<RunEnd<R>> {
  const none = { pages: 0, rows: 0, inserted: 0, updated: 0, deleted: 0, rejected: 0 }
  const begun = { ...ask, startedAt: context.clock.now(), ...none }
  const ended = await observeRun(context, ask, () => {
    context.warehouse.beginRun(begun)
    return runToEnd(context, ask, story)
  })
  const { error } = ended.outcome
  if (error === undefined) return ended
  const { code, message, cure } = error
  const state = code === 'CANCELLED' || code === 'FENCED' ? 'stopped' : 'failed'
  const record: RunRecord = { ...begun, state, endedAt: context.clock.now(), error: { code, message, cure } }
  // Whatever broke the run may also keep its record from being written; the run's own error is the one to tell.
  await context.warehouse.recordRun(record).catch(() => undefined)
  await pauseAfter(context, ask.report, error).catch(() => undefined)
  return ended
}

/** Lets whoever watches see the run and what became of it. */
export function observeRun<E extends Pick<RunEnd<unknown>, 'outcome'>>(
  { observe = unobserved }: Pick<SyncContext, 'observe'>,
  { report, kind, runId }: RunRequest,
  work: () => Promise<E>,
): Promise<E> {
  return observe({ what: 'run', report, facts: { kind, run_id: runId } }, async (note) => {
    const ended = await work()
    note(runFacts(ended.outcome))
    return ended
  })
}

function runFacts({ state, pages, figures, error }: ReportOutcome): Facts {
  const { rows, inserted, updated, deleted, rejected } = figures
  const wasStopped = error?.code === 'CANCELLED' || error?.code === 'FENCED'
  const counts = { pages, rows, inserted, updated, deleted, rejected }
  return { state: wasStopped ? 'stopped' : state, code: error?.code, ...counts }
}

/** Carries out a story that keeps its own record, and says what became of it. */
export async function runToEnd<R extends Pick<ReportRun, 'pages' | 'figures'>>(
  { clock, signal }: Pick<SyncContext, 'clock' | 'signal'>,
  { report, runId }: Omit<RunRequest, 'kind'>,
  story: () => Promise<R>,
): Promise<RunEnd<R>> {
  const startedMs = clock.monotonicMs()
  const elapsed = () => clock.monotonicMs() - startedMs
  try {
    const run = await inRun({ runId, report }, story)
    const { pages, figures } = run
    return { outcome: { report, runId, state: 'done', pages, figures, elapsedMs: elapsed() }, run }
  } catch (thrown) {
    const error = signal.aborted ? asSyncError(signal.reason) : asSyncError(thrown)
    return { outcome: { report, runId, state: 'failed', pages: 0, figures: noFigures(), error, elapsedMs: elapsed() } }
  }
}

/** Executes operations in the calling process, which opens the warehouse for them. */
import { randomUUID } from 'node:crypto'
import { backfillRun } from '../../jobs/backfill/backfillRun.ts'
import { logOutcome } from '../../jobs/runs/runs.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { nameBackfill } from '../sync/backfill/backfillRequest.ts'
import { pullHere } from '../sync/backfill/handover.ts'
import type { SyncContext } from '../sync/context.ts'
import { reconcileRun } from '../sync/reconcile.ts'
import type { ReportOutcome } from '../sync/reportOutcome.ts'
import { syncAll } from '../sync/syncAll.ts'
import { openContext } from '../wiring/openContext.ts'
import { type ActingRequest, type AnswerOf, outcomeOf, type Progress } from './contract.ts'
import { type Caller, type EndedRun, type Engine, kindOf, type RunsRequest } from './engine.ts'
import { carryOut } from './operations.ts'
import type { Surroundings } from './surroundings.ts'

const WINDOWS_AT_ONCE = 4

/** Executes an operation and returns its answer. Throws CANCELLED after an abort, because results could be missing. */
export async function performHere<R extends ActingRequest>(
  request: R,
  caller: Caller,
  { config, clock, log, storedLog, observe }: { readonly config: Config; readonly clock: Clock } & Surroundings,
): Promise<AnswerOf<R['do']>> {
  const { signal, onEvent } = caller
  await using open = await openContext(config, { clock, signal, log, observe })
  const { context } = open
  const onProgress = (progress: Progress) => onEvent({ progress })
  const engine: Engine = {
    context,
    run: (runs) =>
      runHere({ ...context, onProgress }, runs, (outcome) => {
        logOutcome(storedLog, kindOf(runs), outcome)
        onEvent({ outcome: outcomeOf(outcome) })
      }),
    publish: () => context.warehouse.publish(config.published),
    inTurn: (work) => work(),
  }
  const answer = await carryOut(engine, request, caller)
  signal.throwIfAborted()
  return answer
}

async function runHere(
  shared: SyncContext,
  request: RunsRequest,
  onOutcome: (outcome: ReportOutcome) => void,
): Promise<EndedRun[]> {
  const context = { ...shared, onOutcome }
  const { signal } = context
  if (request.do === 'sync') {
    const outcomes = await syncAll(context, request.reports)
    signal.throwIfAborted()
    // Reports that are off or paused have no run, so `syncAll` has not passed their outcomes to `onOutcome`.
    for (const outcome of outcomes) if (outcome.runId === undefined) onOutcome(outcome)
    return outcomes.map((outcome) => ({ outcome }))
  }
  const ended: EndedRun[] = []
  const end = (run: EndedRun) => {
    onOutcome(run.outcome)
    signal.throwIfAborted()
    ended.push(run)
  }
  if (request.do === 'reconcile') {
    const { reports, allowMassDelete } = request
    for (const report of reports) end(await reconcileRun(context, { report, runId: randomUUID(), allowMassDelete }))
    return ended
  }
  const { warehouse, settings, clock } = context
  for (const range of request.backfills) {
    const { start } = settings.reports[range.report]
    const named = await nameBackfill(range, { books: warehouse.backfills, start, now: clock.now() })
    end(await backfillRun(context, named, { lanes: WINDOWS_AT_ONCE, pull: pullHere(context) }))
  }
  return ended
}

/** Executes operations in the calling process, which has opened the warehouse. */
import { randomUUID } from 'node:crypto'
import { backfillRun } from '../../jobs/backfill/backfill.ts'
import type { RunKind } from '../../jobs/runs/runs.ts'
import { nameBackfill } from '../sync/backfill/backfillRequest.ts'
import { pullHere } from '../sync/backfill/handover.ts'
import type { SyncContext } from '../sync/context.ts'
import { reconcileRun } from '../sync/reconcile.ts'
import type { ReportOutcome } from '../sync/reportOutcome.ts'
import { syncAll } from '../sync/syncAll.ts'
import { outcomeOf } from './contract.ts'
import type { Caller, EndedRun, Engine, RunRequest } from './engine.ts'

const WINDOWS_AT_ONCE = 4

export interface OwnEngineOptions {
  readonly published: string
  readonly onEnded: (kind: RunKind, outcome: ReportOutcome) => void
}

export class OwnEngine implements Engine {
  readonly context: SyncContext
  readonly #options: OwnEngineOptions

  constructor(context: SyncContext, options: OwnEngineOptions) {
    this.context = context
    this.#options = options
  }

  async run(request: RunRequest, { tell, signal }: Caller): Promise<readonly EndedRun[]> {
    const { kind } = request
    const told = new Set<string>()
    const onOutcome = (outcome: ReportOutcome) => {
      if (told.has(outcome.report)) return
      told.add(outcome.report)
      this.#options.onEnded(kind, outcome)
      tell({ outcome: outcomeOf(outcome) })
    }
    const context: SyncContext = { ...this.context, signal, onOutcome, onProgress: (progress) => tell({ progress }) }
    const ended: EndedRun[] = []
    for await (const run of runsOf(context, request)) {
      onOutcome(run.outcome)
      signal.throwIfAborted()
      ended.push(run)
    }
    return ended
  }

  publish() {
    return this.context.warehouse.publish(this.#options.published)
  }

  inTurn<T>(work: () => Promise<T>): Promise<T> {
    return work()
  }
}

async function* runsOf(context: SyncContext, request: RunRequest): AsyncGenerator<EndedRun> {
  if (request.kind === 'incremental') {
    const outcomes = await syncAll(context, request.reports)
    context.signal.throwIfAborted()
    for (const outcome of outcomes) yield { outcome }
  } else if (request.kind === 'reconcile') {
    const { allowMassDelete } = request
    for (const report of request.reports)
      yield await reconcileRun(context, { report, runId: randomUUID(), allowMassDelete })
  } else {
    const { warehouse, settings, clock } = context
    for (const range of request.ranges) {
      const { start } = settings.reports[range.report]
      const named = await nameBackfill(range, { books: warehouse.backfills, start, now: clock.now() })
      yield await backfillRun(context, named, { lanes: WINDOWS_AT_ONCE, pull: pullHere(context) })
    }
  }
}

/**
 * What one run of the simulation does: an incremental run of every report, alone or twice at once, beside a worker that
 * sleeps, beside a backfill, or as part of comparing whole reports.
 */
import { randomUUID } from 'node:crypto'
import { type Instant, minusMs } from '../../src/instant.ts'
import { backfillReport } from '../../src/sync/backfill/backfill.ts'
import type { ReportOutcome } from '../../src/sync/reportOutcome.ts'
import { pullHere } from '../../src/sync/backfill/handover.ts'
import { reconcileReport } from '../../src/sync/reconcile.ts'
import type { SyncContext } from '../../src/sync/context.ts'
import { syncAll } from '../../src/sync/syncAll.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { withMethods } from '../support/withMethods.ts'
import type { Tally } from './faults.ts'
import type { Recorded, RunPlan, Scenario } from './scenario.ts'
import { EPOCH_MS, type Timeline } from './timeline.ts'

/** How long the worker sleeps that wakes up too late. */
export const STALE_MS = 20 * 60_000
const DAY_MS = 86_400_000
const BACKFILL_LANES = 2

export interface Workshop {
  readonly scenario: Scenario
  readonly timeline: Timeline
  readonly tally: Tally
  readonly recorded: readonly Recorded[]
  /** Told of an error that ends a story; those that a run may end with count as its outcome. */
  readonly lastWords: (error: unknown) => void
  /** The world changes while a worker sleeps. */
  readonly changeMeanwhile: () => void
}

/** Carries out a run as it was planned; gives the outcomes of its incremental runs. */
export async function work(shop: Workshop, plan: RunPlan, context: SyncContext): Promise<ReportOutcome[]> {
  const { tally, timeline, lastWords, changeMeanwhile } = shop
  const sleeps = plan.backfills && plan.backfillSleeps
  const beside = plan.backfills
    ? backfillAll(shop, sleeps ? stalled(context, timeline) : context).catch(lastWords)
    : undefined
  if (beside !== undefined) tally.add('backfill')
  if (sleeps) {
    tally.add('backfill that sleeps')
    changeMeanwhile()
    await timeline.wait(STALE_MS / 2)
  }
  try {
    return await (plan.reconciles ? reconcileAmidst(shop, context) : syncs(shop, plan, context))
  } finally {
    // Also when the process has died: what sleeps ends within this run, before the next process begins.
    await beside
  }
}

async function syncs(shop: Workshop, { trouble }: RunPlan, context: SyncContext): Promise<ReportOutcome[]> {
  const { timeline, tally, changeMeanwhile } = shop
  const { reports } = shop.scenario
  if (trouble !== 'sameJobTwice' && trouble !== 'staleWorker') return syncAll(context, reports)
  tally.add(trouble)
  const first = trouble === 'staleWorker' ? stalled(context, timeline) : context
  const second = timeline.wait(trouble === 'staleWorker' ? STALE_MS / 4 : 30).then(() => syncAll(context, reports))
  if (trouble === 'staleWorker') changeMeanwhile()
  return (await Promise.all([syncAll(first, reports), second])).flat()
}

/** Runs reconciles while faults are active. A fault may end a reconcile, like any other run. */
async function reconcileAmidst(
  { tally, recorded, lastWords }: Workshop,
  context: SyncContext,
): Promise<ReportOutcome[]> {
  for (const report of recorded) {
    tally.add('reconciled')
    try {
      await reconcileReport(context, report, { runId: randomUUID(), allowMassDelete: true })
      tally.add('reconcile done')
    } catch (error) {
      lastWords(error)
    }
  }
  return []
}

/**
 * One backfill of each report: asked for again it goes on where it was. Gives the reports whose backfill is not done.
 */
export async function backfillAll(
  { scenario, tally, recorded }: Workshop,
  context: SyncContext,
  id = 'backfill',
): Promise<string[]> {
  const { since, until } = backfillRange(scenario)
  const missing: string[] = []
  for (const report of recorded) {
    const { state, failures } = await backfillReport(context, {
      backfillId: `${id}-${report}`,
      report,
      from: since,
      to: until,
      lanes: BACKFILL_LANES,
      pull: pullHere(context),
    }).catch((error: unknown) => {
      tally.add(`backfill stopped`)
      throw error
    })
    tally.add(`backfill ${state}`)
    if (state !== 'done') missing.push(`${report} ${state}: ${failures[0]?.error ?? ''}`)
  }
  return missing
}

/** A range that no configuration of the seed's runs refuses: one before its start is none. */
export function backfillRange({ backfillDays, runs }: Scenario): { since: Instant; until: Instant } {
  const begin = (EPOCH_MS * 1_000) as Instant
  const until = minusMs(begin, DAY_MS / 4)
  const since = Math.max(minusMs(begin, backfillDays * DAY_MS), ...runs.map(({ asking }) => asking.start))
  return { since: Math.min(since, until) as Instant, until }
}

/** A worker that sleeps for a long time before each of its loads, and then goes on as if nothing had happened. */
function stalled(context: SyncContext, timeline: Timeline): SyncContext {
  const { warehouse, client } = context
  const load: Warehouse['load'] = async (input) => {
    await timeline.wait(STALE_MS)
    return warehouse.load(input.kind === 'retry' ? input : { ...input, serviceNow: client.serviceNow() })
  }
  const proxy = withMethods(warehouse, { load })
  return { ...context, warehouse: proxy }
}

/** The functions that execute operations, for the worker, the command line and the console. */
import type { ReportName } from '../../schema/index.ts'
import { asSyncError, SyncError } from '../errors.ts'
import { marksOf } from '../status/standing.ts'
import { type BackfillOutcome, cancelBackfill, cancelledBefore } from '../sync/backfill/backfill.ts'
import type { ReconcileResult } from '../warehouse/load/reconcile.ts'
import { type RetriedReport, retryRejected } from '../sync/retryRejected.ts'
import type { ActingRequest, AnswerOf, Outcome, Publication, RequestOf } from './contract.ts'
import { outcomeOf, problemOf } from './contract.ts'
import type { Caller, Engine } from './engine.ts'

type Operation<Name extends ActingRequest['do']> = (
  engine: Engine,
  request: RequestOf<Name>,
  caller: Caller,
) => Promise<AnswerOf<Name>>

/** Records the operation in `tidemark.orders`, executes it and publishes the changed rows. */
export async function carryOut<R extends ActingRequest>(
  engine: Engine,
  request: R,
  caller: Caller,
): Promise<AnswerOf<R['do']>> {
  const { warehouse, clock, client } = engine.context
  const name: R['do'] = request.do
  const { do: what, ...rest } = request
  const order = await warehouse.orders.begin({ who: caller.by, what, request: rest, at: clock.now() })
  const end = (result: string) => warehouse.orders.end(order, { result, at: clock.now() })
  try {
    // TypeScript cannot infer that `request` has the type that `OPERATIONS[name]` expects.
    const answer = await OPERATIONS[name](engine, request as never, caller)
    await warehouse.recordRequests(client.takeRequests(), client.serviceNow() ?? clock.now())
    await end(resultOf(answer))
    return { ...answer, ...(await publish(engine)) }
  } catch (thrown) {
    await end(asSyncError(thrown).code).catch(() => undefined)
    throw thrown
  }
}

function resultOf(answer: object): string {
  const runs = Object.values(answer).flatMap((value) => (Array.isArray(value) ? (value as Partial<Outcome>[]) : []))
  const failed = runs.flatMap(({ report, error }) => (error === undefined ? [] : [`${report} ${error.code}`]))
  return failed.length === 0 ? 'done' : `failed: ${failed.join(', ')}`
}

const sync: Operation<'sync'> = async (engine, request, caller) => {
  const ended = await engine.run(request, caller)
  const marks = await marksOf(engine.context.warehouse)
  return { outcomes: ended.map(({ outcome }) => outcomeOf(outcome)), marks: [...marks] }
}

const reconcile: Operation<'reconcile'> = async (engine, request, caller) => {
  const ended = await engine.run(request, caller)
  const compared = ended.map(({ outcome, result }) => ({
    ...outcomeOf(outcome),
    found: result as ReconcileResult | undefined,
  }))
  return { compared }
}

const backfill: Operation<'backfill'> = async (engine, request, caller) => {
  const ended = await engine.run(request, caller)
  const ends = ended.map(({ outcome, result }) => ({
    ...outcomeOf(outcome),
    ended: result as BackfillOutcome | undefined,
  }))
  return { ends }
}

const pause: Operation<'pause'> = async (engine, { reports }) => {
  const { warehouse, clock, settings } = engine.context
  const reason = { code: 'REPORT_PAUSED', reason: 'paused by an operator', client: settings.identity }
  for (const report of reports)
    await warehouse.pause({ report, ...reason, cure: `Run: tidemark resume ${report}` }, clock.now())
  return { paused: reports }
}

/** Resumes reports. A worker starts their runs at once, so that the operator sees the effect. */
const resume: Operation<'resume'> = async (engine, { reports: named, onlyRefused = false }) => {
  const { warehouse, client } = engine.context
  const resumed = await warehouse.resume(named, { onlyRefused })
  for (const report of resumed) await client.resume(report)
  await engine.restart?.(resumed)
  return { resumed: [...resumed] }
}

const cancel: Operation<'cancel'> = async (engine, { id }) => {
  const report = await cancelBackfill(engine.context, id)
  const run = await engine.cancel?.(id)
  if (report !== undefined) return { cancelled: id, what: `the backfill of ${report}` }
  if (run !== undefined) return { cancelled: id, what: run }
  const backfillBefore = await cancelledBefore(engine.context, id)
  const before = backfillBefore === undefined ? engine.cancelledBefore?.(id) : `the backfill of ${backfillBefore}`
  if (before !== undefined) return { cancelled: id, what: before, isAlready: true }
  throw new SyncError('USAGE_INVALID', `no run and no backfill "${id}" runs or waits`, {
    cure: 'Run "tidemark status": it shows what runs and what waits, with identifiers. A run of another command ends with Ctrl-C there.',
  })
}

/** Loads rejected rows again, one caller after another: two callers could load the same rows twice. */
const retry: Operation<'retry-rejected'> = (engine, { reports }, { signal }) =>
  engine.inTurn(async () => {
    const retried: RetriedReport[] = []
    for (const report of reports) retried.push(await retryRejected({ ...engine.context, signal }, report))
    return { retried }
  })

const dismiss: Operation<'dismiss-rejected'> = async (engine, { reports, keys }) => {
  const { warehouse, clock } = engine.context
  const dismissed: AnswerOf<'dismiss-rejected'>['dismissed'] = []
  for (const report of reports)
    dismissed.push({ report, rows: await warehouse.dismissRejected({ report, keys }, clock.now()) })
  return { dismissed }
}

/** Resets reports. Cancels their backfills first, because these could load rows that were read before the reset. */
const reset: Operation<'reset'> = async (engine, { reports, empty = false }) => {
  const { warehouse, clock, client, settings } = engine.context
  const answer: AnswerOf<'reset'>['reset'] = []
  for (const { backfillId, report } of await warehouse.backfills.open())
    if (reports.includes(report)) await cancelBackfill(engine.context, backfillId)
  for (const report of reports) {
    const serviceNow = client.serviceNow() ?? clock.now()
    answer.push({ report, rows: await warehouse.reset({ report, empty, now: clock.now(), serviceNow }) })
  }
  await engine.restart?.(reports.filter((report) => settings.reports[report].enabled))
  return { reset: answer }
}

const retype: Operation<'retype'> = async (engine, { column, type }) => {
  const { warehouse, settings } = engine.context
  const excludesPayload = (report: ReportName) => settings.reports[report].privacy.excludePayload
  const retyped = await warehouse.retypeColumn({ column, type, excludesPayload })
  return { retyped }
}

/** Publishes the warehouse. Returns an error instead of throwing it, because the rows are already stored. */
async function publish(engine: Engine): Promise<Publication> {
  try {
    return { published: await engine.publish() }
  } catch (thrown) {
    return { publishError: problemOf(asSyncError(thrown)) }
  }
}

const OPERATIONS: { readonly [Name in ActingRequest['do']]: Operation<Name> } = {
  sync,
  reconcile,
  backfill,
  pause,
  resume,
  cancel,
  'retry-rejected': retry,
  'dismiss-rejected': dismiss,
  reset,
  retype,
}

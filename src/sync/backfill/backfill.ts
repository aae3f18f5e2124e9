/** Runs one backfill. It can continue after a stop, and does not change the high-water mark (product contract §7). */
import type { ReportName } from '../../../schema/index.ts'
import { asSyncError, type ErrorCode, errorCodes, SyncError } from '../../errors.ts'
import type { Instant } from '../../instant.ts'
import { NO_RUN_COUNTS } from '../../plan/runCounts.ts'
import type {
  BackfillBook,
  BackfillFigures,
  BackfillRange,
  BackfillState,
  BookedWindow,
} from '../../warehouse/books/backfills.ts'
import type { RunRecord } from '../../warehouse/books/runs.ts'
import { planBackfill } from './backfillPlan.ts'
import { checkRange, type NamedBackfill } from './backfillRequest.ts'
import { eachConcurrently } from '../concurrently.ts'
import { type Progress, type SyncContext, type WindowsProgress, withFence } from '../context.ts'
import { loadPulled, type Pull, type WindowRequest, type PulledWindow, settingsHash } from './handover.ts'
import { pauseAfter, pausedReports } from '../pauses.ts'
import { storeSettings } from '../refill.ts'
import { counted } from '../../words.ts'

export interface BackfillProgress extends Progress {
  readonly backfillId: string
  readonly windows: WindowsProgress
}

/** An open backfill with the same `backfillId` is continued. */
export interface BackfillOptions extends Omit<NamedBackfill, 'goesOn'> {
  readonly lanes: number
  readonly pull: Pull
  readonly onProgress?: (progress: BackfillProgress) => void
}

/** How a backfill ended, and which windows failed. */
export interface BackfillOutcome {
  readonly backfillId: string
  readonly report: ReportName
  readonly range: BackfillRange
  readonly state: BackfillState
  readonly figures: BackfillFigures
  readonly failures: readonly BookedWindow[]
}

/** These errors would also occur in every other window, so they stop the backfill. */
const STOPPING_ERRORS: readonly ErrorCode[] = [
  'CANCELLED',
  'FENCED',
  'CONFIG_INVALID',
  'CREDENTIALS_REFUSED',
  'TOKEN_REQUEST_INVALID',
  'TOKEN_UNPROCESSABLE',
  'TOKEN_UNUSABLE',
  'SCOPE_MISSING',
  'REPORT_FORBIDDEN',
  'REPORT_PAUSED',
  'DISK_FULL',
  'WAREHOUSE_CORRUPT',
]

const ATTEMPTS_MAX = 2

/** Runs the backfill to its end. Throws USAGE_INVALID for an impossible range, and the errors in `STOPPING_ERRORS`. */
export async function backfillReport(given: SyncContext, options: BackfillOptions): Promise<BackfillOutcome> {
  const { backfillId: holder, report } = options
  // The request was already compared with the clock. A second check could fail if the clock was set back since.
  checkRange(options, { start: given.settings.reports[report].start, now: options.to })
  const known = await given.warehouse.backfills.book(holder)
  if (known?.state === 'done' || known?.state === 'cancelled') return outcomeOf(given, known)
  const context = await withFence(given, { report, kind: 'backfill', holder })
  const startedAt = context.clock.now()
  try {
    await throwIfPaused(context, report)
    await startOrContinue(context, options)
    await runWindows(context, options)
    return await recordEnd(context, options, startedAt)
  } catch (thrown) {
    return await recordStop(context, options, { thrown, startedAt })
  }
}

async function startOrContinue(context: SyncContext, { backfillId, report, from, to }: BackfillOptions): Promise<void> {
  const { backfills, backfillBasis: basis } = context.warehouse
  if ((await backfills.book(backfillId)) === undefined) {
    const plan = await planBackfill(context, { report, since: from, until: to, basis })
    await backfills.begin({ backfillId, report, since: from, until: to }, plan.windows, context.clock.now())
  }
  await backfills.start(backfillId, context.fence, context.clock.now())
  const scopes = new Set((await backfills.windows(backfillId)).map(({ scope }) => scope))
  for (const scope of scopes) await storeSettings(context, report, scope)
}

async function runWindows(context: SyncContext, options: BackfillOptions): Promise<void> {
  const { backfillId, report, lanes, onProgress } = options
  const booked = await context.warehouse.backfills.windows(backfillId)
  const startedMs = context.clock.monotonicMs()
  let windows: readonly BookedWindow[] = booked
  const record = (changed?: BookedWindow) => {
    windows = windows.map((window) => (window.number === changed?.number ? changed : window))
    const progress = progressOf(windows, booked, context.clock.monotonicMs() - startedMs)
    onProgress?.({ backfillId, report, ...progress })
  }
  const stopping = new AbortController()
  const signal = AbortSignal.any([context.signal, stopping.signal])
  record()
  const pending = booked.filter(({ state }) => state === 'pending')
  await eachConcurrently(pending, lanes, async (window) => {
    try {
      await throwIfPaused(context, report)
      const { rows, pages } = await runWindow({ ...context, signal }, options, window)
      record({ ...window, state: 'done', rows, pages })
    } catch (thrown) {
      const error = context.signal.aborted ? asSyncError(context.signal.reason) : asSyncError(thrown)
      if (STOPPING_ERRORS.includes(error.code)) {
        stopping.abort(error)
        throw error
      }
      await context.warehouse.backfills.windowFailed({ backfillId, number: window.number, error, fence: context.fence })
      record({ ...window, state: 'failed' })
    }
  })
}

/** Returns the progress, with an estimate of how long the rest takes. `before`: the windows `elapsedMs` ago. */
function progressOf(windows: readonly BookedWindow[], before: readonly BookedWindow[], elapsedMs: number) {
  const done = windows.filter(({ state }) => state === 'done')
  const failed = windows.filter(({ state }) => state === 'failed')
  const requestsOf = (some: readonly BookedWindow[]) => sumOf(some.map(({ plannedRequests }) => plannedRequests))
  const requests = requestsOf(done) - requestsOf(before.filter(({ state }) => state === 'done'))
  const msLeft = requests === 0 ? undefined : (elapsedMs / requests) * (requestsOf(windows) - requestsOf(done))
  return {
    rows: sumOf(done.map(({ rows }) => rows)),
    pages: sumOf(done.map(({ pages }) => pages)),
    windows: { done: done.length, failed: failed.length, total: windows.length, msLeft },
  }
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0)

async function runWindow(context: SyncContext, options: BackfillOptions, window: BookedWindow): Promise<PulledWindow> {
  for (let tried = 1; ; tried += 1) {
    try {
      const pulled = await options.pull(await windowRequest(context, options, window), context.signal)
      await loadPulled(context, pulled)
      return pulled
    } catch (thrown) {
      context.signal.throwIfAborted()
      const error = asSyncError(thrown)
      if (error.retry === 'never' || STOPPING_ERRORS.includes(error.code) || tried >= ATTEMPTS_MAX) throw error
    }
  }
}

async function windowRequest(
  context: SyncContext,
  options: BackfillOptions,
  window: BookedWindow,
): Promise<WindowRequest> {
  const { backfillId, report } = options
  const { scope, number, since, until } = window
  const { warehouse, fence, settings } = context
  if (fence === undefined)
    throw new SyncError('FENCED', `${report}: the backfill has no epoch`, { cure: 'Start it again.' })
  const profile = await warehouse.books.pagingProfile({ report, pageSize: settings.reports[report].pageSize })
  const { numberPrefix } = warehouse
  const question = settingsHash(settings, report)
  return { backfillId, report, scope, number, since, until, fence, question, numberPrefix, profile }
}

async function throwIfPaused(context: SyncContext, report: ReportName): Promise<void> {
  const paused = (await pausedReports(context)).get(report)
  if (paused !== undefined) throw paused
}

/** Cancels a backfill, so that its processes cannot commit. Returns its report, or undefined if it has ended. */
export const cancelBackfill = ({ warehouse, clock }: Pick<SyncContext, 'warehouse' | 'clock'>, backfillId: string) =>
  warehouse.backfills.cancel(backfillId, clock.now(), errorRecord(wasCancelled()))

/** Returns the report of a cancelled backfill, so that a repeated cancel command succeeds. */
export async function cancelledBefore({ warehouse }: Pick<SyncContext, 'warehouse'>, backfillId: string) {
  const book = await warehouse.backfills.book(backfillId)
  return book?.state === 'cancelled' ? book.report : undefined
}

export const wasCancelled = (report?: ReportName): SyncError =>
  new SyncError('CANCELLED', 'it was cancelled; what was done stays', {
    cure: 'Request the same range again: a new backfill begins.',
    ...(report && { report }),
  })

async function recordEnd(context: SyncContext, options: BackfillOptions, startedAt: Instant): Promise<BackfillOutcome> {
  const { backfillId, report, from: since, to: until } = options
  const read = await outcomeOf(context, { backfillId, report, since, until, state: 'done' })
  const state = read.failures.length === 0 ? 'done' : 'failed'
  const ended = { ...read, state } as const
  const endedAt = context.clock.now()
  const run = { runId: backfillId, report, kind: 'backfill', state, startedAt, endedAt, ...read.figures } as const
  const error = state === 'failed' ? { error: errorRecord(windowsFailed(ended)) } : {}
  await context.warehouse.backfills.end({ ...run, ...error }, context.fence)
  return ended
}

async function outcomeOf(
  { warehouse }: SyncContext,
  { backfillId, report, since, until, state }: Omit<BackfillBook, 'windows'>,
): Promise<BackfillOutcome> {
  const figures = await warehouse.backfills.figures(backfillId)
  const failures = (await warehouse.backfills.windows(backfillId)).filter((window) => window.state === 'failed')
  return { backfillId, report, range: { since, until }, state, figures, failures }
}

export function windowsFailed({ backfillId, report, failures, figures }: BackfillOutcome): SyncError {
  const [newest] = failures
  const code = errorCodes.find((each) => each === newest?.errorCode) ?? 'UNEXPECTED'
  const message = `${failures.length} of ${counted(figures.windows, 'window')} failed, the newest of them: ${newest?.error ?? ''}`
  const cure = 'Run the same backfill again: it reads only the windows that are missing.'
  return new SyncError(code, message, { cure, report, data: { backfillId } })
}

/** Stores and throws the error that stopped the backfill. If the backfill was cancelled, returns its outcome. */
async function recordStop(
  context: SyncContext,
  { backfillId, report }: BackfillOptions,
  { thrown, startedAt }: { readonly thrown: unknown; readonly startedAt: Instant },
): Promise<BackfillOutcome> {
  const { backfills } = context.warehouse
  const error = context.signal.aborted ? asSyncError(context.signal.reason) : asSyncError(thrown)
  const book = await backfills.book(backfillId).catch(() => undefined)
  if (book?.state === 'cancelled') return outcomeOf(context, book)
  // A newer run has taken over the report, so this run must not write any more.
  if (error.code === 'FENCED') throw error
  // An error in the two calls below must not hide the error of the backfill.
  const state = error.code === 'CANCELLED' ? 'stopped' : 'failed'
  const endedAt = context.clock.now()
  const run = { runId: backfillId, report, kind: 'backfill', state, startedAt, endedAt, ...NO_RUN_COUNTS } as const
  await backfills.suspend({ ...run, error: errorRecord(error) }, context.fence).catch(() => undefined)
  await pauseAfter(context, report, error).catch(() => undefined)
  throw error
}

const errorRecord = ({ code, message, cure }: SyncError): NonNullable<RunRecord['error']> => ({ code, message, cure })

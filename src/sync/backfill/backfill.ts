/** Runs one backfill. It can continue after a stop, and changes no high-water mark (product contract §7). */
import type { ReportName } from '../../../schema/index.ts'
import { asSyncError, type ErrorCode, SyncError } from '../../errors.ts'
import type { Clock } from '../../clock.ts'
import type { Instant } from '../../instant.ts'
import type { BookedWindow } from '../../warehouse/books/backfills.ts'
import { type BackfillOutcome, recordEnd, outcomeOf, recordStop } from './backfillEnd.ts'
import { planBackfill } from './backfillPlan.ts'
import { checkRange } from './backfillRequest.ts'
import { eachBounded } from '../walk/bounded.ts'
import { type Progress, type SyncContext, type WindowsProgress, withFence } from '../context.ts'
import { loadPulled, type Pull, type PullAsk, type PulledWindow, questionOf } from './handover.ts'
import { pausedReports } from '../pauses.ts'
import { storeSettings } from '../refill.ts'

export interface BackfillProgress extends Progress {
  readonly backfillId: string
  readonly windows: WindowsProgress
}

export interface BackfillOptions {
  /** Identifies the backfill, its run and its loads. If a backfill with this identifier is open, it is continued. */
  readonly backfillId: string
  readonly report: ReportName
  readonly from: Instant
  readonly to: Instant
  readonly lanes: number
  readonly pull: Pull
  readonly onProgress?: (progress: BackfillProgress) => void
}

/** These errors would also occur in every other window, so they stop the whole backfill. */
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

/** Attempts per window and run. A window is tried again only after a temporary error. */
const ATTEMPTS_MAX = 2

/** Runs the backfill to its end. Throws USAGE_INVALID for an impossible range, and the errors in `STOPPING_ERRORS`. */
export async function backfillReport(given: SyncContext, options: BackfillOptions): Promise<BackfillOutcome> {
  const { backfillId: holder, report } = options
  const { start } = given.settings.reports[report]
  // The end is not compared with the clock again, because the clock may have been set back since the request.
  checkRange(options, { start, now: options.to })
  const known = await given.warehouse.backfills.book(holder)
  if (known?.state === 'done' || known?.state === 'cancelled') return outcomeOf(given, known)
  const context = await withFence(given, { report, kind: 'backfill', holder })
  const startedAt = context.clock.now()
  try {
    await throwIfPaused(context, report)
    await startOrContinue(context, options)
    await runWindows(context, options)
    return await recordEnd(context, { options, startedAt })
  } catch (thrown) {
    return await recordStop(context, { options, startedAt, thrown })
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
  const { backfillId, lanes } = options
  const windows = await context.warehouse.backfills.windows(backfillId)
  const tally = countWindows(windows, options, context.clock)
  const stopping = new AbortController()
  const signal = AbortSignal.any([context.signal, stopping.signal])
  tally.report()
  const pending = windows.filter(({ state }) => state === 'pending')
  await eachBounded(pending, lanes, async (window) => {
    try {
      await throwIfPaused(context, options.report)
      const pulled = await runWindow({ ...context, signal }, options, window)
      tally.done(window, pulled)
    } catch (thrown) {
      const error = context.signal.aborted ? asSyncError(context.signal.reason) : asSyncError(thrown)
      if (STOPPING_ERRORS.includes(error.code)) {
        stopping.abort(error)
        throw error
      }
      await context.warehouse.backfills.windowFailed({ backfillId, number: window.number, error, fence: context.fence })
      tally.failed()
    }
  })
}

/** Counts the windows that were read, and reports them with an estimate of the time for the remaining windows. */
function countWindows(
  windows: readonly BookedWindow[],
  { backfillId, report, onProgress }: BackfillOptions,
  clock: Clock,
) {
  const startedMs = clock.monotonicMs()
  const sumOf = (state: BookedWindow['state'], figure: 'rows' | 'pages' | 'plannedRequests'): number =>
    windows.reduce((sum, window) => (window.state === state ? sum + window[figure] : sum), 0)
  let [rows, pages] = [sumOf('done', 'rows'), sumOf('done', 'pages')]
  let [done, failed, total] = [windows.filter(({ state }) => state === 'done').length, 0, windows.length]
  /** Planned requests for windows that this run has read (`plannedDone`), and for the windows that remain. */
  let [plannedDone, plannedLeft] = [0, sumOf('pending', 'plannedRequests')]
  const send = () => {
    const msEach = (clock.monotonicMs() - startedMs) / plannedDone
    const msLeft = plannedDone === 0 ? undefined : msEach * plannedLeft
    onProgress?.({ backfillId, report, rows, pages, windows: { done, failed, total, msLeft } })
  }
  return {
    report: send,
    done({ plannedRequests }: BookedWindow, pulled: PulledWindow): void {
      done += 1
      rows += pulled.rows
      pages += pulled.pages
      plannedDone += plannedRequests
      plannedLeft -= plannedRequests
      send()
    },
    failed(): void {
      failed += 1
      send()
    },
  }
}

async function runWindow(context: SyncContext, options: BackfillOptions, window: BookedWindow): Promise<PulledWindow> {
  for (let tried = 1; ; tried += 1) {
    try {
      const pulled = await options.pull(await pullRequest(context, options, window), context.signal)
      await loadPulled(context, pulled)
      return pulled
    } catch (thrown) {
      context.signal.throwIfAborted()
      const error = asSyncError(thrown)
      if (error.retry === 'never' || STOPPING_ERRORS.includes(error.code) || tried >= ATTEMPTS_MAX) throw error
    }
  }
}

async function pullRequest(context: SyncContext, options: BackfillOptions, window: BookedWindow): Promise<PullAsk> {
  const { backfillId, report } = options
  const { scope, number, since, until } = window
  const { warehouse, fence, settings } = context
  if (fence === undefined)
    throw new SyncError('FENCED', `${report}: the backfill has no epoch`, { cure: 'Start it again.' })
  const profile = await warehouse.books.pagingProfile({ report, pageSize: settings.reports[report].pageSize })
  const { numberMark } = warehouse
  const question = questionOf(settings, report)
  return { backfillId, report, scope, number, since, until, fence, question, numberMark, profile }
}

async function throwIfPaused(context: SyncContext, report: ReportName): Promise<void> {
  const paused = (await pausedReports(context)).get(report)
  if (paused !== undefined) throw paused
}

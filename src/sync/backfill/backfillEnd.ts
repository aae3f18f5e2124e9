/** Stores the end of a backfill. Its figures are sums over all of its windows, also those read before a restart. */
import type { ReportName } from '../../../schema/index.ts'
import { asSyncError, errorCodes, SyncError } from '../../errors.ts'
import { NO_RUN_COUNTS } from '../../plan/runCounts.ts'
import type { Instant } from '../../instant.ts'
import type {
  BackfillBook,
  BackfillFigures,
  BackfillRange,
  BackfillState,
  BookedWindow,
} from '../../warehouse/books/backfills.ts'
import type { RunRecord } from '../../warehouse/books/books.ts'
import { pauseAfter } from '../pauses.ts'
import type { SyncContext } from '../context.ts'
import type { NamedBackfill } from './backfillRequest.ts'

export interface BackfillOutcome {
  readonly backfillId: string
  readonly report: ReportName
  readonly range: BackfillRange
  readonly state: BackfillState
  readonly figures: BackfillFigures
  readonly failures: readonly BookedWindow[]
}

/**
 * Cancels a backfill, so that no process can commit more of its rows. Returns its report, or undefined if the backfill
 * has already ended.
 */
export const cancelBackfill = (
  { warehouse, clock }: Pick<SyncContext, 'warehouse' | 'clock'>,
  backfillId: string,
): Promise<ReportName | undefined> => warehouse.backfills.cancel(backfillId, clock.now(), errorRecord(wasCancelled()))

/** Returns the report of a backfill that is already cancelled, so that a repeated cancel command succeeds. */
export async function cancelledBefore(
  { warehouse }: Pick<SyncContext, 'warehouse'>,
  backfillId: string,
): Promise<ReportName | undefined> {
  const book = await warehouse.backfills.book(backfillId)
  return book?.state === 'cancelled' ? book.report : undefined
}

export const wasCancelled = (report?: ReportName): SyncError =>
  new SyncError('CANCELLED', 'it was cancelled; what was done stays', {
    cure: 'Request the same range again: a new backfill begins.',
    ...(report && { report }),
  })

export interface BackfillEnd {
  readonly options: Omit<NamedBackfill, 'goesOn'>
  readonly startedAt: Instant
}

export async function recordEnd(context: SyncContext, { options, startedAt }: BackfillEnd): Promise<BackfillOutcome> {
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

export async function outcomeOf(
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
  const message = `${failures.length} of ${figures.windows} windows failed, the newest of them: ${newest?.error ?? ''}`
  const cure = 'Run the same backfill again: it reads only the windows that are missing.'
  return new SyncError(code, message, { cure, report, data: { backfillId } })
}

/** Stores and throws the error that stopped the backfill. If the backfill was cancelled, returns its outcome. */
export async function recordStop(
  context: SyncContext,
  { options, startedAt, thrown }: BackfillEnd & { readonly thrown: unknown },
): Promise<BackfillOutcome> {
  const { backfillId, report } = options
  const { backfills } = context.warehouse
  const error = context.signal.aborted ? asSyncError(context.signal.reason) : asSyncError(thrown)
  const book = await backfills.book(backfillId).catch(() => undefined)
  if (book?.state === 'cancelled') return outcomeOf(context, book)
  // A newer run has taken over the report, so this run must not write to the schema `tidemark`.
  if (error.code === 'FENCED') throw error
  // Ignores the errors of these two statements, for example on a full disk. The caller must get the error of the
  // backfill.
  const state = error.code === 'CANCELLED' ? 'stopped' : 'failed'
  const endedAt = context.clock.now()
  const run = { runId: backfillId, report, kind: 'backfill', state, startedAt, endedAt, ...NO_RUN_COUNTS } as const
  await backfills.suspend({ ...run, error: errorRecord(error) }).catch(() => undefined)
  await pauseAfter(context, report, error).catch(() => undefined)
  throw error
}

const errorRecord = ({ code, message, cure }: SyncError): NonNullable<RunRecord['error']> => ({ code, message, cure })

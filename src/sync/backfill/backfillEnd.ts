/**
 * How a backfill ends: done, with windows missing, cancelled, or stopped by something that all of its windows would
 * meet. Its figures are added up from the books, so they hold over restarts.
 */
import type { ReportName } from '../../../schema/index.ts'
import { assert, asSyncError, errorCodes, SyncError } from '../../errors.ts'
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

export interface BackfillOutcome {
  readonly backfillId: string
  readonly report: ReportName
  readonly range: BackfillRange
  readonly state: BackfillState
  readonly figures: BackfillFigures
  readonly failures: readonly BookedWindow[]
}

/** Cancels a backfill that has not ended, wherever it runs: nothing of it is committed any more. Gives its report. */
export const cancelBackfill = (
  { warehouse, clock }: Pick<SyncContext, 'warehouse' | 'clock'>,
  backfillId: string,
): Promise<ReportName | undefined> => warehouse.backfills.cancel(backfillId, clock.now(), told(wasCancelled()))

/** Whose backfill it was, where it was cancelled before: whoever asks again has what they want. */
export async function cancelledBefore(
  { warehouse }: Pick<SyncContext, 'warehouse'>,
  backfillId: string,
): Promise<ReportName | undefined> {
  const book = await warehouse.backfills.book(backfillId)
  return book?.state === 'cancelled' ? book.report : undefined
}

/** Why a backfill has not read all that was asked for which somebody cancelled. */
export const wasCancelled = (report?: ReportName): SyncError =>
  new SyncError('CANCELLED', 'it was cancelled; what was done stays', {
    cure: 'Ask for the same range again: it begins anew.',
    ...(report && { report }),
  })

export interface Ending {
  readonly options: { readonly backfillId: string; readonly report: ReportName }
  readonly startedAt: Instant
}

/** Writes down what became of it: the backfill's end and the record of its run in one transaction. */
export async function ended(context: SyncContext, { options, startedAt }: Ending): Promise<BackfillOutcome> {
  const { backfillId, report } = options
  const { backfills } = context.warehouse
  const figures = await backfills.figures(backfillId)
  const failures = await failuresOf(context, backfillId)
  const state = failures.length === 0 ? 'done' : 'failed'
  const endedAt = context.clock.now()
  const run = { runId: backfillId, report, kind: 'backfill', state, startedAt, endedAt, ...figures } as const
  const failed = failures.length === 0 ? undefined : windowsFailed({ backfillId, report, failures, figures })
  await backfills.end({ ...run, ...(failed && { error: told(failed) }) }, context.fence)
  const book = await backfills.book(backfillId)
  assert(book !== undefined, `backfill ${backfillId} has ended but is in no book`)
  return outcomeOf(context, book)
}

/** What became of a backfill, as the books have it now. */
export async function outcomeOf({ warehouse }: SyncContext, { backfillId, report, since, until, state }: BackfillBook) {
  const figures = await warehouse.backfills.figures(backfillId)
  const failures = await failuresOf({ warehouse }, backfillId)
  return { backfillId, report, range: { since, until }, state, figures, failures }
}

const failuresOf = async ({ warehouse }: Pick<SyncContext, 'warehouse'>, backfillId: string): Promise<BookedWindow[]> =>
  (await warehouse.backfills.windows(backfillId)).filter(({ state }) => state === 'failed')

/** Why a backfill counts as failed that came to its end: the windows that are missing, told by the newest of them. */
export function windowsFailed({ backfillId, report, failures, figures }: WindowsMissing): SyncError {
  const [newest] = failures
  const code = errorCodes.find((each) => each === newest?.errorCode) ?? 'UNEXPECTED'
  const message = `${failures.length} of ${figures.windows} windows failed, the newest of them: ${newest?.error ?? ''}`
  const cure = 'Run the same backfill again: it reads only the windows that are missing.'
  return new SyncError(code, message, { cure, report, data: { backfillId } })
}

type WindowsMissing = Pick<BackfillOutcome, 'backfillId' | 'report' | 'failures' | 'figures'>

interface Stopped extends Ending {
  readonly thrown: unknown
}

/** Something stopped all of it. A backfill that was cancelled ends; any other one waits to be asked for again. */
export async function stopped(context: SyncContext, { options, startedAt, thrown }: Stopped): Promise<BackfillOutcome> {
  const { backfillId, report } = options
  const { backfills } = context.warehouse
  const error = context.signal.aborted ? asSyncError(context.signal.reason) : asSyncError(thrown)
  const book = await backfills.book(backfillId).catch(() => undefined)
  if (book?.state === 'cancelled') return outcomeOf(context, book)
  // Whoever took the report over decides what becomes of the books.
  if (error.code === 'FENCED') throw error
  // Whatever broke it may also keep the books from being written; the error itself is the one to tell.
  await backfills.suspend(failedRun({ options, startedAt }, context.clock.now(), error)).catch(() => undefined)
  await pauseAfter(context, report, error).catch(() => undefined)
  throw error
}

/** What the books say of an error. */
const told = ({ code, message, cure }: SyncError): NonNullable<RunRecord['error']> => ({ code, message, cure })

function failedRun({ options, startedAt }: Ending, endedAt: Instant, error: SyncError): RunRecord {
  const { backfillId: runId, report } = options
  const none = { pages: 0, rows: 0, inserted: 0, updated: 0, deleted: 0, rejected: 0 }
  return {
    runId,
    report,
    kind: 'backfill',
    state: error.code === 'CANCELLED' ? 'stopped' : 'failed',
    startedAt,
    endedAt,
    ...none,
    error: told(error),
  }
}

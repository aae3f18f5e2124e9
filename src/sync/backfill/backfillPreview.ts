/** Shows what a backfill would read, without starting it: its windows, and about how many requests they need. */
import type { BackfillBooks, PlannedWindow } from '../../warehouse/books/backfills.ts'
import type { BackfillBasis } from '../../warehouse/books/backfillBasis.ts'
import { planBackfill } from './backfillPlan.ts'
import { type BackfillRequest, nameBackfill, type NamedBackfill } from './backfillRequest.ts'
import type { WalkContext } from '../context.ts'

export interface BackfillPreview {
  readonly named: NamedBackfill
  /** The windows that would be read, newest first. */
  readonly windows: readonly PlannedWindow[]
  /** The estimated number of requests of the backfill, with those of `planning`. */
  readonly requests: number
  /** The number of requests that planning the windows takes. */
  readonly planning: number
}

export interface PreviewBooks {
  /** The books of backfills; undefined if there is no warehouse yet. */
  readonly books: Pick<BackfillBooks, 'open' | 'windows'> | undefined
  readonly basis: BackfillBasis
}

/** Returns the preview; of an open backfill, only windows that are not done. Throws USAGE_INVALID and client errors. */
export async function previewBackfill(
  context: WalkContext,
  { books, basis }: PreviewBooks,
  request: BackfillRequest,
): Promise<BackfillPreview> {
  const { start } = context.settings.reports[request.report]
  const named = await nameBackfill(request, { books, start, now: context.clock.now() })
  const begun = named.goesOn ? await books?.windows(named.backfillId) : undefined
  const { report, from: since, to: until } = named
  const plan =
    begun === undefined
      ? await planBackfill(context, { report, since, until, basis })
      : { windows: begun.filter(({ state }) => state !== 'done'), asked: 0 }
  const requests = plan.windows.reduce((sum, { plannedRequests }) => sum + plannedRequests, plan.asked)
  return { named, windows: plan.windows, requests, planning: plan.asked }
}

/**
 * What a backfill would do: its windows and about how many requests they take, planned from what is held and a few
 * small questions. Nothing is written.
 */
import type { BackfillBooks, PlannedWindow } from '../../warehouse/books/backfills.ts'
import type { BackfillBasis } from '../../warehouse/books/backfillBasis.ts'
import { planBackfill } from './backfillPlan.ts'
import { type BackfillRequest, nameBackfill, type NamedBackfill } from './backfillRequest.ts'
import type { WalkContext } from '../context.ts'

export interface Planned {
  readonly named: NamedBackfill
  /** Those that are to be read, newest first. */
  readonly windows: readonly PlannedWindow[]
  /** About how many requests it would take, those of planning included. */
  readonly requests: number
  /** Those that its planning takes; the windows know nothing of them. */
  readonly planning: number
}

export interface PreviewBooks {
  /** Undefined: there is no warehouse yet. */
  readonly books: Pick<BackfillBooks, 'open' | 'windows'> | undefined
  readonly basis: BackfillBasis
}

/** Error: USAGE_INVALID for a range that can't be; those of the client. */
export async function previewBackfill(
  context: WalkContext,
  { books, basis }: PreviewBooks,
  request: BackfillRequest,
): Promise<Planned> {
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

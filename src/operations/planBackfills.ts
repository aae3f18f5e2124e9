/** Plans the windows and the number of requests of backfills. Sends a few small requests, and writes nothing. */
import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { GuardedLog } from '../log.ts'
import { type BackfillPreview, previewBackfill } from '../sync/backfill/backfillPlan.ts'
import type { BackfillRequest } from '../sync/backfill/backfillRequest.ts'
import { BackfillBooks } from '../warehouse/books/backfills.ts'
import { Fences } from '../warehouse/books/fences.ts'
import { backfillBasis } from '../warehouse/books/backfillBasis.ts'
import { clientOf, contextWithoutLoads } from '../wiring/openContext.ts'
import { openNewest } from '../wiring/published.ts'

export interface PlanOptions {
  readonly config: Config
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly log: GuardedLog
}

export async function planBackfills(requests: readonly BackfillRequest[], { config, clock, signal, log }: PlanOptions) {
  await using client = clientOf(config, { clock, log })
  const newest = await openNewest(config)
  await using database = newest?.database
  const books = database === undefined ? undefined : new BackfillBooks(database, new Fences())
  const context = contextWithoutLoads(config, { client, clock, signal })
  const plans: BackfillPreview[] = []
  for (const request of requests)
    plans.push(await previewBackfill(context, { books, basis: backfillBasis(database) }, request))
  return plans
}

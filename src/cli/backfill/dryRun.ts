/**
 * What a backfill would do: its windows and about how many requests they take, planned from the warehouse as it stands
 * (or the published copy, while a worker writes it) and a few small questions. Nothing is written.
 */
import type { Config } from '../../config/config.ts'
import { SyncError } from '../../errors.ts'
import type { GuardedLog } from '../../log.ts'
import { type Planned, previewBackfill } from '../../sync/backfill/backfillPreview.ts'
import type { BackfillRequest } from '../../sync/backfill/backfillRequest.ts'
import { identityOf, type WalkContext } from '../../sync/context.ts'
import { BackfillBooks } from '../../warehouse/books/backfills.ts'
import { Fences } from '../../warehouse/books/fences.ts'
import { backfillBasis, EMPTY_BASIS } from '../../warehouse/books/backfillBasis.ts'
import { openNewest } from '../../wiring/published.ts'
import { clientOf } from '../../wiring/openContext.ts'
import type { Shell } from '../shell.ts'

export type { Planned } from '../../sync/backfill/backfillPreview.ts'

export interface DryRun {
  readonly shell: Shell
  readonly config: Config
  readonly log: GuardedLog
  readonly requests: readonly BackfillRequest[]
}

export async function planOnly({ shell, config, log, requests }: DryRun): Promise<Planned[]> {
  await using client = clientOf(config, { clock: shell.clock, log })
  const newest = await openNewest(config)
  await using database = newest?.database
  const books = database === undefined ? undefined : new BackfillBooks(database, new Fences())
  const basis = database === undefined ? EMPTY_BASIS : backfillBasis(database)
  const context = roomsToAsk(config, { client, shell })
  const planned: Planned[] = []
  for (const request of requests) planned.push(await previewBackfill(context, { books, basis }, request))
  return planned
}

/** SyncContext in which only questions are asked. */
function roomsToAsk(config: Config, { client, shell }: { client: WalkContext['client']; shell: Shell }): WalkContext {
  return {
    client,
    warehouse: { numberMark: '~', load: () => Promise.reject(notNow()) },
    clock: shell.clock,
    settings: { ...config, concurrency: config.service.concurrency, identity: identityOf(config.service) },
    onProgress: () => undefined,
    signal: shell.stop.signal,
  }
}

const notNow = () => new SyncError('UNEXPECTED', 'a dry run loads nothing', { cure: 'Please report this defect.' })

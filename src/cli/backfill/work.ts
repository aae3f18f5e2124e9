/**
 * What is handed to whoever carries backfills out: this process, or a worker that owns the warehouse. The command sees
 * no difference: it gives the ranges, hears of progress and gets what came of each.
 */
import type { Config } from '../../config/config.ts'
import type { SyncError } from '../../errors.ts'
import type { BackfillOutcome, BackfillProgress } from '../../sync/backfill/backfill.ts'
import type { BackfillRequest } from '../../sync/backfill/backfillRequest.ts'
import type { Shell } from '../shell.ts'

export interface BackfillWork {
  readonly shell: Shell
  readonly config: Config
  readonly requests: readonly BackfillRequest[]
  readonly onProgress: (progress: BackfillProgress) => void
}

/** What came of one request: an outcome, or the error that stopped it. */
export interface BackfillEnd {
  readonly report: BackfillRequest['report']
  readonly outcome?: BackfillOutcome
  readonly error?: SyncError
}

export interface BackfillSummary {
  readonly ends: readonly BackfillEnd[]
  readonly published: { readonly path: string; readonly replaced: boolean } | undefined
  readonly publishFailure: SyncError | undefined
}

/** Carries the requests out, one after the other. Errors: those of opening; CANCELLED when somebody asked to stop. */
export type BackfillRunner = (work: BackfillWork) => Promise<BackfillSummary>

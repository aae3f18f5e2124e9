/**
 * What a puller is told: one window to read, and whose it is. Plain values without any secret, so that it fits a job.
 */
import { createHash } from 'node:crypto'
import type { ReportName } from '../../../schema/index.ts'
import type { ReportConfig } from '../../config/config.ts'
import type { Instant } from '../../instant.ts'
import type { PagingProfile } from '../../plan/pagingProfile.ts'
import type { Fence } from '../../warehouse/books/fences.ts'

export interface PullAsk {
  readonly backfillId: string
  readonly report: ReportName
  /** The currency, or ''. */
  readonly scope: string
  /** The window's number in its backfill. */
  readonly number: number
  readonly since: Instant
  readonly until: Instant
  /** Under which its rows will be committed, or refused. */
  readonly fence: Fence
  /** What the report is asked for, as `questionOf` gives it: a puller that is configured otherwise refuses. */
  readonly question: string
  /** The mark of long numbers in the warehouse that the rows are for. */
  readonly numberMark: string
  readonly profile: PagingProfile
}

/**
 * A fingerprint of what a configuration asks of a report, and of what it keeps in clear (`privacyTextOf`); filters may
 * name persons, so they don't travel themselves.
 */
export function questionOf({ pageSize, expand, filters, askCreated }: ReportConfig, privacy?: string): string {
  const sorted = Object.entries(filters).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const asked = JSON.stringify([pageSize, expand.toSorted(), sorted, askCreated, privacy])
  return createHash('sha256').update(asked).digest('hex').slice(0, 16)
}

/** The job to pull one window of a backfill. A queue stores it, so it has only plain values and no secrets. */
import { createHash } from 'node:crypto'
import type { ReportName } from '../../../schema/index.ts'
import type { ReportConfig } from '../../config/config.ts'
import type { Instant } from '../../instant.ts'
import type { PagingProfile } from '../../plan/pagingProfile.ts'
import type { Fence } from '../../warehouse/books/fences.ts'

export interface PullAsk {
  readonly backfillId: string
  readonly report: ReportName
  /** The currency; '' if the report is not read per currency. */
  readonly scope: string
  /** Number of the window within its backfill. */
  readonly number: number
  readonly since: Instant
  readonly until: Instant
  /** The backfill's right to commit rows: no newer run may have taken over its report. */
  readonly fence: Fence
  /** Fingerprint of the settings that change requests (`questionOf`). A worker with other settings refuses the job. */
  readonly question: string
  /** Prefix of numbers that staging writes as text, because a double would round them. Each warehouse has its own. */
  readonly numberMark: string
  readonly profile: PagingProfile
}

/** Returns a fingerprint of the request and privacy settings. The filters as such may contain names of persons. */
export function questionOf({ pageSize, expand, filters, askCreated }: ReportConfig, privacy?: string): string {
  const sorted = Object.entries(filters).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const asked = JSON.stringify([pageSize, expand.toSorted(), sorted, askCreated, privacy])
  return createHash('sha256').update(asked).digest('hex').slice(0, 16)
}

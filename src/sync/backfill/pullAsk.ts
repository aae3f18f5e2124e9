/** The job to read one window of a backfill. It has plain values only and no secrets, because a queue stores it. */
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
  /** The right to commit the window's rows. */
  readonly fence: Fence
  /** Fingerprint of the requests' settings (`questionOf`). A worker whose settings have another one refuses the job. */
  readonly question: string
  /** A staged number that a double can't store is a string with this prefix, which the loading warehouse has chosen. */
  readonly numberMark: string
  readonly profile: PagingProfile
}

/** Returns a fingerprint of the request and privacy settings. The filters themselves may contain names of persons. */
export function questionOf({ pageSize, expand, filters, askCreated }: ReportConfig, privacy?: string): string {
  const sorted = Object.entries(filters).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const asked = JSON.stringify([pageSize, expand.toSorted(), sorted, askCreated, privacy])
  return createHash('sha256').update(asked).digest('hex').slice(0, 16)
}

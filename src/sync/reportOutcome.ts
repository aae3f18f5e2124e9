/** What became of one report in one sync. */
import type { ReportName } from '../../schema/index.ts'
import type { SyncError } from '../errors.ts'
import type { Figures } from './figures.ts'

export interface ReportOutcome {
  readonly report: ReportName
  readonly runId: string | undefined
  /** `paused`: skipped, since the service refused it before; `error` says why and what to do. */
  readonly state: 'done' | 'failed' | 'off' | 'paused'
  readonly pages: number
  readonly figures: Figures
  /** Why it is off, when it is. */
  readonly offReason?: string
  readonly error?: SyncError
  readonly elapsedMs: number
}

/** Measures late rows. A row is late if an earlier window contained its modification time but did not return it. */
import type { Declaration } from '../../schema/report.ts'
import { earliest, type Instant, millisBetween, plusMs } from '../instant.ts'

export interface PreviousRead {
  readonly until: Instant
  /** When the earlier window was requested, by the service's clock. */
  readonly at: Instant
}

export interface LastWindow {
  readonly mark: Instant | undefined
  /** The service's approximate time when the window that set `mark` was read. */
  readonly until: Instant | undefined
  /** When the run that read this window began, by our clock. */
  readonly begunAt: Instant | undefined
}

/** Returns how far earlier runs have read. Undefined without a mark or if the service's clock went back. */
export function previousRead(last: Pick<LastWindow, 'mark' | 'until'>, serviceTime: Instant, settleMs: number) {
  if (last.mark === undefined) return undefined
  const at = last.until ?? plusMs(last.mark, settleMs)
  return serviceTime < at ? undefined : { until: earliest(last.mark, at), at }
}

/** Returns the minimum lateness of a row (ms): from its modification to the request that missed the row. */
export const latenessMs = (stamp: Instant, missed: PreviousRead): number => Math.max(0, millisBetween(stamp, missed.at))

export const countsLateRows = ({ newerBy, deletes }: Pick<Declaration, 'newerBy' | 'deletes'>): boolean =>
  newerBy.length > 0 || deletes === 'absence'

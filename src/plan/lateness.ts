/** Measures late rows. A row is late if an earlier window contained its modification time, but did not return it. */
import type { Declaration } from '../../schema/report.ts'
import { earliest, type Instant, millisBetween, plusMs } from '../instant.ts'

export interface PreviousRead {
  /** Earlier runs have already requested all rows that were modified up to this time. */
  readonly until: Instant
  /** When the earlier window was requested, by the service's clock. A late row became visible only after this time. */
  readonly at: Instant
}

export interface LastWindow {
  readonly mark: Instant | undefined
  /** End of the window that set `mark`: about when that window was read, by the service's clock. */
  readonly until: Instant | undefined
  /** When the run that read the window began, by our clock. */
  readonly begunAt: Instant | undefined
}

/** Returns how far earlier runs have read, and when. Undefined without a mark or if the service's clock went back. */
export function previousRead(last: Pick<LastWindow, 'mark' | 'until'>, clock: Instant, settleMs: number) {
  if (last.mark === undefined) return undefined
  const at = last.until ?? plusMs(last.mark, settleMs)
  return clock < at ? undefined : { until: earliest(last.mark, at), at }
}

/** Returns how late a row is (ms), at least: the time from its modification to the earlier request that missed it. */
export const latenessMs = (stamp: Instant, asked: PreviousRead): number => Math.max(0, millisBetween(stamp, asked.at))

/** Returns whether Tidemark counts a report's late rows: by their stamps or, without stamps, by comparing counts. */
export const countsLateRows = ({ newerBy, deletes }: Pick<Declaration, 'newerBy' | 'deletes'>): boolean =>
  newerBy.length > 0 || deletes === 'absence'

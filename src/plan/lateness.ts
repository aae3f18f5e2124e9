/** Measures late rows. A row is late if an earlier window contained its modification time, but did not return it. */
import type { Declaration } from '../../schema/report.ts'
import { earliest, type Instant, millisBetween, plusMs } from '../instant.ts'

export interface PreviousRead {
  /** Earlier runs have already requested all rows with modification times up to this time. */
  readonly until: Instant
  /** The service's time when the earlier window was requested. A late row became visible only after this time. */
  readonly at: Instant
}

export interface LastWindow {
  readonly mark: Instant | undefined
  /** End of the window that set `mark`: the service's time when that window was read. */
  readonly until: Instant | undefined
  /** Our clock at the beginning of the run that read the window. */
  readonly begunAt: Instant | undefined
}

/** Returns up to which time rows were read, and when. Undefined without a mark or if the service's clock went back. */
export function previousRead(last: Pick<LastWindow, 'mark' | 'until'>, clock: Instant, settleMs: number) {
  if (last.mark === undefined) return undefined
  const at = last.until ?? plusMs(last.mark, settleMs)
  return clock < at ? undefined : { until: earliest(last.mark, at), at }
}

/** Returns the minimum time (ms) between the modification of a late row and its first appearance in a response. */
export const latenessMs = (stamp: Instant, asked: PreviousRead): number => Math.max(0, millisBetween(stamp, asked.at))

/** Returns whether Tidemark counts late rows of a report: by their stamps or, without stamps, by comparing counts. */
export const countsLateRows = ({ newerBy, deletes }: Pick<Declaration, 'newerBy' | 'deletes'>): boolean =>
  newerBy.length > 0 || deletes === 'absence'

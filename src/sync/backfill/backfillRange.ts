/** Decides whether a range of a report can be backfilled. */
import { type ReportName, reportOf } from '../../../schema/index.ts'
import { SyncError } from '../../errors.ts'
import { formatInstant, type Instant } from '../../instant.ts'

export interface RangeBounds {
  /** Start of the report in the configuration. */
  readonly start: Instant
  readonly now: Instant
}

/** Throws USAGE_INVALID if the range is impossible, for example in the future. The cure has a possible range. */
export function checkRange(
  { report, from, to }: { report: ReportName; from: Instant; to: Instant },
  { start, now }: RangeBounds,
): void {
  const invalid = (what: string, cure: string) => new SyncError('USAGE_INVALID', what, { cure, report })
  if (reportOf(report).perRecord !== undefined) {
    throw invalid(
      `${report} can't be backfilled: it is asked record by record, each with a mark of its own`,
      `A record's entries are read from "start" on when it is first asked about: run "tidemark sync ${report}".`,
    )
  }
  if (from > to) {
    throw invalid(
      `the range ends before it begins: from ${formatInstant(from)} to ${formatInstant(to)}`,
      'Give a --from that is not later than --to.',
    )
  }
  if (to > now) {
    throw invalid(
      `the range ends in the future: ${formatInstant(to)}`,
      'Leave --to out to read up to now; what comes later is read by the incremental runs.',
    )
  }
  if (from < start) {
    throw invalid(
      `the range begins before ${formatInstant(start)}, where ${report} is configured to start`,
      `Give a later --from, or set an earlier "start" for ${report}: the next sync then reads what is missing by itself.`,
    )
  }
}

/** Finds the backfill for an operator's request: an unfinished one with the same range, or a new one. */
import { randomUUID } from 'node:crypto'
import { type ReportName, reportOf } from '../../../schema/index.ts'
import { type Instant, formatInstant } from '../../instant.ts'
import type { BackfillBook } from '../../warehouse/books/backfills.ts'
import { SyncError } from '../../errors.ts'

export interface BackfillRequest {
  readonly report: ReportName
  /** Default: the report's configured start. */
  readonly from?: Instant | undefined
  /** Default: the end of an open backfill with the same beginning, else now. */
  readonly to?: Instant | undefined
}

/** A requested backfill. `goesOn` is true if it continues an earlier backfill of this range. */
export interface NamedBackfill {
  readonly backfillId: string
  readonly report: ReportName
  readonly from: Instant
  readonly to: Instant
  readonly goesOn: boolean
}

export type OpenBackfill = Pick<BackfillBook, 'backfillId' | 'since' | 'until'>

export interface RequestContext {
  readonly books: { open(report: ReportName): Promise<readonly OpenBackfill[]> } | undefined
  readonly start: Instant
  readonly now: Instant
}

/** Returns the backfill to run: an open one, or a new one. Throws USAGE_INVALID for an impossible range. */
export async function nameBackfill(request: BackfillRequest, { books, start, now }: RequestContext) {
  const { report } = request
  const from = request.from ?? start
  checkRange({ report, from, to: request.to ?? now }, { start, now })
  const isSame = ({ since, until }: OpenBackfill) =>
    since === from && (request.to === undefined || request.to === until)
  const open = (await books?.open(report))?.find(isSame)
  const [backfillId, to] = open === undefined ? [randomUUID(), request.to ?? now] : [open.backfillId, open.until]
  return { backfillId, report, from, to, goesOn: open !== undefined }
}

export function checkRange(
  { report, from, to }: Pick<NamedBackfill, 'report' | 'from' | 'to'>,
  { start, now }: Pick<RequestContext, 'start' | 'now'>,
): void {
  const invalid = (what: string, cure: string) => new SyncError('USAGE_INVALID', what, { cure, report })
  if (reportOf(report).perRecord !== undefined) {
    throw invalid(
      `${report} can't be backfilled: it is requested record by record, and each record has its own mark`,
      `The first request for a record reads its entries from "start" on: run "tidemark sync ${report}".`,
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
      'Leave --to out to read up to now. The incremental runs read later rows.',
    )
  }
  if (from < start) {
    throw invalid(
      `the range begins before ${formatInstant(start)}, where ${report} is configured to start`,
      `Give a later --from, or set an earlier "start" for ${report}: the next sync then reads what is missing by itself.`,
    )
  }
}

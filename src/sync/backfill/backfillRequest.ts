/** Turns an operator's request into a backfill. A request for the range of an open backfill continues that backfill. */
import { randomUUID } from 'node:crypto'
import type { ReportName } from '../../../schema/index.ts'
import type { Instant } from '../../instant.ts'
import type { BackfillBook } from '../../warehouse/books/backfills.ts'
import { checkRange } from './backfillRange.ts'

export interface BackfillRequest {
  readonly report: ReportName
  /** Start of the range; undefined: the start of the report in the configuration. */
  readonly from: Instant | undefined
  /** End of the range. Undefined: the end of the open backfill with the same start or, if none is open, now. */
  readonly to: Instant | undefined
}

export interface NamedBackfill {
  readonly backfillId: string
  readonly report: ReportName
  readonly from: Instant
  readonly to: Instant
  /** True if this is an open backfill, which continues. */
  readonly goesOn: boolean
}

export type OpenBackfill = Pick<BackfillBook, 'backfillId' | 'since' | 'until'>

export interface RequestParts {
  /** The books of backfills; undefined if there is no warehouse yet. */
  readonly books: { open(report: ReportName): Promise<readonly OpenBackfill[]> } | undefined
  readonly start: Instant
  readonly now: Instant
}

/** Returns the backfill to run: an open one, or a new one. Throws USAGE_INVALID for an impossible range. */
export async function nameBackfill(
  asked: BackfillRequest,
  { books, start, now }: RequestParts,
): Promise<NamedBackfill> {
  const { report } = asked
  const from = asked.from ?? start
  checkRange({ report, from, to: asked.to ?? now }, { start, now })
  const isSame = ({ since, until }: OpenBackfill) => since === from && (asked.to === undefined || asked.to === until)
  const open = (await books?.open(report))?.find(isSame)
  const [backfillId, to] = open === undefined ? [randomUUID(), asked.to ?? now] : [open.backfillId, open.until]
  return { backfillId, report, from, to, goesOn: open !== undefined }
}

/**
 * From what an operator asks for to one backfill: a range that was begun and has not ended goes on, with its own name.
 */
import { randomUUID } from 'node:crypto'
import type { ReportName } from '../../../schema/index.ts'
import type { Instant } from '../../instant.ts'
import type { BackfillBook } from '../../warehouse/books/backfills.ts'
import { checkRange } from './backfillRange.ts'

export interface BackfillRequest {
  readonly report: ReportName
  /** Undefined: from where the report is configured to start. */
  readonly from: Instant | undefined
  /** Undefined: up to now, or up to where the one that goes on was to end. */
  readonly to: Instant | undefined
}

export interface NamedBackfill {
  readonly backfillId: string
  readonly report: ReportName
  readonly from: Instant
  readonly to: Instant
  /** It was begun before. */
  readonly goesOn: boolean
}

export type OpenBackfill = Pick<BackfillBook, 'backfillId' | 'since' | 'until'>

export interface RequestParts {
  /** Where open backfills stand; undefined: there is no warehouse yet. */
  readonly books: { open(report: ReportName): Promise<readonly OpenBackfill[]> } | undefined
  readonly start: Instant
  readonly now: Instant
}

/** Error: USAGE_INVALID for a range that can't be. */
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

/** Selects the rows of a page (spec §4, rule 2), and simulates paging faults. */
import { draw } from './dice.ts'
import type { FaultName, Faults } from './faults.ts'
import type { Settings } from './options.ts'
import type { ReportName } from './reports/index.ts'
import type { Value } from './validate.ts'

export type Page = ReturnType<typeof pageOf>

export interface PageRequest {
  readonly values: ReadonlyMap<string, Value>
  readonly total: number
  readonly limits: Pick<Settings, 'pageSizeDefault' | 'pageSizeMax'>
  readonly report: ReportName
}

export function pageOf({ values, total, limits, report }: PageRequest, faults: Faults) {
  const first = faults.take('from-zero', report) === undefined ? 1 : 0
  const number = Number(values.get('pageNumber') ?? first) - first + 1
  const wantedSize = Math.min(Number(values.get('pageSize') ?? limits.pageSizeDefault), limits.pageSizeMax)
  const limitOf = (fault: FaultName): number => faults.takeNumber(fault, report) ?? Number.POSITIVE_INFINITY
  const clamp = limitOf('clamp')
  const raised = Math.max(wantedSize, faults.takeNumber('raise', report) ?? 0)
  const size = Math.max(1, Math.min(raised, clamp, limitOf('clamp-silent')))
  const ignored = number === 1 ? undefined : faults.take('ignore-page', report)
  const effective = ignored === undefined ? number : 1
  // With the fault `short-page`, page 2 has fewer rows. Later pages begin earlier, so that no row is skipped.
  const missing = total > size && faults.take('short-page', report) !== undefined ? Math.floor(size / 2) : 0
  const start = (effective - 1) * size - (effective > 2 ? missing : 0)
  const count = effective === 2 ? size - missing : size
  const cap = limitOf('cap')
  return {
    start,
    count: Math.max(0, Math.min(count, cap - start)),
    pageNumber: (ignored === 'echo' ? number : effective) - 1 + first,
    pageSize: Math.min(wantedSize, clamp),
    totalCount: Math.max(0, total + (faults.takeNumber('total-lies', report) ?? 0)),
    isPartial: total > size,
    /** Whether the page begins after the last row, or the fault `cap` cuts rows off. */
    isBeyond: (start > 0 && start >= total) || start + count > cap,
  }
}

/** Returns the rows of a page in another order for each request (fault `unordered`). */
export const shuffled = (total: number, { start, count }: Pick<Page, 'start' | 'count'>, request: number): number[] =>
  Array.from({ length: total }, (_, place) => place)
    .sort((a, b) => draw(request, a, 1) - draw(request, b, 1) || a - b)
    .slice(start, start + count)

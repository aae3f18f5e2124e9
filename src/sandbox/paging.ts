/** Computes the rows of a page and the paging fields (spec §4, rule 2), and applies the faults of paging. */
import { draw } from './dice.ts'
import type { Faults } from './faults.ts'
import type { Settings } from './options.ts'
import type { ReportName } from './reports/index.ts'
import type { Value } from './validate.ts'

export interface Page {
  readonly start: number
  readonly count: number
  readonly pageNumber: number
  readonly pageSize: number
  readonly totalCount: number
  readonly isPartial: boolean
  /** True if the page begins after the last row. With the fault `cap`, also if it ends after the last allowed row. */
  readonly isBeyond: boolean
}

export interface PageRequest {
  readonly values: ReadonlyMap<string, Value>
  readonly total: number
  readonly limits: Pick<Settings, 'pageSizeDefault' | 'pageSizeMax'>
  readonly report: ReportName
}

export function pageOf({ values, total, limits, report }: PageRequest, faults: Faults): Page {
  const first = faults.take('from-zero', report) === undefined ? 1 : 0
  const number = Number(values.get('pageNumber') ?? first) - first + 1
  const wantedSize = Math.min(Number(values.get('pageSize') ?? limits.pageSizeDefault), limits.pageSizeMax)
  const clamp = faults.takeNumber('clamp', report) ?? Number.POSITIVE_INFINITY
  const silentClamp = faults.takeNumber('clamp-silent', report) ?? Number.POSITIVE_INFINITY
  const raised = Math.max(wantedSize, faults.takeNumber('raise', report) ?? 0)
  const size = Math.max(1, Math.min(raised, clamp, silentClamp))
  const ignored = number === 1 ? undefined : faults.take('ignore-page', report)
  const effective = ignored === undefined ? number : 1
  const { start, count } = sliceOf(effective, size, total > size && faults.take('short-page', report) !== undefined)
  const cap = faults.takeNumber('cap', report) ?? Number.POSITIVE_INFINITY
  return {
    start,
    count: Math.max(0, Math.min(count, cap - start)),
    pageNumber: (ignored === 'echo' ? number : effective) - 1 + first,
    pageSize: Math.min(wantedSize, clamp),
    totalCount: Math.max(0, total + (faults.takeNumber('total-lies', report) ?? 0)),
    isPartial: total > size,
    isBeyond: (start > 0 && start >= total) || start + count > cap,
  }
}

function sliceOf(number: number, size: number, short: boolean): { start: number; count: number } {
  const start = (number - 1) * size
  const missing = short ? Math.floor(size / 2) : 0
  if (number === 2) return { start, count: size - missing }
  return { start: number > 2 ? start - missing : start, count: size }
}

/** Returns the rows of a page in another order for each request (fault `unordered`). */
export function shuffled(total: number, { start, count }: { start: number; count: number }, request: number): number[] {
  const end = Math.min(start + count, total)
  const step = strideFor(total, draw(request, total, 1))
  const shift = draw(request, total, 2) % Math.max(1, total)
  return Array.from({ length: Math.max(0, end - start) }, (_, i) => (((start + i) % total) * step + shift) % total)
}

/** Returns a number without a common divisor with `total`. So its multiples modulo `total` reach every position. */
function strideFor(total: number, drawn: number): number {
  let stride = 1 + (drawn % Math.max(1, Math.min(total, 100_003)))
  while (greatestCommonDivisor(stride, total) !== 1) stride += 1
  return stride
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b)
}

/**
 * The modification stamps of a page's rows, for the planner: where rows are in time. Rows are never built elsewhere,
 * so this is only for the few responses that were overfull and whose rows aren't kept.
 */
import type { Declaration } from '../../../schema/report.ts'
import { tableOf } from '../../../schema/tables.ts'
import { type Instant, parseInstant } from '../../instant.ts'
import type { RowStamps } from '../../plan/stampSample.ts'
import type { ScannedPage } from '../../staging/scanPage.ts'

/** An audit entry's only time. */
const ENTRY_STAMP = ['timestamp']

/** In the page's order; rejected rows left out. */
export function stampsOf(report: Declaration, page: ScannedPage): readonly RowStamps[] {
  const columns = report.perRecord === undefined ? report.newerBy : ENTRY_STAMP
  const sources = columns.map((column) => tableOf(report).fields.find(({ name }) => name === column)?.sources ?? [])
  return linesOf(page.lines(0)).flatMap((line): RowStamps[] => {
    const row = rowFrom(line)
    return row === undefined ? [] : [sources.map((fields) => stampIn(row, fields))]
  })
}

const linesOf = (bytes: Buffer): string[] =>
  bytes
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '')

function rowFrom(line: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(line) as Record<string, unknown>
  } catch {
    // A hint is not worth an error: what is wrong with the row is found when it is loaded.
    return undefined
  }
}

function stampIn(row: Record<string, unknown>, fields: readonly string[]): Instant | undefined {
  for (const field of fields) {
    const value = row[field]
    const at = typeof value === 'string' ? parseInstant(value) : undefined
    if (at !== undefined) return at
  }
  return undefined
}

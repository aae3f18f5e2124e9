/** Reads the modification times of a page's rows. Slow, because it parses whole rows: used only for cuts and probes. */
import type { Declaration } from '../../../schema/report.ts'
import { tableOf } from '../../../schema/tables.ts'
import { type Instant, parseInstant } from '../../instant.ts'
import type { RowStamps } from '../../plan/stampSample.ts'
import type { ScannedPage } from '../../staging/scanPage.ts'

/** The field with the time of an audit entry. */
const ENTRY_STAMP = ['timestamp']

/** Returns each row's modification times, in the page's order, without rejected rows. */
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
    // These times are only hints, so a row that can't be parsed has none. The load of the row reports the error.
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

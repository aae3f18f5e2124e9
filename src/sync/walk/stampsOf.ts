/** Reads the modification times of a page's rows. Parsing whole rows is slow, so this is for a few pages only. */
import type { Declaration } from '../../../schema/report.ts'
import { tableOf } from '../../../schema/tables.ts'
import { attempt } from '../../errors.ts'
import { parseInstant } from '../../instant.ts'
import type { RowStamps } from '../../plan/stampSample.ts'
import type { ScannedPage } from '../../staging/scanPage.ts'

const ENTRY_STAMP = ['timestamp']

export const stampsOf = (report: Declaration, page: ScannedPage): readonly RowStamps[] =>
  stampTexts(report, page).map((texts) => texts.map((text) => (text === undefined ? undefined : parseInstant(text))))

/** Returns the modification times of each row as the service sent them. Leaves out rejected rows. */
export function stampTexts(report: Declaration, page: ScannedPage): readonly (readonly (string | undefined)[])[] {
  const columns = report.perRecord === undefined ? report.newerBy : ENTRY_STAMP
  const sources = columns.map((column) => tableOf(report).fields.find(({ name }) => name === column)?.sources ?? [])
  return linesOf(page.lines(0)).map((line) => {
    // Ignores a row that can't be parsed, because the load reports it.
    const row = attempt(() => JSON.parse(line) as Record<string, unknown>, {})
    return sources.map((fields) => fields.map((field) => row[field]).find((value) => typeof value === 'string'))
  })
}

const linesOf = (bytes: Buffer): string[] =>
  bytes
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '')

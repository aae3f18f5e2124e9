/** Scans pages in tests, and parses the staged lines. */
import { ObjectCatalog } from '../../src/staging/catalog.ts'
import { type ScannedPage, scanPage, type ScanPlan } from '../../src/staging/scanPage.ts'
import { ORDINAL_FIELD, SHAPE_FIELD } from '../../src/plan/stagedNames.ts'

export const MARK = '~mark~'

export interface Scanned extends ScannedPage {
  readonly catalog: ObjectCatalog
}

/** A scan needs these in addition to the bytes. */
export interface ScanGiven extends Partial<ScanPlan> {
  readonly collections?: readonly string[]
}

export function scan(page: string | Buffer, { collections = [], ...given }: ScanGiven = {}): Scanned {
  const catalog = given.catalog ?? new ObjectCatalog(collections)
  const bytes = typeof page === 'string' ? Buffer.from(page) : Buffer.from(page)
  const scanned = scanPage(bytes, { answer: 'array', key: ['id'], numberPrefix: MARK, ...given, catalog })
  return { ...scanned, catalog }
}

export const linesOf = (page: ScannedPage): string[] => page.lines(0).toString('utf8').split('\n').slice(0, -1)

export type StagedRow = Record<string, unknown>

/** Returns the staged rows. Numbers that are staged as text keep their mark. */
export const rowsOf = (page: ScannedPage): StagedRow[] => linesOf(page).map((line) => JSON.parse(line) as StagedRow)

/** Returns the staged rows under their fields' names, with JavaScript numbers. */
export function valuesOf(page: Scanned): StagedRow[] {
  const names = new Map(page.catalog.fields.map(({ stagedName, name }) => [stagedName, name]))
  return linesOf(page).map((line) => {
    const {
      [ORDINAL_FIELD]: _,
      [SHAPE_FIELD]: _shape,
      ...row
    } = JSON.parse(line.replaceAll(/"~mark~([^"]*)"/g, '$1')) as StagedRow
    return Object.fromEntries(Object.entries(row).map(([staged, value]) => [names.get(staged) ?? '', value]))
  })
}

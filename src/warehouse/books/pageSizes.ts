/** The books of page sizes: what each report's pages were seen to hold, for the page size that was asked for. */
import type { ReportName } from '../../../schema/index.ts'
import { bothSeen, NO_PAGE_SIZES, type PageSizes } from '../../plan/pageSizes.ts'
import type { Sql } from '../database/duckdb.ts'

export interface PageSizePlace {
  readonly report: ReportName
  readonly pageSize: number
  /** What was known when the walks began, where what they have seen since stands in its place. */
  readonly knew?: PageSizes
}

export async function pageSizesOf(sql: Sql, { report, pageSize }: PageSizePlace): Promise<PageSizes> {
  const [known] = await sql.rows<{ fullMin: number | null; seenMax: number; firstNumber: 0 | 1 | null }>(
    `SELECT full_min AS "fullMin", seen_max AS "seenMax", first_number AS "firstNumber"
     FROM tidemark.page_sizes WHERE report = $1 AND asked = $2`,
    [report, pageSize],
  )
  if (known === undefined) return NO_PAGE_SIZES
  const { fullMin, seenMax, firstNumber } = known
  return { fullMin: fullMin ?? undefined, seenMax, firstNumber: firstNumber ?? undefined }
}

/** Adds what a walk has seen to what others saw meanwhile, who may have walked beside it. */
export async function learnPageSizes(sql: Sql, place: PageSizePlace, seen: PageSizes): Promise<void> {
  const held = await pageSizesOf(sql, place)
  const isAsBefore = held.fullMin === place.knew?.fullMin && held.seenMax === place.knew?.seenMax
  const { fullMin, seenMax, firstNumber = held.firstNumber } = isAsBefore ? seen : bothSeen(held, seen)
  await sql.run('DELETE FROM tidemark.page_sizes WHERE report = $1', [place.report])
  await sql.run('INSERT INTO tidemark.page_sizes VALUES ($1, $2, $3, $4, $5)', [
    place.report,
    place.pageSize,
    fullMin ?? null,
    seenMax,
    firstNumber ?? null,
  ])
}

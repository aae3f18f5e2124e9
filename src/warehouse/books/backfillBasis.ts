/** Reads what a backfill needs to choose its windows. */
import type { ReportName } from '../../../schema/index.ts'
import type { Declaration } from '../../../schema/report.ts'
import type { Instant } from '../../instant.ts'
import type { CountedRange } from '../../plan/backfillWindows.ts'
import { UNKNOWN_PAGING } from '../../plan/pagingProfile.ts'
import type { BoundedSpan } from '../../plan/spans.ts'
import { countOf, onlyRow, type Sql, name, names, text, time } from '../database/sql.ts'
import { pauses } from './reportStates.ts'
import { pagingProfileOf } from './pagingProfiles.ts'

interface DensityRequest {
  readonly report: Declaration
  readonly scope: string
  readonly span: BoundedSpan
}

export const backfillBasis = (sql: Sql | undefined) => ({
  rowDensity: async (ask: DensityRequest) => sql && densityOf(sql, ask),
  /** True if each window must be read twice, because some rows lack a deletion flag. */
  readsTwice: async (report: Declaration) => report.deletes === 'diff' || (!!sql && hasUnflaggedRows(sql, report)),
  pagingProfile: async (report: ReportName, pageSize: number) =>
    sql === undefined ? UNKNOWN_PAGING : pagingProfileOf(sql, { report, pageSize }),
  pauses: async () => (sql === undefined ? [] : pauses(sql)),
})

export type BackfillBasis = ReturnType<typeof backfillBasis>

async function hasUnflaggedRows(sql: Sql, { name: report }: Declaration): Promise<boolean> {
  const newest = `SELECT arg_max(unflagged, load_id) AS unflagged FROM tidemark.loads WHERE rows > 0 AND report = ${text(report)}`
  const load = await onlyRow<{ unflagged: number | null }>(sql, newest)
  return (load.unflagged ?? 0) > 0
}

const DENSITY_SPANS = 512

async function densityOf(sql: Sql, { report, scope, span }: DensityRequest): Promise<CountedRange[] | undefined> {
  if (report.newerBy.length === 0) return undefined
  const inScope = scope === '' ? '' : ` AND target_currency = ${text(scope)}`
  const [best, other = best] = report.newerBy.map((column) => name(column))
  const stamps = `
    SELECT stamp, twice FROM (
      SELECT coalesce(${names(report.newerBy)}) AS stamp, coalesce(${best} <> ${other}, false) AS twice
      FROM main.${name(report.name)} WHERE true${inScope})
    WHERE stamp BETWEEN ${time(span.since)} AND ${time(span.until)}`
  const [total, twice] = [await countOf(sql, `(${stamps})`), await countOf(sql, `(${stamps}) WHERE twice`)]
  if (total === 0) return undefined
  const step = Math.ceil(total / DENSITY_SPANS)
  // A row with two modification times can be in two windows (spec §4).
  const readsPerRow = 1 + twice / total
  const cuts = await sql.rows<{ cut: Instant; n: number }>(`
    SELECT epoch_us(stamp) AS cut, max(n) AS n
    FROM (SELECT stamp, row_number() OVER (ORDER BY stamp) AS n FROM (${stamps}))
    WHERE n % ${step} = 0 GROUP BY stamp ORDER BY cut`)
  const inside = cuts.filter(({ cut }) => cut > span.since && cut < span.until)
  const bounds = [{ cut: span.since, n: 0 }, ...inside, { cut: span.until, n: total }]
  return bounds.slice(1).map(({ cut: until, n }, index) => {
    const { cut: since, n: before } = bounds[index] as (typeof bounds)[number]
    return { since, until, rows: [Math.round((n - before) * readsPerRow)] }
  })
}

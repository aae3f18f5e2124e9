/**
 * Which of the rows that a load is about to write came late: their stamp lies where the windows before had asked, and
 * did not show them (product contract §2, overlap). A row that is held at that stamp already is no news, whatever else
 * of it changed.
 */
import type { Declaration } from '../../../schema/report.ts'
import type { Instant } from '../../instant.ts'
import { type PreviousRead, latenessMs } from '../../plan/lateness.ts'
import type { Sql } from '../database/duckdb.ts'
import { name, time } from '../database/sqlText.ts'

export interface Late {
  readonly late: number
  /** Undefined when none came late. */
  readonly latenessMs: number | undefined
}

export interface LateRowCount {
  readonly report: Declaration
  /** Columns that the staged rows carry, and those of the table. */
  readonly staged: readonly string[]
  readonly held: readonly string[]
  /** The table, as it stands before the load writes to it. */
  readonly target: string
  readonly asked: PreviousRead | undefined
}

/** Looks at the temporary tables `win` and `staged`. Undefined: not measured, or the rows carry no stamp. */
export async function countLate(sql: Sql, parts: LateRowCount): Promise<Late | undefined> {
  const { report, staged, held, target, asked } = parts
  const sent = stampOf(report, staged, 's')
  if (asked === undefined || sent === undefined) return undefined
  const before = stampOf(report, held, 't') ?? 'NULL::TIMESTAMPTZ'
  const [found] = await sql.rows<{ late: number; earliest: Instant | null }>(`
    SELECT count(*) AS late, epoch_us(min(${sent})) AS earliest
    FROM win w JOIN staged s ON s.rowid = w.sid LEFT JOIN ${target} t ON t.rowid = w.replaced
    WHERE ${sent} <= ${time(asked.until)} AND coalesce(${before} < ${sent}, true)`)
  if (found === undefined || found.earliest === null) return { late: 0, latenessMs: undefined }
  return { late: found.late, latenessMs: latenessMs(found.earliest, asked) }
}

/** The row's own modification stamp, where the report has one and the rows carry it. */
function stampOf(report: Declaration, columns: readonly string[], alias: string): string | undefined {
  const stamps = report.newerBy.filter((column) => columns.includes(column)).map((column) => `${alias}.${name(column)}`)
  return stamps.length === 0 ? undefined : `coalesce(${stamps.join(', ')})`
}

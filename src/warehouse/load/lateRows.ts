/** Counts late rows before a load writes: an earlier window had requested their time (contract §2, overlap). */
import type { Declaration } from '../../../schema/report.ts'
import type { Instant } from '../../instant.ts'
import { type PreviousRead, latenessMs } from '../../plan/lateness.ts'
import type { Sql } from '../database/duckdb.ts'
import { time } from '../database/sqlText.ts'
import { stampSql } from '../tables/tables.ts'

export interface Late {
  readonly late: number
  /** How late (ms) the row with the oldest stamp was, or more; undefined if no row is late. */
  readonly latenessMs: number | undefined
}

export interface LateRowCount {
  readonly report: Declaration
  /** Column names: `staged` of the staged rows, `held` of the report's table. */
  readonly staged: readonly string[]
  readonly held: readonly string[]
  /** The report's table as an SQL name. The load has not written to it yet. */
  readonly target: string
  readonly asked: PreviousRead | undefined
}

/** Counts the late rows of `win` and `staged`; undefined if they are not counted, or rows have no stamp. */
export async function countLate(sql: Sql, parts: LateRowCount): Promise<Late | undefined> {
  const { report, staged, held, target, asked } = parts
  const sent = stampSql(report, 's', staged)
  if (asked === undefined || sent === undefined) return undefined
  const before = stampSql(report, 't', held) ?? 'NULL::TIMESTAMPTZ'
  const [found] = await sql.rows<{ late: number; earliest: Instant | null }>(`
    SELECT count(*) AS late, epoch_us(min(${sent})) AS earliest
    FROM win w JOIN staged s ON s.rowid = w.sid LEFT JOIN ${target} t ON t.rowid = w.replaced
    WHERE ${sent} <= ${time(asked.until)} AND coalesce(${before} < ${sent}, true)`)
  if (found === undefined || found.earliest === null) return { late: 0, latenessMs: undefined }
  return { late: found.late, latenessMs: latenessMs(found.earliest, asked) }
}

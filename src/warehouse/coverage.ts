/** What each scope of a report was last asked for, and how much of it still has to be read again. */
import type { Instant } from '../instant.ts'
import type { Asked } from '../plan/coverage.ts'
import type { Sql } from './duckdb.ts'
import { time } from './sqlText.ts'

export interface Coverage {
  readonly asked: Asked
  /** What was modified up to here has to be read again; undefined: nothing has. */
  readonly refillUntil: Instant | undefined
}

export async function coverageOf(sql: Sql, report: string, scope: string): Promise<Coverage | undefined> {
  const [row] = await sql.rows<{ asked: string; until: number | null }>(
    'SELECT asked::VARCHAR AS asked, epoch_us(refill_until) AS until FROM tidemark.coverage WHERE report = $1 AND scope = $2',
    [report, scope],
  )
  if (row === undefined) return undefined
  return { asked: JSON.parse(row.asked) as Asked, refillUntil: (row.until ?? undefined) as Instant | undefined }
}

export async function recordCoverage(
  sql: Sql,
  place: { report: string; scope: string },
  coverage: Coverage,
): Promise<void> {
  const until = coverage.refillUntil === undefined ? 'NULL' : time(coverage.refillUntil)
  await sql.run('DELETE FROM tidemark.coverage WHERE report = $1 AND scope = $2', [place.report, place.scope])
  await sql.run(`INSERT INTO tidemark.coverage VALUES ($1, $2, $3, ${until})`, [
    place.report,
    place.scope,
    JSON.stringify(coverage.asked),
  ])
}

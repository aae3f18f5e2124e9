/** What each scope of a report was last asked for, and how much of it still has to be read again. */
import type { Asked, Change, Coverage } from '../plan/coverage.ts'
import type { Instant } from '../instant.ts'
import type { Sql } from './duckdb.ts'
import { text, time } from './sqlText.ts'

export type { Coverage } from '../plan/coverage.ts'

/** Stands between the changes that `because` names. */
const AND = ' and '

export async function coverageOf(sql: Sql, report: string, scope: string): Promise<Coverage | undefined> {
  const [row] = await sql.rows<{ asked: string; until: number | null; because: string | null }>(
    'SELECT asked::VARCHAR AS asked, epoch_us(refill_until) AS until, because FROM tidemark.coverage WHERE report = $1 AND scope = $2',
    [report, scope],
  )
  if (row === undefined) return undefined
  return {
    asked: JSON.parse(row.asked) as Asked,
    refillUntil: (row.until ?? undefined) as Instant | undefined,
    because: (row.because?.split(AND) ?? []) as Change[],
  }
}

export async function recordCoverage(
  sql: Sql,
  place: { report: string; scope: string },
  { asked, refillUntil, because }: Coverage,
): Promise<void> {
  const until = refillUntil === undefined ? 'NULL' : time(refillUntil)
  const reason = refillUntil === undefined || because.length === 0 ? null : because.join(AND)
  await sql.run('DELETE FROM tidemark.coverage WHERE report = $1 AND scope = $2', [place.report, place.scope])
  await sql.run(`INSERT INTO tidemark.coverage VALUES ($1, $2, $3, ${until}, $4)`, [
    place.report,
    place.scope,
    JSON.stringify(asked),
    reason,
  ])
}

/**
 * Forgets what scopes of an audit report were asked for that are no longer asked about: nobody notes which of their
 * records change meanwhile, so all of them are asked again should they come back.
 */
export async function forgetCoverage(sql: Sql, report: string, kept: readonly string[]): Promise<void> {
  const others = kept.length === 0 ? '' : ` AND scope NOT IN (${kept.map(text).join(', ')})`
  await sql.run(`DELETE FROM tidemark.coverage WHERE report = ${text(report)}${others}`)
}

/** The table `tidemark.covered`: windows merged into intervals as they are closed (there are millions a year). */
import type { Declaration } from '../../../schema/report.ts'
import type { Instant } from '../../instant.ts'
import { merged } from '../../plan/intervals.ts'
import type { Span } from '../../plan/spans.ts'
import type { Sql } from '../database/duckdb.ts'
import { text, time } from '../database/sqlText.ts'

export interface ScopedSpan extends Span {
  readonly scope: string
}

/** Adds the time ranges of windows that were read completely. */
export async function cover(sql: Sql, report: Declaration, windows: readonly ScopedSpan[]): Promise<void> {
  if (report.perRecord !== undefined) return
  const held = Map.groupBy(await coveredBy(sql, report.name), ({ scope }) => scope)
  for (const [scope, more] of Map.groupBy(windows, ({ scope }) => scope)) {
    const before = held.get(scope) ?? []
    const after = merged([...before, ...more])
    if (!isSame(before, after)) await replace(sql, { report: report.name, scope }, after)
  }
}

/** Returns the report's covered intervals by scope, earliest first. */
export async function coveredBy(sql: Sql, report: string): Promise<ScopedSpan[]> {
  const rows = await sql.rows<{ scope: string; since: Instant | null; until: Instant }>(
    `SELECT scope, epoch_us(since) AS since, epoch_us(until) AS until FROM tidemark.covered WHERE report = $1
     ORDER BY scope, since NULLS FIRST`,
    [report],
  )
  return rows.map(({ scope, since, until }) => ({ scope, since: since ?? undefined, until }))
}

const isSame = (a: readonly Span[], b: readonly Span[]): boolean =>
  a.length === b.length && a.every((span, n) => span.since === b[n]?.since && span.until === b[n]?.until)

async function replace(sql: Sql, place: { report: string; scope: string }, spans: readonly Span[]): Promise<void> {
  const [report, scope] = [text(place.report), text(place.scope)]
  await sql.run(`DELETE FROM tidemark.covered WHERE report = ${report} AND scope = ${scope}`)
  if (spans.length === 0) return
  const rows = spans.map(
    ({ since, until }) => `(${report}, ${scope}, ${since === undefined ? 'NULL' : time(since)}, ${time(until)})`,
  )
  await sql.run(`INSERT INTO tidemark.covered VALUES ${rows.join(', ')}`)
}

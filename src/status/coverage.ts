/** Reads the coverage of each report: what was read, the gaps, and what is read again. */
import { z } from 'zod'
import { isKnown, reportOf, type ReportName } from '../../schema/index.ts'
import type { Config } from '../config/config.ts'
import { formatInstant, type Instant } from '../instant.ts'
import { type ReadSettings, CHANGES, parseChanges, type Coverage, nextCoverage } from '../plan/coverage.ts'
import { gapsIn, type Span } from '../plan/spans.ts'
import type { Database } from '../warehouse/database/duckdb.ts'
import { readSettingsOf } from '../sync/privacy.ts'

export const time = z.iso.datetime({ precision: 6 }).describe('UTC, to the microsecond')
export const SpanText = z.object({ since: time.nullable().describe('Null: from the beginning'), until: time })

export const ScopeCoverage = z.object({
  scope: z.string().describe("A currency, or ''. For audit reports, the common start of the records' scopes"),
  asked: z.boolean().describe('False: its currency was removed from the configuration'),
  covered: z.array(SpanText),
  gaps: z.array(SpanText).describe('Empty for a scope that is no longer configured, since no run would close its gaps'),
  reading_again: SpanText.extend({
    because: z.array(z.enum(CHANGES)).readonly(),
    records: z.int().min(0).nullable().describe('Audit reports only: the number of records still to be read again'),
  })
    .nullable()
    .describe('What the present or next run reads again, because the configuration changed'),
})
export type ScopeCoverage = z.infer<typeof ScopeCoverage>

interface ScopeRow {
  readonly report: ReportName
  readonly scope: string
  readonly covered: readonly { readonly since: Instant | null; readonly until: Instant }[] | null
  readonly asked: string | null
  readonly refill_until: Instant | null
  readonly because: string | null
  /** The report's mark or, for an audit report, the time of the last audit request. */
  readonly read_until: Instant | null
  readonly records: number
}

/** Times are doubles, because DuckDB's client returns integers inside lists as bigints. */
const SCOPES = `
  WITH spans AS (
    SELECT report, scope, list({since: epoch_us(since)::DOUBLE, until: epoch_us(until)::DOUBLE} ORDER BY since NULLS FIRST) AS covered
    FROM tidemark.covered GROUP BY report, scope),
  states AS (
    SELECT c.report, c.scope, any_value(c.asked)::VARCHAR AS asked, epoch_us(any_value(c.refill_until)) AS refill_until,
      any_value(c.because) AS because, epoch_us(coalesce(max(f.asked_at), max(m.value))) AS read_until,
      count(f.scope) FILTER (c.refill_until IS NULL OR f.asked_at <= c.refill_until) AS records
    FROM tidemark.coverage c
    LEFT JOIN tidemark.followed f ON f.report = c.report AND f.asked_at IS NOT NULL AND starts_with(f.scope, c.scope)
    LEFT JOIN tidemark.marks m ON m.report = c.report AND m.scope = c.scope AND m.mark = 'modified_since'
    GROUP BY c.report, c.scope)
  FROM spans FULL JOIN states USING (report, scope) ORDER BY report, scope`

export type StatusConfig = Pick<Config, 'reports' | 'currencies' | 'hashKey' | 'requestsPerDay'>

/** Returns the coverage of each report. A report has one entry for each currency or entity. */
export async function coverageOf(database: Pick<Database, 'rows'>, config: StatusConfig) {
  const rows = await database.rows<ScopeRow>(SCOPES)
  const scopes = Map.groupBy(rows.filter(isKnown), ({ report }) => report)
  return new Map(Array.from(scopes, ([report, rows]) => [report, rows.map((row) => coverageOfScope(row, config))]))
}

function coverageOfScope(row: ScopeRow, config: StatusConfig): ScopeCoverage {
  const { report, scope } = row
  const asked = reportOf(report).currency === undefined || config.currencies.includes(scope)
  const covered = (row.covered ?? []).map(({ since, until }) => ({ since: since ?? undefined, until }))
  const gaps = covered.length === 0 || !asked ? [] : gapsIn(covered, config.reports[report].start)
  const again = asked ? readingAgain(row, config) : null
  return { scope, asked, covered: covered.map(spanText), gaps: gaps.map(spanText), reading_again: again }
}

function readingAgain(row: ScopeRow, config: StatusConfig): ScopeCoverage['reading_again'] {
  if (row.asked === null) return null
  const { start, enabled } = config.reports[row.report]
  const { perRecord, window } = reportOf(row.report)
  const stored: Coverage = {
    settings: JSON.parse(row.asked) as ReadSettings,
    refillUntil: row.refill_until ?? undefined,
    because: parseChanges(row.because),
  }
  const wanted = readSettingsOf(config, row.report)
  const { refillUntil, because } = enabled ? nextCoverage(stored, wanted, row.read_until ?? undefined) : stored
  if (refillUntil === undefined) return null
  const records = perRecord === undefined ? null : row.records
  return { ...spanText({ since: window.required ? start : undefined, until: refillUntil }), because, records }
}

const spanText = ({ since, until }: Span) => ({
  since: since === undefined ? null : formatInstant(since),
  until: formatInstant(until),
})

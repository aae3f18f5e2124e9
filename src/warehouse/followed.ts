/**
 * Which records an audit report has to ask about. A load of the followed report notes, in its own transaction, every
 * record that the service showed as modified; the audit run asks those that were not asked since. For rows with a
 * modification stamp the stamp counts, plus the settle time; for others the service's clock when they were seen.
 */
import type { Declaration } from '../../schema/report.ts'
import type { Sql } from './duckdb.ts'
import type { Instant } from '../instant.ts'
import { name, text, time } from './sqlText.ts'
import { type Staged, versionOf } from './stage.ts'

export interface Follower {
  /** The audit report. */
  readonly report: string
  /** What stands before the record's identifier in the mark's scope: `3:` for entity 3. */
  readonly scopePrefix: string
  readonly settleMs: number
}

export interface FollowedParts {
  readonly report: Declaration
  readonly staged: Staged
  readonly followers: readonly Follower[]
}

/** Notes the load's rows for each follower. */
export async function noteFollowed(sql: Sql, { report, staged, followers }: FollowedParts): Promise<void> {
  const columns = staged.columns.map((column) => column.name)
  const version = versionOf(report, columns, { alias: 's', observedAt: 's."~observed_at"' })
  for (const follower of followers) {
    const settle = report.newerBy.length === 0 ? '' : ` + INTERVAL ${follower.settleMs} MILLISECONDS`
    await sql.run(`
      CREATE OR REPLACE TEMP TABLE touched AS
      SELECT ${text(follower.scopePrefix)} || s.${name(report.key[0] ?? '')} AS scope, max(${version})${settle} AS ask_after
      FROM staged s GROUP BY ALL;
      CREATE OR REPLACE TEMP TABLE noted AS
      SELECT n.scope, greatest(n.ask_after, f.ask_after) AS ask_after, f.asked_at
      FROM touched n LEFT JOIN tidemark.followed f ON f.report = ${text(follower.report)} AND f.scope = n.scope;
      DELETE FROM tidemark.followed WHERE report = ${text(follower.report)} AND scope IN (SELECT scope FROM touched);
      INSERT INTO tidemark.followed SELECT ${text(follower.report)}, scope, ask_after, asked_at FROM noted`)
  }
}

export interface AskedRecord {
  readonly scope: string
  /** The service's clock when the record was asked about. */
  readonly at: Instant
}

/** Remembers, in the load's transaction, up to when records were asked about. */
export async function noteAsked(sql: Sql, report: string, asked: readonly AskedRecord[]): Promise<void> {
  if (asked.length === 0) return
  const values = asked.map(({ scope, at }) => `(${text(scope)}, ${time(at)})`).join(', ')
  await sql.run(`
    CREATE OR REPLACE TEMP TABLE asked AS
    SELECT a.scope, a.asked_at, coalesce(f.ask_after, a.asked_at) AS ask_after
    FROM (VALUES ${values}) a(scope, asked_at)
    LEFT JOIN tidemark.followed f ON f.report = ${text(report)} AND f.scope = a.scope;
    DELETE FROM tidemark.followed WHERE report = ${text(report)} AND scope IN (SELECT scope FROM asked);
    INSERT INTO tidemark.followed SELECT ${text(report)}, scope, ask_after, asked_at FROM asked`)
}

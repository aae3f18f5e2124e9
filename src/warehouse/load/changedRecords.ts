/**
 * Stores which rows a load has changed, because audit reports then read the audit trails of these rows. A trail contains
 * the change if the trail is read at the time `ask_after` or later.
 */
import type { Declaration } from '../../../schema/report.ts'
import { CLOCK_GRAIN_MS } from '../../plan/window.ts'
import { type Sql, name, text } from '../database/sql.ts'
import { versionOf } from './rowVersion.ts'
import type { StagedRows } from './stage.ts'

export interface Follower {
  readonly report: string
  /** The scopes of all records of an entity have this prefix. Example: `3:`, as in `3:7` (entity 3, record 7). */
  readonly scopePrefix: string
  readonly settleMs: number
}

export interface ChangedRecords {
  readonly report: Declaration
  readonly staged: StagedRows
  readonly followers: readonly Follower[]
  /** True if the load also requested unchanged rows. Then only written rows (table `win`) count as changed. */
  readonly rereads: boolean
}

export async function recordChangedRecords(
  sql: Sql,
  { report, staged, followers, rereads }: ChangedRecords,
): Promise<void> {
  const columns = staged.columns.map((column) => column.name)
  const version = versionOf(report, columns, { alias: 's', observedAt: 's."~observed_at"' })
  const won = 's.rowid IN (SELECT sid FROM win)'
  // `seen_at` is only seconds ago. If a trail was read later than `seen_at`, the service's clock was set back.
  const isDueAgain = `n.changed OR f.asked_at > n.seen_at + INTERVAL ${CLOCK_GRAIN_MS} MILLISECONDS`
  for (const follower of followers) {
    const settle = report.newerBy.length === 0 ? '' : ` + INTERVAL ${follower.settleMs} MILLISECONDS`
    await sql.run(`
      CREATE OR REPLACE TEMP TABLE touched AS
      SELECT ${text(follower.scopePrefix)} || s.${name(report.key[0] ?? '')} AS scope, max(${version})${settle} AS ask_after,
        max(s."~observed_at") AS seen_at, bool_or(s.rowid IN (SELECT sid FROM win WHERE is_changed)) AS changed
      FROM staged s ${rereads ? `WHERE ${won}` : ''} GROUP BY ALL;
      CREATE OR REPLACE TEMP TABLE noted AS
      SELECT n.scope, f.asked_at, greatest(n.ask_after, f.ask_after,
        CASE WHEN ${isDueAgain} THEN f.asked_at + INTERVAL 1 MICROSECOND END) AS ask_after
      FROM touched n LEFT JOIN tidemark.followed f ON f.report = ${text(follower.report)} AND f.scope = n.scope;
      DELETE FROM tidemark.followed WHERE report = ${text(follower.report)} AND scope IN (SELECT scope FROM touched);
      INSERT INTO tidemark.followed SELECT ${text(follower.report)}, scope, ask_after, asked_at FROM noted`)
  }
}

/** Records which audit trails later runs must read, because a load has changed their records. */
import { CLOCK_GRAIN_MS } from '../../plan/window.ts'
import { type Sql, name, text } from '../database/sql.ts'
import type { RowMerge } from './loadSteps.ts'
import { versionOf } from './rowVersion.ts'

export async function recordChangedRecords(sql: Sql, { input, report, staged }: RowMerge): Promise<void> {
  const columns = staged.columns.map((column) => column.name)
  const version = versionOf(report, columns, { alias: 's', observedAt: 's."~observed_at"' })
  // In `changes` and `retry` loads, all rows count as changed.
  const requestsChanged = input.kind === 'changes' || input.kind === 'retry'
  const isRead = requestsChanged ? 'true' : 's.rowid IN (SELECT sid FROM written_rows)'
  // A trail that was read later than its row was observed shows that the service's clock was set back: it is due again.
  const isDueAgain = `n.changed OR f.asked_at > n.seen_at + INTERVAL ${CLOCK_GRAIN_MS} MILLISECONDS`
  for (const follower of input.followers ?? []) {
    const settle = report.newerBy.length === 0 ? '' : ` + INTERVAL ${follower.settleMs} MILLISECONDS`
    await sql.run(`
      MERGE INTO tidemark.followed f USING (
        SELECT ${text(follower.scopePrefix)} || s.${name(report.key[0] ?? '')} AS scope, max(${version})${settle} AS ask_after,
          max(s."~observed_at") AS seen_at, bool_or(s.rowid IN (SELECT sid FROM written_rows WHERE is_changed)) AS changed
        FROM staged s WHERE ${isRead} GROUP BY ALL) n ON f.report = ${text(follower.report)} AND f.scope = n.scope
      WHEN MATCHED THEN UPDATE SET ask_after = greatest(n.ask_after, f.ask_after,
        CASE WHEN ${isDueAgain} THEN f.asked_at + INTERVAL 1 MICROSECOND END)
      WHEN NOT MATCHED THEN INSERT VALUES (${text(follower.report)}, n.scope, n.ask_after, NULL)`)
  }
}

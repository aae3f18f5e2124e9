/**
 * Stores which rows a load has changed, because audit reports then read the audit trails of these rows. A trail contains
 * the change if the trail is read at the time `ask_after` or later.
 */
import { CLOCK_GRAIN_MS } from '../../plan/window.ts'
import { recordAudited } from '../books/auditRecords.ts'
import { type Sql, name, text } from '../database/sql.ts'
import type { Writing } from './loading.ts'
import { versionOf } from './rowVersion.ts'

/** A load of an audit report stores which trails were read. Any other load stores which rows have changed. */
export async function recordChangedRecords(sql: Sql, { input, report, staged }: Writing): Promise<void> {
  if (input.kind === 'audit') return recordAudited(sql, report.name, input.audited)
  if (staged === undefined) return
  const columns = staged.columns.map((column) => column.name)
  const version = versionOf(report, columns, { alias: 's', observedAt: 's."~observed_at"' })
  // Most kinds of loads also request unchanged rows. Only rows that these loads have written (table `win`) are changed.
  const requestsChanged = input.kind === 'changes' || input.kind === 'retry'
  const isRead = requestsChanged ? 'true' : 's.rowid IN (SELECT sid FROM win)'
  // `seen_at` is only seconds ago. If a trail was read later than `seen_at`, the service's clock was set back.
  const isDueAgain = `n.changed OR f.asked_at > n.seen_at + INTERVAL ${CLOCK_GRAIN_MS} MILLISECONDS`
  for (const follower of input.followers ?? []) {
    const settle = report.newerBy.length === 0 ? '' : ` + INTERVAL ${follower.settleMs} MILLISECONDS`
    await sql.run(`
      MERGE INTO tidemark.followed f USING (
        SELECT ${text(follower.scopePrefix)} || s.${name(report.key[0] ?? '')} AS scope, max(${version})${settle} AS ask_after,
          max(s."~observed_at") AS seen_at, bool_or(s.rowid IN (SELECT sid FROM win WHERE is_changed)) AS changed
        FROM staged s WHERE ${isRead} GROUP BY ALL) n ON f.report = ${text(follower.report)} AND f.scope = n.scope
      WHEN MATCHED THEN UPDATE SET ask_after = greatest(n.ask_after, f.ask_after,
        CASE WHEN ${isDueAgain} THEN f.asked_at + INTERVAL 1 MICROSECOND END)
      WHEN NOT MATCHED THEN INSERT VALUES (${text(follower.report)}, n.scope, n.ask_after, NULL)`)
  }
}

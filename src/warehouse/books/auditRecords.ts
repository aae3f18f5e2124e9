/** Stores when each audit trail was read, and which trails could not be read. */
import { type Sql, type WithNulls, withoutNulls, name, text, time } from '../database/sql.ts'
import type { Instant } from '../../instant.ts'

export interface AuditedRecord {
  readonly scope: string
  readonly at: Instant
}

/** Stores when trails were read. Call this in the transaction that loads their entries, or entries can be lost. */
export async function recordAudited(sql: Sql, report: string, asked: readonly AuditedRecord[]): Promise<void> {
  if (asked.length === 0) return
  const values = asked.map(({ scope, at }) => `(${text(scope)}, ${time(at)})`).join(', ')
  const scopes = asked.map(({ scope }) => text(scope)).join(', ')
  await sql.run(`
    MERGE INTO tidemark.followed f USING (VALUES ${values}) a(scope, asked_at) ON f.report = ${text(report)} AND f.scope = a.scope
    WHEN MATCHED THEN UPDATE SET asked_at = a.asked_at
    WHEN NOT MATCHED THEN INSERT VALUES (${text(report)}, a.scope, a.asked_at, a.asked_at);
    DELETE FROM tidemark.skipped_records WHERE report = ${text(report)} AND scope IN (${scopes})`)
}

export interface SkippedRecord {
  readonly scope: string
  readonly code: string
  readonly reason: string
}

const FIRST_RETRY_AFTER = 'INTERVAL 5 MINUTES'
const DOUBLINGS_MAX = 9

export async function recordSkipped(
  sql: Sql,
  { report, now }: { readonly report: string; readonly now: Instant },
  skipped: readonly SkippedRecord[],
): Promise<void> {
  const values = skipped.map(({ scope, code, reason }) => `(${text(scope)}, ${text(code)}, ${text(reason)})`).join(', ')
  const later = `least(${FIRST_RETRY_AFTER} * (1 << least(s.attempts, ${DOUBLINGS_MAX})::INTEGER), INTERVAL 1 DAY)`
  await sql.run(`
    MERGE INTO tidemark.skipped_records s USING (VALUES ${values}) n(scope, code, reason) ON s.report = ${text(report)} AND s.scope = n.scope
    WHEN MATCHED THEN UPDATE SET code = n.code, reason = n.reason, attempts = s.attempts + 1, ask_again_at = ${time(now)} + ${later}
    WHEN NOT MATCHED THEN INSERT VALUES (${text(report)}, n.scope, n.code, n.reason, 1, ${time(now)} + ${FIRST_RETRY_AFTER})`)
}

export interface DueRecord {
  readonly scope: string
  /** Text, because an identifier can exceed 2^53. */
  readonly recordId: string
  readonly mark: Instant | undefined
  /** When the trail was last read, by the service's clock. */
  readonly askedAt: Instant | undefined
  /** Start of the run that last read the trail, by this machine's clock. */
  readonly begunAt: Instant | undefined
  /** True if the whole trail must be read again, because the configuration changed. */
  readonly fromStart: boolean
  readonly waitsForRetry: boolean
}

export interface RecordsRequest {
  readonly now: Instant
  readonly report: string
  /** The report whose rows have audit trails. Example: `enquiries`. */
  readonly follows: string
  readonly keyColumn: string
  readonly scopePrefix: string
  /** Trails that were last read at or before this time are read again. */
  readonly again?: Instant | undefined
}

export function dueRecords(sql: Sql, ask: RecordsRequest): Promise<DueRecord[]> {
  const due = 'm.value IS NULL OR f.ask_after > f.asked_at OR (f.ask_after IS NOT NULL AND f.asked_at IS NULL)'
  return recordsWhere(sql, ask, `WHERE ${due} ORDER BY k.id`)
}

export function recordsToReadAgain(sql: Sql, ask: RecordsRequest & { again: Instant; limit: number }) {
  const again = `m.value IS NOT NULL AND coalesce(f.asked_at <= ${time(ask.again)}, true)`
  // Skipped trails come last. Otherwise they could fill the limit of each run.
  const order = `x.scope IS NOT NULL, f.ask_after DESC NULLS LAST, k.id DESC`
  return recordsWhere(sql, ask, `WHERE ${again} ORDER BY ${order} LIMIT ${ask.limit}`)
}

export async function lastReadRecord(sql: Sql, ask: RecordsRequest): Promise<DueRecord | undefined> {
  const which = 'WHERE m.value IS NOT NULL AND x.scope IS NULL ORDER BY f.asked_at DESC NULLS LAST LIMIT 1'
  return (await recordsWhere(sql, ask, which))[0]
}

async function recordsWhere(sql: Sql, ask: RecordsRequest, which: string): Promise<DueRecord[]> {
  const { report, follows, keyColumn, scopePrefix, again, now } = ask
  const fromStart =
    again === undefined ? 'false' : `m.value IS NOT NULL AND coalesce(f.asked_at <= ${time(again)}, true)`
  // The SQL does not contain the current time, because results are cached by its text.
  const rows = await sql.cachedRows<WithNulls<Omit<DueRecord, 'waitsForRetry'>> & { waitsUntil: number | null }>(`
    SELECT k.scope, k.id::VARCHAR AS "recordId", ${fromStart} AS "fromStart", epoch_us(m.value) AS mark,
      epoch_us(x.ask_again_at) AS "waitsUntil", epoch_us(f.asked_at) AS "askedAt", epoch_us(coalesce(r.started_at, m.updated_at)) AS "begunAt"
    FROM (SELECT DISTINCT ${text(scopePrefix)} || ${name(keyColumn)} AS scope, ${name(keyColumn)} AS id FROM main.${name(follows)}) k
    LEFT JOIN tidemark.followed f ON f.report = ${text(report)} AND f.scope = k.scope
    LEFT JOIN tidemark.marks m ON m.report = ${text(report)} AND m.scope = k.scope AND m.mark = 'since'
    LEFT JOIN tidemark.skipped_records x ON x.report = ${text(report)} AND x.scope = k.scope
    LEFT JOIN tidemark.loads l ON l.load_id = m.load_id
    LEFT JOIN tidemark.runs r ON r.run_id = l.run_id
    ${which}`)
  return rows.map(({ waitsUntil, ...row }) => ({
    ...withoutNulls<Omit<DueRecord, 'waitsForRetry'>>(row),
    waitsForRetry: (waitsUntil ?? 0) > now,
  }))
}

export async function lastTrailRead(sql: Sql, report: string, scopePrefix: string): Promise<Instant | undefined> {
  const [row] = await sql.cachedRows<{ at: Instant | null }>(`
    SELECT epoch_us(max(asked_at)) AS at FROM tidemark.followed
    WHERE report = ${text(report)} AND starts_with(scope, ${text(scopePrefix)})`)
  return row?.at ?? undefined
}

/** Stores backfills and their windows, so that a restart skips finished windows. */
import type { ReportName } from '../../../schema/index.ts'
import { SyncError } from '../../errors.ts'
import type { Instant } from '../../instant.ts'
import type { Span } from '../../plan/spans.ts'
import type { RunCounts } from '../../plan/runCounts.ts'
import { recordRun, type RunRecord } from './runs.ts'
import type { Database } from '../database/duckdb.ts'
import { onlyRow, type Sql, type WithNulls, withoutNulls, text, time } from '../database/sql.ts'
import type { Fence, Fences } from './fences.ts'

/**
 * `pending`: not begun, or stopped. `failed`: some windows failed. A new request for the range reads failed windows
 * again.
 */
export type BackfillState = 'pending' | 'running' | 'done' | 'failed' | 'cancelled'

/** A range of modification times. */
export interface BackfillRange extends Span {
  readonly since: Instant
}

/** A part of a backfill that is read and proven complete on its own. `scope` is the currency, or empty. */
export interface PlannedWindow extends BackfillRange {
  /** The newest window of a backfill is number 1. */
  readonly number: number
  readonly scope: string
  readonly plannedRows: number | undefined
  readonly plannedRequests: number
}

export interface BackfillBook extends BackfillRange {
  readonly backfillId: string
  readonly report: ReportName
  readonly state: BackfillState
  readonly windows: number
}

/** A window of a backfill, with the result of the last attempt to read it. */
export interface BookedWindow extends PlannedWindow {
  readonly state: 'pending' | 'done' | 'failed' | 'cancelled'
  readonly rows: number
  readonly pages: number
  readonly attempts: number
  readonly errorCode: string | undefined
  readonly error: string | undefined
}

export interface CompletedWindow {
  readonly backfillId: string
  readonly number: number
  readonly rows: number
  readonly pages: number
}

interface FailedWindow extends Pick<CompletedWindow, 'backfillId' | 'number'> {
  readonly error: { readonly code: string; readonly message: string }
  readonly fence: Fence | undefined
}

/** Totals over all windows of a backfill. */
export interface BackfillFigures extends RunCounts {
  readonly windows: number
  readonly done: number
  readonly failed: number
}

type EndedRun = RunRecord & { readonly state: 'done' | 'failed'; readonly endedAt: Instant }

const BOOK = `
  SELECT backfill_id AS "backfillId", report, state, windows, epoch_us(since) AS since, epoch_us(until) AS until
  FROM tidemark.backfills`

type CancellableBook = Pick<BackfillBook, 'report' | 'state'> & { startedAt: Instant | null; holder: string | null }

const cancellableSql = (id: string): string => `
  SELECT report, state, epoch_us(started_at) AS "startedAt", holder
  FROM tidemark.backfills LEFT JOIN (FROM tidemark.fences WHERE kind = 'backfill') USING (report)
  WHERE backfill_id = ${text(id)} AND state IN ('pending', 'running', 'failed')`

/** Marks a window as done, in the transaction of its last load. Throws FENCED if the backfill was cancelled. */
export async function completeWindow(sql: Sql, window: CompletedWindow, loadId: number): Promise<void> {
  const { backfillId, number, rows, pages } = window
  const id = text(backfillId)
  const [cancelled] = await sql.rows<{ report: ReportName }>(`
    SELECT report FROM tidemark.backfills WHERE backfill_id = ${id} AND state = 'cancelled'`)
  if (cancelled !== undefined)
    throw new SyncError('FENCED', `${cancelled.report}: the backfill ${backfillId} was cancelled`, {
      report: cancelled.report,
      cure: 'Nothing needs to be done: earlier commits of the backfill stay, and its other windows are not read.',
    })
  await sql.run(`
    UPDATE tidemark.backfill_windows SET state = 'done', rows = ${rows}, pages = ${pages}, attempts = attempts + 1,
      error_code = NULL, error = NULL, load_id = ${loadId}
    WHERE backfill_id = ${id} AND number = ${number}`)
}

export class BackfillBooks {
  readonly #database: Database
  readonly #fences: Fences

  constructor(database: Database, fences: Fences) {
    this.#fences = fences
    this.#database = database
  }

  async book(backfillId: string): Promise<BackfillBook | undefined> {
    return (await this.#database.rows<BackfillBook>(`${BOOK} WHERE backfill_id = ${text(backfillId)}`))[0]
  }

  open(report?: ReportName): Promise<BackfillBook[]> {
    const ofReport = report === undefined ? '' : ` AND report = ${text(report)}`
    return this.#database.rows<BackfillBook>(
      `${BOOK} WHERE state IN ('pending', 'running', 'failed')${ofReport} ORDER BY requested_at DESC, backfill_id`,
    )
  }

  begin(book: Omit<BackfillBook, 'state' | 'windows'>, plan: readonly PlannedWindow[], now: Instant): Promise<void> {
    const { backfillId, report, since, until } = book
    const id = text(backfillId)
    const values = plan.map(
      (window) =>
        `(${id}, ${window.number}, ${text(window.scope)}, ${time(window.since)}, ${time(window.until)}, 'pending', ${window.plannedRows ?? 'NULL'}, ${window.plannedRequests}, 0)`,
    )
    return this.#database.transaction(async (sql) => {
      await sql.run(`
        INSERT INTO tidemark.backfills
        VALUES (${id}, ${text(report)}, ${time(since)}, ${time(until)}, 'pending', ${plan.length}, ${time(now)}, NULL, NULL);
        INSERT INTO tidemark.backfill_windows
          (backfill_id, number, scope, since, until, state, planned_rows, planned_requests, attempts)
        VALUES ${values.join(', ')}`)
    })
  }

  async windows(backfillId: string): Promise<BookedWindow[]> {
    const rows = await this.#database.rows<WithNulls<BookedWindow>>(`
      SELECT number, scope, epoch_us(since) AS since, epoch_us(until) AS until, state, attempts,
        planned_rows AS "plannedRows", planned_requests AS "plannedRequests", coalesce(rows, 0) AS rows,
        coalesce(pages, 0) AS pages, error_code AS "errorCode", error
      FROM tidemark.backfill_windows WHERE backfill_id = ${text(backfillId)} ORDER BY number`)
    return rows.map(withoutNulls)
  }

  /** Sets the backfill to `running`, and others that dead processes left running to `pending`. */
  start(backfillId: string, fence: Fence | undefined, now: Instant): Promise<void> {
    return this.#fences.transact(this.#database, fence, async (sql) => {
      const id = text(backfillId)
      await sql.run(`
        UPDATE tidemark.backfills SET state = 'pending'
        WHERE state = 'running' AND report = (SELECT report FROM tidemark.backfills WHERE backfill_id = ${id});
        UPDATE tidemark.backfills SET state = 'running', started_at = coalesce(started_at, ${time(now)}), ended_at = NULL
        WHERE backfill_id = ${id};
        UPDATE tidemark.backfill_windows SET state = 'pending' WHERE backfill_id = ${id} AND state = 'failed'`)
    })
  }

  windowFailed({ backfillId, number, error, fence }: FailedWindow): Promise<void> {
    return this.#fences.transact(this.#database, fence, (sql) =>
      sql.run(`
        UPDATE tidemark.backfill_windows
        SET state = 'failed', attempts = attempts + 1, error_code = ${text(error.code)}, error = ${text(error.message)}
        WHERE backfill_id = ${text(backfillId)} AND number = ${number} AND state = 'pending'`),
    )
  }

  suspend(run: RunRecord, fence: Fence | undefined): Promise<void> {
    return this.#fences.transact(this.#database, fence, async (sql) => {
      const running = `backfill_id = ${text(run.runId)} AND state = 'running'`
      await sql.run(`UPDATE tidemark.backfills SET state = 'pending' WHERE ${running}`)
      await recordRun(sql, { ...run, ...(await figuresOf(sql, run.runId)) })
    })
  }

  end(run: EndedRun, fence: Fence | undefined): Promise<void> {
    return this.#fences.transact(this.#database, fence, async (sql) => {
      await sql.run(`
        UPDATE tidemark.backfills SET state = ${text(run.state)}, ended_at = ${time(run.endedAt)}
        WHERE backfill_id = ${text(run.runId)}`)
      await recordRun(sql, run)
    })
  }

  /** Cancels the backfill: later commits throw FENCED. Returns undefined if the backfill has already ended. */
  cancel(backfillId: string, now: Instant, why: NonNullable<RunRecord['error']>): Promise<ReportName | undefined> {
    return this.#database.transaction(async (sql) => {
      const [book] = await sql.rows<CancellableBook>(cancellableSql(backfillId))
      if (book === undefined) return undefined
      const { report, state, startedAt, holder } = book
      if (state === 'running' && startedAt !== null) {
        const run = { runId: backfillId, report, kind: 'backfill', state: 'stopped', startedAt, endedAt: now } as const
        await recordRun(sql, { ...run, ...(await figuresOf(sql, backfillId)), error: why })
      }
      const id = text(backfillId)
      await sql.run(`
        UPDATE tidemark.backfills SET state = 'cancelled', ended_at = ${time(now)} WHERE backfill_id = ${id};
        UPDATE tidemark.backfill_windows SET state = 'cancelled'
        WHERE backfill_id = ${id} AND state IN ('pending', 'failed')`)
      if (state === 'running' || holder === backfillId)
        await this.#fences.take(sql, { report, kind: 'backfill', holder: `no one: ${backfillId} was cancelled` })
      return report
    })
  }

  figures(backfillId: string): Promise<BackfillFigures> {
    return figuresOf(this.#database, backfillId)
  }
}

const figuresOf = (sql: Pick<Sql, 'rows'>, backfillId: string): Promise<BackfillFigures> =>
  onlyRow<BackfillFigures>(
    sql,
    `SELECT w.*, l.* FROM (
       SELECT count(*) AS windows, count(*) FILTER (state = 'done') AS done, count(*) FILTER (state = 'failed') AS failed,
         coalesce(sum(pages), 0)::BIGINT AS pages, coalesce(sum(rows), 0)::BIGINT AS rows
       FROM tidemark.backfill_windows WHERE backfill_id = ${text(backfillId)}) w,
     (SELECT coalesce(sum(inserted), 0)::BIGINT AS inserted, coalesce(sum(updated), 0)::BIGINT AS updated,
         coalesce(sum(deleted), 0)::BIGINT AS deleted, coalesce(sum(rejected), 0)::BIGINT AS rejected, coalesce(sum(misfits), 0)::BIGINT AS misfits
       FROM tidemark.loads WHERE run_id = ${text(backfillId)}) l`,
  )

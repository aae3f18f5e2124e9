/** The state of each report, read from the books: its mark, its last run, and what prevents it from running. */
import { reportNames, type ReportName } from '../../schema/index.ts'
import type { Config } from '../config/config.ts'
import { formatInstant, type Instant } from '../instant.ts'
import type { Database } from '../warehouse/database/duckdb.ts'
import { type AskingConfig, coverageDocument, coverageOf, type ScopeCoverage } from './coverage.ts'
import { advisedOverlap, type Lateness } from './lateness.ts'

export interface Standing extends Lateness {
  readonly report: ReportName
  readonly state: 'done' | 'failed' | 'stopped' | 'paused' | 'off' | 'never run'
  readonly mark: Instant | undefined
  readonly lagMs: number | undefined
  readonly lastRun: Instant | undefined
  readonly rows: number
  readonly deleted: number
  readonly rejected: number
  readonly misfits: number
  readonly deletesVisible: string | undefined
  /** Why the report is disabled or paused. */
  readonly because: string | undefined
  /** The error of the last run, if it failed. */
  readonly error: { readonly code: string; readonly message: string; readonly cure: string } | undefined
  readonly overlapMs: number
  /** Number of rows with a future modification time; next: without one. Undefined if the report has no such times. */
  readonly futureRows: number | undefined
  readonly unstampedRows: number | undefined
  /** Audit records that can't be read, each with the code of the error. Example: `17 (REPORT_FORBIDDEN)`. */
  readonly skippedRecords: string | undefined
  readonly coverage: readonly ScopeCoverage[]
  /** The state in words. For a report without rows, it includes the reason. */
  readonly explained: string | undefined
}

interface Row {
  readonly report: ReportName
  readonly mark: Instant | null
  readonly lag_us: number | null
  readonly last_run: Instant | null
  readonly last_state: Standing['state'] | null
  readonly rows: number
  readonly deleted: number
  readonly rejected: number
  readonly misfits: number
  readonly deletes_visible: string
  readonly enabled: boolean
  readonly because: string | null
  readonly code: string | null
  readonly message: string | null
  readonly cure: string | null
  readonly late_rows: number | null
  readonly lateness_us: number | null
  readonly future_rows: number | null
  readonly unstamped_rows: number | null
  readonly skipped_records: string | null
  readonly explained: string | null
}

const STANDINGS = `
  SELECT f.report, epoch_us(f.mark) AS mark, epoch_us(now()) - epoch_us(f.mark) AS lag_us, epoch_us(f.last_run) AS last_run,
    f.last_state, f.rows, f.deleted, f.rejected, f.misfits, f.deletes_visible, f.enabled, f.not_running_because AS because,
    r.code, r.message, r.cure, f.late_rows, epoch_us(f.largest_lateness) AS lateness_us, f.future_rows, f.unstamped_rows, f.skipped_records, f.explained
  FROM tidemark.freshness f
  LEFT JOIN (
    SELECT report, arg_max(error_code, ended_at) AS code, arg_max(error, ended_at) AS message, arg_max(cure, ended_at) AS cure
    FROM tidemark.runs WHERE state = 'failed' GROUP BY report
  ) r ON r.report = f.report AND f.last_state = 'failed'`

/** Returns the state of all reports in the order of the registry. A report that is not in the books has never run. */
export async function standingsOf(database: Pick<Database, 'rows'>, config: AskingConfig): Promise<Standing[]> {
  const rows = new Map((await database.rows<Row>(STANDINGS)).map((row) => [row.report, row]))
  const coverage = await coverageOf(database, config)
  return reportNames.map((report) => ({
    ...standingOf(report, rows.get(report), config.reports[report]),
    ...stampsOf(rows.get(report)),
    overlapMs: config.reports[report].overlapMs,
    skippedRecords: rows.get(report)?.skipped_records ?? undefined,
    coverage: coverage.get(report) ?? [],
    explained: rows.get(report)?.explained ?? undefined,
  }))
}

type Stamps = Lateness & Pick<Standing, 'futureRows' | 'unstampedRows'>

const stampsOf = (row: Row | undefined): Stamps => ({
  lateRows: row?.late_rows ?? undefined,
  largestLatenessMs: row?.lateness_us == null ? undefined : row.lateness_us / 1_000,
  futureRows: row?.future_rows ?? undefined,
  unstampedRows: row?.unstamped_rows ?? undefined,
})

type RunStanding = Omit<Standing, keyof Stamps | 'overlapMs' | 'skippedRecords' | 'coverage' | 'explained'>

function standingOf(report: ReportName, row: Row | undefined, config: Config['reports'][ReportName]): RunStanding {
  const { enabled, offReason } = config
  const because = enabled ? (row?.enabled === true ? (row.because ?? undefined) : undefined) : offReason
  const paused = enabled && because !== undefined
  const running = row?.last_state ?? 'never run'
  return {
    report,
    state: enabled ? (paused ? 'paused' : running) : 'off',
    mark: row?.mark ?? undefined,
    lagMs: row?.lag_us == null ? undefined : row.lag_us / 1_000,
    lastRun: row?.last_run ?? undefined,
    rows: row?.rows ?? 0,
    deleted: row?.deleted ?? 0,
    rejected: row?.rejected ?? 0,
    misfits: row?.misfits ?? 0,
    deletesVisible: row?.deletes_visible,
    because,
    error: errorOf(row),
  }
}

const errorOf = (row: Row | undefined): Standing['error'] =>
  row === undefined || row.code === null
    ? undefined
    : { code: row.code, message: row.message ?? '', cure: row.cure ?? '' }

export const standingDocument = (standing: Standing) => ({
  report: standing.report,
  state: standing.state,
  mark: isoOf(standing.mark),
  lag_seconds: standing.lagMs === undefined ? null : Math.round(standing.lagMs / 1_000),
  last_run: isoOf(standing.lastRun),
  rows: standing.rows,
  deleted: standing.deleted,
  rejected: standing.rejected,
  misfits: standing.misfits,
  deletes_visible: standing.deletesVisible ?? null,
  not_running_because: standing.because ?? null,
  error: standing.error ?? null,
  late_rows: standing.lateRows ?? null,
  largest_lateness_seconds: standing.largestLatenessMs === undefined ? null : standing.largestLatenessMs / 1_000,
  advised_overlap: advisedOverlap(standing, standing.overlapMs) ?? null,
  future_rows: standing.futureRows ?? null,
  unstamped_rows: standing.unstampedRows ?? null,
  skipped_records: standing.skippedRecords ?? null,
  coverage: standing.coverage.map(coverageDocument),
  explained: standing.explained ?? null,
})

const isoOf = (instant: Instant | undefined): string | null => (instant === undefined ? null : formatInstant(instant))

export type Marks = ReadonlyMap<ReportName, Instant>

/** Returns the high-water mark of each report that has one. */
export async function marksOf(database: Pick<Database, 'rows'>): Promise<Marks> {
  const rows = await database.rows<{ report: ReportName; mark: Instant }>(
    'SELECT report, epoch_us(mark) AS mark FROM tidemark.freshness WHERE mark IS NOT NULL',
  )
  return new Map(rows.map(({ report, mark }) => [report, mark]))
}

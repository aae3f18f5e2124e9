/** All operations, such as sync and query, for programs and the command line. DuckDB and BullMQ load on first use. */
import { systemClock } from '../clock.ts'
import { type Config, loadConfig } from '../config/config.ts'
import { asSyncError, cancelled, SyncError, usageError } from '../errors.ts'
import { createLog } from '../log.ts'
import { fromMillis, type Instant, parseInstant } from '../instant.ts'
import type { ActingRequest, AnswerOf, Progress } from '../operations/contract.ts'
import { perform, type PerformEvent } from '../operations/perform.ts'
import type { PlanOptions } from '../operations/planBackfills.ts'
import type { Changes } from '../operations/readChanges.ts'
import type { Status } from '../operations/readStatus.ts'
import { isComparable, namedReports, selectReports } from '../operations/reportSelection.ts'
import type { Host } from '../operations/surroundings.ts'
import type { VerifiedReport } from '../operations/verifyReports.ts'
import type { QueryEnd } from '../reader/messages.ts'
import { openReader, type Reader } from '../reader/reader.ts'
import type { BackfillPreview } from '../sync/backfill/backfillPlan.ts'
import { type BackfillRequest, checkRange } from '../sync/backfill/backfillRequest.ts'
import { jsonOf, objectOf } from '../warehouse/database/cells.ts'
import type { TakeRows } from '../warehouse/database/duckdb.ts'
import { logLevelOf } from '../wiring/workLog.ts'
import type { Role } from '../worker/roles.ts'
import { type Run, startRun, type Tell } from './run.ts'

export type { Run } from './run.ts'

/** The sources of the configuration. */
export interface TidemarkOptions {
  /** The configuration file. By default, the one in TIDEMARK_CONFIG or `tidemark.yaml` in `cwd`. */
  readonly config?: string | undefined
  /** If undefined, the working directory of the process. */
  readonly cwd?: string | undefined
  /** Environment variables. They override the configuration file. */
  readonly env?: NodeJS.ProcessEnv | undefined
}

/** A point in time. Example: `'2026-01-31T06:00:00Z'`. Text without a zone is in UTC. */
export type Time = string | Date | Instant

/** The options that every call accepts. */
export interface CallOptions {
  /** Stops the call, which then throws CANCELLED. Changes that are already committed are kept. */
  readonly signal?: AbortSignal | undefined
}

/** A range of modification times. Both ends are inclusive. */
export interface RangeOptions extends CallOptions {
  /** The start of the range. Default: the configured start of the report. */
  readonly from?: Time | undefined
  /** The end of the range. Default: the current time or, for `verify`, the report's mark. */
  readonly to?: Time | undefined
}

/** The options of `reconcile`. */
export interface ReconcileOptions extends CallOptions {
  /** Allows a run to mark more than a tenth of a table as deleted. Default: false, which throws MASS_DELETE_STOPPED. */
  readonly allowMassDelete?: boolean | undefined
}

/** The options of `changes`. */
export interface ChangesOptions extends CallOptions {
  /** The `cursor` of the last result, `now`, or `start` for all rows. Default: `start`. */
  readonly since?: string
  /** Includes changes to child tables. Default: false. */
  readonly children?: boolean
}

/** A row that changed, with its current values. A row that was removed by `reset` has only its key. */
export interface Change {
  /** A report such as `events`, or a child table such as `events__meeting_rooms`. */
  readonly table: string
  /** `insert`, `update`, `delete` or `undelete`. */
  readonly change: string
  readonly row: Readonly<Record<string, unknown>>
}

/** The result of `query`. `warrants` describes the completeness of each report that the statement reads. */
export interface QueryResult<Row> extends Omit<QueryEnd, 'isCut'> {
  readonly rows: readonly Row[]
}

/** The options of `startWorker`. */
export interface WorkerOptions extends CallOptions {
  /** What the worker does. If undefined, everything. */
  readonly roles?: readonly Role[] | undefined
  /** @internal */
  readonly lock?: number | undefined
}

/** A message for the operator. If `hasToken` is true, the text contains a new token and must not be logged. */
export type WorkerEvent = { readonly text: string; readonly hasToken: boolean }

/** The result of `sync`: an outcome for each report. If the report failed, its outcome contains the error. */
export interface SyncAnswer extends AnswerOf<'sync'> {}
/** The result of `backfill`: an outcome for each report, in `ends`. */
export interface BackfillAnswer extends AnswerOf<'backfill'> {}
/** The result of `reconcile`. `compared` contains the differences that were found in each report. */
export interface ReconcileAnswer extends AnswerOf<'reconcile'> {}

/** All operations, such as `sync` and `query`, for one configuration. A call throws only a SyncError. */
export class Tidemark implements AsyncDisposable {
  /** The configuration, validated and frozen. */
  readonly config: Config
  readonly #host: Host
  readonly #closing = new AbortController()
  readonly #calls = new Set<Promise<unknown>>()
  readonly #reader: Reader

  /** @internal */
  constructor(host: Host) {
    this.#host = host
    this.config = host.config
    this.#reader = openReader(host.config)
  }

  /** Pulls the changes of these reports, or of all reports, and publishes a copy. */
  sync(reports: readonly string[] = [], options: CallOptions = {}): Run<SyncAnswer, PerformEvent> {
    return this.#perform(options, () => ({ do: 'sync', reports: selectReports(reports, this.config) }))
  }

  /** Reads again all rows that were modified within a range. Continues a stopped backfill of the range. */
  backfill(reports: readonly string[], options: RangeOptions = {}): Run<BackfillAnswer, PerformEvent> {
    return this.#perform(options, () => ({ do: 'backfill', backfills: this.#ranges(reports, options) }))
  }

  /** Returns the windows that a backfill would read and the number of its requests. Writes nothing. */
  planBackfill(reports: readonly string[], options: RangeOptions = {}): Promise<BackfillPreview[]> {
    return this.#call(options, async (signal) => {
      const { planBackfills } = await import('../operations/planBackfills.ts')
      return planBackfills(this.#ranges(reports, options), this.#planOptions(signal))
    })
  }

  /** Compares whole reports with the service, repairs differences, and infers deletions. */
  reconcile(reports: readonly string[] = [], options: ReconcileOptions = {}): Run<ReconcileAnswer, PerformEvent> {
    const { allowMassDelete = false } = options
    return this.#perform(options, () => {
      return { do: 'reconcile', reports: selectReports(reports, this.config, isComparable), allowMassDelete }
    })
  }

  /** Performs any operation that writes. Example: `{ do: 'pause', reports: ['events'] }`. */
  perform<R extends ActingRequest>(request: R, options: CallOptions = {}): Run<AnswerOf<R['do']>, PerformEvent> {
    return this.#perform(options, () => request)
  }

  /** Reads a past window again and compares it with the published copy. Changes nothing. */
  verify(reports: readonly string[] = [], options: RangeOptions = {}): Run<VerifiedReport[], { progress: Progress }> {
    return this.#run(options, async (signal, tell) => {
      const { verifyReports } = await import('../operations/verifyReports.ts')
      const selected = selectReports(reports, this.config, isComparable)
      const request = { reports: selected, from: instantOf(options.from), to: instantOf(options.to) }
      return verifyReports(request, { ...this.#planOptions(signal), onProgress: (progress) => void tell({ progress }) })
    })
  }

  /** Reads the state of each report from the worker, the warehouse or the published copy. */
  status(options: CallOptions = {}): Promise<Status> {
    return this.#call(options, async (signal) => {
      const { readStatus } = await import('../operations/readStatus.ts')
      return readStatus(this.config, { ...this.#host, signal })
    })
  }

  /** Iterates over the rows that changed since the cursor, once each. The result has the cursor for the next call. */
  changes(reports: readonly string[], options: ChangesOptions = {}): Run<{ readonly cursor: string }, Change> {
    return this.#run(options, async (signal, tell) => {
      await using feed = await this.openChanges(reports, { ...options, signal })
      await feed.read(async (changes) => {
        for (const change of changes) await tell(parseExactly(change) as Change)
      })
      return { cursor: feed.cursor }
    })
  }

  /** Opens a feed that passes changes in batches instead of one by one. Use it for large numbers of changes. */
  openChanges(reports: readonly string[], options: ChangesOptions = {}): Promise<Changes> {
    const { since = 'start', children = false } = options
    return this.#call(options, async (signal) => {
      const { openChanges } = await import('../operations/readChanges.ts')
      return openChanges(this.config, { reports: namedReports(reports), children, since }, signal)
    })
  }

  /** Runs one statement on the published copy. Numbers that JavaScript would round are returned as strings. */
  async query<Row = Change['row']>(sql: string, options: CallOptions = {}): Promise<QueryResult<Row>> {
    const rows: Row[] = []
    const take: TakeRows = (cells, names) => {
      const objects = cells.map((row) => objectOf(names.map((name, place) => [name, row[place] ?? null])))
      for (const object of objects) rows.push(parseExactly(jsonOf(object)) as Row)
      return Promise.resolve(true)
    }
    const { columns, warrants } = await this.queryCells(sql, take, options)
    return { columns, rows, warrants }
  }

  /** Runs a statement on the published copy. Passes rows to `take` until `take` returns false. Rounds no numbers. */
  queryCells(sql: string, take: TakeRows, options: CallOptions = {}): Promise<QueryEnd> {
    return this.#call(options, (signal) => this.#reader.query(sql, take, { signal }))
  }

  /** Overwrites an existing file with the statement's rows as Parquet. Returns the number of rows. */
  writeParquet(sql: string, file: string, options: CallOptions = {}): Promise<number> {
    return this.#call(options, (signal) => this.#reader.writeParquet(sql, file, signal))
  }

  /** Runs a worker in this process until the signal aborts or a role fails. */
  startWorker(options: WorkerOptions = {}): Run<void, WorkerEvent> {
    return this.#run(options, async (signal, tell) => {
      const { runWorker } = await import('../worker/worker.ts')
      const writer = (hasToken: boolean) => ({ write: (text: string) => void tell({ text, hasToken }) })
      const shell = { ...this.#host, out: writer(false), err: writer(true), signal }
      await runWorker(shell, { roles: options.roles?.join(','), lock: options.lock })
    })
  }

  /** Stops all calls and waits for them to end. `await using` calls this method. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(cancelled('tidemark was closed'))
    await Promise.allSettled(this.#calls)
    await this.#reader[Symbol.asyncDispose]()
  }

  #perform<R extends ActingRequest>(options: CallOptions, request: () => R): Run<AnswerOf<R['do']>, PerformEvent> {
    return this.#run(options, (signal, tell) =>
      perform(request(), this.#host, { signal, onEvent: (event) => void tell(event) }),
    )
  }

  #run<Answer, Event>(options: CallOptions, work: (signal: AbortSignal, tell: Tell<Event>) => Promise<Answer>) {
    return startRun<Answer, Event>((tell) => this.#call(options, (signal) => work(signal, tell)))
  }

  async #call<T>({ signal }: CallOptions, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const closing = this.#closing.signal
    const stop = signal === undefined ? closing : AbortSignal.any([closing, signal])
    const call = (async () => {
      stop.throwIfAborted()
      return work(stop)
    })()
    this.#calls.add(call)
    try {
      return await call
    } catch (thrown) {
      throw stop.aborted && !(thrown instanceof SyncError) ? cancelled('stopped on request') : asSyncError(thrown)
    } finally {
      this.#calls.delete(call)
    }
  }

  #planOptions(signal: AbortSignal): PlanOptions {
    return { ...this.#host, signal, log: this.#host.openLog(undefined) }
  }

  #ranges(reports: readonly string[], options: RangeOptions): BackfillRequest[] {
    const [from, to, now] = [instantOf(options.from), instantOf(options.to), this.#host.clock.now()]
    return selectReports(reports, this.config).map((report) => {
      const { start } = this.config.reports[report]
      checkRange({ report, from: from ?? start, to: to ?? now }, { start, now })
      return { report, from, to }
    })
  }
}

/** Logs only if TIDEMARK_LOG_LEVEL is set. */
export async function openTidemark({ config: file, cwd = process.cwd(), env = process.env }: TidemarkOptions) {
  const config = await loadConfig({ env, cwd, ...(file !== undefined && { file }) })
  const level = logLevelOf(env, 'silent')
  return new Tidemark({ config, clock: systemClock, env, openLog: (keep) => createLog({ level, keep }) })
}

function instantOf(time: Time | undefined): Instant | undefined {
  if (typeof time === 'number' || time === undefined) return time
  const instant = time instanceof Date ? fromMillis(time.getTime()) : parseInstant(time)
  if (instant !== undefined && !Number.isNaN(instant)) return instant
  const cure = 'Pass a Date, or a text such as 2024-01-31 or 2024-01-31T12:00:00Z.'
  throw usageError(`${String(time)} is no time`, cure)
}

/** Longer numbers are returned as strings if a double would change their digits. */
const EXACT_DIGITS = 15

const parseExactly = (text: string): unknown =>
  JSON.parse(text, (_, value: unknown, { source = '' }: { readonly source?: string } = {}) => {
    const digits = source.replace(/e.*$/i, '').replaceAll(/\D|^[-0.]+|\.?0+$/g, '')
    const isExact = typeof value !== 'number' || digits.length <= EXACT_DIGITS || String(value) === source
    return isExact ? value : source
  })

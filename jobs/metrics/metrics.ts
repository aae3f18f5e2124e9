/** The metrics of one process, for Prometheus. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { statfs, stat } from 'node:fs/promises'
import path from 'node:path'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { isPerRecord, reportNames } from '../../schema/index.ts'
import type { ClientEvent } from '../../src/client/reporting.ts'
import { type Clock, within } from '../../src/clock.ts'
import type { Config } from '../../src/config/config.ts'
import { type Instant, MICROS_PER_SECOND, toMillis } from '../../src/instant.ts'
import { measure, type Observe, type Subject } from '../../src/observe.ts'
import type { BookFigures } from '../../src/warehouse/books/bookFigures.ts'
import { MESSAGE_EVENTS } from '../notify/memory.ts'
import { RUN_KINDS } from '../runs/runs.ts'

const REQUEST_SECONDS_BOUNDS = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]
const WORK_SECONDS_BOUNDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600]

type Meters = ReturnType<typeof createMeters>

/** Defines the metrics. Labels have values from fixed lists only. */
export function createMeters(registry: Registry) {
  const registers = [registry]
  const counter = <L extends string>(name: string, help: string, labelNames: L[]) =>
    new Counter({ name: `tidemark_${name}`, help, labelNames, registers })
  const seconds =
    (buckets: number[]) =>
    <L extends string>(name: string, help: string, labelNames: L[]) =>
      new Histogram({ name: `tidemark_${name}_duration_seconds`, help, labelNames, buckets, registers })
  const secondsOfWork = seconds(WORK_SECONDS_BOUNDS)
  const secondsOfRequests = seconds(REQUEST_SECONDS_BOUNDS)
  const gauge = <L extends string>(name: string, help: string, labelNames: L[]) =>
    new Gauge({ name, help, labelNames, registers })
  const ofReport = (name: string, help: string, read: (figures: BookFigures, nowS: number) => number | undefined) => ({
    gauge: gauge(`tidemark_report_${name}`, help, ['report']),
    read,
  })
  return {
    runs: counter('runs_total', 'Runs that ended', ['report', 'kind', 'state']),
    runSeconds: secondsOfWork('run', 'How long runs took', ['report', 'kind']),
    rows: counter('rows_total', 'Rows of runs by outcome', ['report', 'kind', 'outcome']),
    pages: counter('pages_total', 'Pages that runs read', ['report', 'kind']),
    errors: counter('errors_total', 'Runs that failed, by the code of their error', ['report', 'code']),
    requests: counter('requests_total', 'Requests to the service by report and status', ['report', 'status']),
    requestSeconds: secondsOfRequests('request', 'From sending a request to the last byte of its answer', ['report']),
    answerBytes: counter('answer_bytes_total', 'Bytes of answers, decompressed', ['report']),
    tokenRequests: counter('token_requests_total', 'Requests for a token by status', ['status']),
    retries: counter('retries_total', 'Requests sent again after a failure, by its code', ['code']),
    throttled: counter('throttled_total', 'Answers with status 429', []),
    loadSeconds: secondsOfWork('load', 'How long loads took, to their commit', ['report']),
    publishSeconds: secondsOfWork('publish', 'How long it took to check or replace the published copy', []),
    notices: counter('notices_total', 'Messages to receivers by event and outcome', ['event', 'outcome']),
    build: gauge('tidemark_build_info', 'Always 1; the version as a label', ['version']),
    owner: gauge('tidemark_owner', '1 in the process that owns the warehouse, else 0', []),
    enabled: gauge('tidemark_report_enabled', '1 for reports that are enabled', ['report']),
    reports: [
      ofReport('paused', '1 for reports that are paused', ({ isPaused }) => Number(isPaused)),
      ofReport(
        'mark_timestamp_seconds',
        'All rows that the service showed as modified until this time are stored',
        ({ mark }) => unixSeconds(mark),
      ),
      // Audit reports have no lag: their mark moves only when a record changes.
      ofReport('lag_seconds', 'How far the mark is behind now', ({ report, mark }, nowS) =>
        mark === undefined || isPerRecord(report) ? undefined : Math.max(0, nowS - mark / MICROS_PER_SECOND),
      ),
      ofReport('last_success_timestamp_seconds', 'When a run last ended well', ({ lastSuccess }) =>
        unixSeconds(lastSuccess),
      ),
      ofReport('rejected_rows', 'Rejected rows that are listed', ({ rejected }) => rejected),
      ofReport('misfits', 'Values that do not fit their columns', ({ misfits }) => misfits),
    ],
    queueJobs: gauge('tidemark_queue_jobs', 'Jobs by queue and state', ['queue', 'state']),
    fileBytes: gauge('tidemark_file_bytes', 'Size of the warehouse and of the published copy', ['file']),
    diskFree: gauge('tidemark_disk_free_bytes', 'Free space on the disk of the warehouse', []),
    loopDelay: gauge('tidemark_event_loop_delay_seconds', 'Delay of the event loop since the last scrape', [
      'percentile',
    ]),
    memory: gauge('process_resident_memory_bytes', 'Memory of the process', []),
    cpu: new Counter({
      name: 'process_cpu_seconds_total',
      help: 'Processor time of the process',
      labelNames: ['mode'],
      registers,
    }),
    started: gauge('process_start_time_seconds', 'When the process started', []),
  }
}

export interface MetricsOptions {
  readonly config: Pick<Config, 'reports' | 'warehouse' | 'published'>
  readonly clock: Clock
  readonly version: string
}

export type Books = () => Promise<readonly BookFigures[]>
export type Depths = () => Promise<Readonly<Record<string, Readonly<Record<string, number>>>>>

/** The time that a response may spend on reading figures. Prometheus waits only 10 s for the whole response. */
const READ_MS_MAX = 3_000
const LOOP_RESOLUTION_MS = 100
const NANOS_PER_SECOND = 1e9

export class Metrics implements Disposable {
  readonly observe: Observe
  readonly #options: MetricsOptions
  readonly #registry = new Registry()
  readonly meters = createMeters(this.#registry)
  readonly #loop = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS })
  #books: Books | undefined
  #depths: Depths | undefined
  #figures: readonly BookFigures[] = []

  constructor(options: MetricsOptions) {
    this.#options = options
    const { clock, config, version } = options
    const { meters } = this
    meters.build.set({ version }, 1)
    meters.started.set(toMillis(clock.now()) / 1_000 - process.uptime())
    beginAtZero(meters, config)
    this.observe = (subject, work) =>
      measure(subject, work, {
        clock,
        end: (facts, ms, code) => countWork(meters, { ...subject, facts: { code, ...facts } }, ms / 1_000),
      })
    this.#loop.enable()
  }

  onEvent(event: ClientEvent): void {
    if (event.kind === 'retry') this.meters.retries.inc({ code: event.code })
    if (event.kind === 'throttled') this.meters.throttled.inc()
  }

  watchBooks(books: Books): Disposable {
    this.#books = books
    return {
      [Symbol.dispose]: () => {
        this.#books = undefined
        this.#figures = []
      },
    }
  }

  watchQueues(depths: Depths): void {
    this.#depths = depths
  }

  async text(): Promise<{ contentType: string; body: string }> {
    this.meters.owner.set(this.#books === undefined ? 0 : 1)
    this.#readProcess()
    await Promise.all([this.#readBooks(), this.#readQueues(), this.#readFiles()])
    return { contentType: this.#registry.contentType, body: await this.#registry.metrics() }
  }

  [Symbol.dispose](): void {
    this.#loop.disable()
  }

  async #readBooks(): Promise<void> {
    const current = this.#books === undefined ? [] : await this.#inTimeLimit(this.#books)
    this.#figures = this.#books === undefined ? [] : (current ?? this.#figures)
    const { clock, config } = this.#options
    const shown = this.#figures.filter(({ report }) => config.reports[report].enabled)
    const nowS = toMillis(clock.now()) / 1_000
    for (const { gauge, read } of this.meters.reports) {
      gauge.reset()
      for (const figures of shown) {
        const value = read(figures, nowS)
        if (value !== undefined) gauge.set({ report: figures.report }, value)
      }
    }
  }

  async #readQueues(): Promise<void> {
    const { queueJobs } = this.meters
    const depths = this.#depths === undefined ? {} : await this.#inTimeLimit(this.#depths)
    if (depths === undefined) return
    queueJobs.reset()
    for (const [queue, states] of Object.entries(depths)) {
      for (const [state, jobs] of Object.entries(states)) queueJobs.set({ queue, state }, jobs)
    }
  }

  async #readFiles(): Promise<void> {
    const { fileBytes, diskFree } = this.meters
    const { warehouse, published } = this.#options.config
    for (const [file, place] of Object.entries({ warehouse, published })) {
      const size = await stat(place).catch(() => undefined)
      if (size === undefined) fileBytes.remove({ file })
      else fileBytes.set({ file }, size.size)
    }
    const disk = await statfs(path.dirname(warehouse)).catch(() => undefined)
    if (disk !== undefined) diskFree.set(disk.bavail * disk.bsize)
  }

  #readProcess(): void {
    const { loopDelay, memory, cpu } = this.meters
    const seconds = { 50: this.#loop.percentile(50), 99: this.#loop.percentile(99), 100: this.#loop.max }
    const sampledMs = LOOP_RESOLUTION_MS / 1_000
    for (const [percentile, nanos] of Object.entries(seconds))
      loopDelay.set({ percentile }, Math.max(0, nanos / NANOS_PER_SECOND - sampledMs))
    this.#loop.reset()
    memory.set(process.memoryUsage.rss())
    const { user, system } = process.cpuUsage()
    cpu.reset()
    cpu.inc({ mode: 'user' }, user / MICROS_PER_SECOND)
    cpu.inc({ mode: 'system' }, system / MICROS_PER_SECOND)
  }

  #inTimeLimit<T>(read: () => Promise<T>): Promise<T | undefined> {
    return within(READ_MS_MAX, this.#options.clock, () => read().catch(() => undefined))
  }
}

const unixSeconds = (instant: Instant | undefined) => instant && instant / MICROS_PER_SECOND

function countWork(meters: Meters, work: Subject, seconds: number): void {
  const { what, report = '', facts = {} } = work
  const status = String(facts['status'] ?? facts['code'] ?? '')
  if (what === 'run') countRun(meters, work, seconds)
  else if (what === 'token') meters.tokenRequests.inc({ status })
  else if (what === 'load') meters.loadSeconds.observe({ report }, seconds)
  else if (what === 'publish') meters.publishSeconds.observe(seconds)
  else if (what === 'request') {
    meters.requests.inc({ report, status })
    meters.requestSeconds.observe({ report }, seconds)
    meters.answerBytes.inc({ report }, Number(facts['bytes'] ?? 0))
  }
}

const OUTCOMES = { rows: 'read', inserted: 'inserted', updated: 'updated', deleted: 'deleted', rejected: 'rejected' }

function countRun({ runs, runSeconds, rows, pages, errors }: Meters, work: Subject, seconds: number): void {
  const { report = '', facts = {} } = work
  const kind = String(facts['kind'])
  const state = String(facts['state'])
  runs.inc({ report, kind, state })
  runSeconds.observe({ report, kind }, seconds)
  pages.inc({ report, kind }, Number(facts['pages'] ?? 0))
  for (const [fact, outcome] of Object.entries(OUTCOMES)) rows.inc({ report, kind, outcome }, Number(facts[fact] ?? 0))
  if (state === 'failed') errors.inc({ report, code: String(facts['code']) })
}

const TOKEN_FAILURES = ['400', '401', '403', '422', '429', '500', '502', '503', '504']
const NO_ANSWER = ['SERVICE_UNREACHABLE', 'SERVICE_TIMEOUT']

/** Reports each counter as 0 before its first increase. Prometheus cannot see an increase without a value before it. */
function beginAtZero(meters: Meters, { reports }: MetricsOptions['config']): void {
  const { enabled, runs, errors, requests, tokenRequests, notices } = meters
  for (const report of reportNames) {
    enabled.set({ report }, Number(reports[report].enabled))
    if (!reports[report].enabled) continue
    for (const kind of RUN_KINDS) for (const state of ['done', 'failed']) runs.inc({ report, kind, state }, 0)
    if (!isPerRecord(report)) errors.inc({ report, code: 'MASS_DELETE_STOPPED' }, 0)
    for (const status of ['200', '500', ...NO_ANSWER]) requests.inc({ report, status }, 0)
  }
  for (const status of ['200', ...TOKEN_FAILURES, ...NO_ANSWER]) tokenRequests.inc({ status }, 0)
  for (const event of MESSAGE_EVENTS) for (const outcome of ['failed', 'dropped']) notices.inc({ event, outcome }, 0)
}

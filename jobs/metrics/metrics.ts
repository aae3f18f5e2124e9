/** The metrics of one process for Prometheus. If a value cannot be read in time, the previous value is sent. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { statfs, stat } from 'node:fs/promises'
import path from 'node:path'
import { Registry } from 'prom-client'
import { type ReportName, reportNames, reportOf, isPerRecord } from '../../schema/index.ts'
import type { ClientEvent } from '../../src/client/reporting.ts'
import { type Clock, within } from '../../src/clock.ts'
import type { Config } from '../../src/config/config.ts'
import { toMillis } from '../../src/instant.ts'
import { type Observe, type Facts, measure, type Subject } from '../../src/observe.ts'
import type { BookFigures } from '../../src/warehouse/books/bookFigures.ts'
import { createMeters, type Meters } from './metricDefinitions.ts'
import { MESSAGE_EVENTS } from '../notify/memory.ts'
import { RUN_KINDS } from '../runs/runs.ts'

export interface MetricsOptions {
  readonly config: Pick<Config, 'reports' | 'warehouse' | 'published'>
  readonly clock: Clock
  readonly version: string
}

export type Books = () => Promise<readonly BookFigures[]>
export type Depths = () => Promise<Readonly<Record<string, Readonly<Record<string, number>>>>>

/** Prometheus waits only 10 s for a response, so warehouse and queues must answer within this time. */
const READ_MS_MAX = 3_000
const LOOP_RESOLUTION_MS = 10
const NANOS_PER_SECOND = 1e9
const MICROS_PER_SECOND = 1e6

export class Metrics implements Disposable {
  readonly observe: Observe
  readonly meters: Meters
  readonly #parts: MetricsOptions
  readonly #registry = new Registry()
  readonly #loop = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS })
  #books: Books | undefined
  #depths: Depths | undefined
  #figures: readonly BookFigures[] = []

  constructor(parts: MetricsOptions) {
    this.#parts = parts
    this.meters = createMeters(this.#registry)
    beginAtZero(
      this.meters,
      reportNames.filter((report) => parts.config.reports[report].enabled),
    )
    this.observe = counting(this.meters, parts.clock)
    this.#loop.enable()
  }

  onEvent(event: ClientEvent): void {
    countEvent(this.meters, event)
  }

  /** Adds the state of the reports to the metrics, until the returned object is disposed. */
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
    const { build, owner } = this.meters
    build.set({ version: this.#parts.version }, 1)
    owner.set(this.#books === undefined ? 0 : 1)
    this.#readProcess()
    await Promise.all([this.#readBooks(), this.#readQueues(), this.#readFiles()])
    return { contentType: this.#registry.contentType, body: await this.#registry.metrics() }
  }

  [Symbol.dispose](): void {
    this.#loop.disable()
  }

  async #readBooks(): Promise<void> {
    const { enabled, paused, mark, lag, lastSuccess, rejectedRows, misfits } = this.meters
    const { config, clock } = this.#parts
    for (const report of reportNames) enabled.set({ report }, config.reports[report].enabled ? 1 : 0)
    const current = this.#books === undefined ? [] : await this.#inTimeLimit(this.#books)
    this.#figures = this.#books === undefined ? [] : (current ?? this.#figures)
    for (const gauge of [paused, mark, lag, lastSuccess, rejectedRows, misfits]) gauge.reset()
    const nowS = toMillis(clock.now()) / 1_000
    for (const figures of this.#figures) {
      const report: ReportName = figures.report
      if (!config.reports[report].enabled) continue
      paused.set({ report }, figures.isPaused ? 1 : 0)
      rejectedRows.set({ report }, figures.rejected)
      misfits.set({ report }, figures.misfits)
      if (figures.lastSuccess !== undefined) lastSuccess.set({ report }, figures.lastSuccess / MICROS_PER_SECOND)
      if (figures.mark === undefined) continue
      mark.set({ report }, figures.mark / MICROS_PER_SECOND)
      // An audit report's mark moves only when records change, so an old mark does not mean that the report is late.
      if (reportOf(report).perRecord === undefined)
        lag.set({ report }, Math.max(0, nowS - figures.mark / MICROS_PER_SECOND))
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
    const { warehouse, published } = this.#parts.config
    for (const [file, place] of Object.entries({ warehouse, published })) {
      const size = await stat(place).catch(() => undefined)
      if (size === undefined) fileBytes.remove({ file })
      else fileBytes.set({ file }, size.size)
    }
    const disk = await statfs(path.dirname(warehouse)).catch(() => undefined)
    if (disk !== undefined) diskFree.set(disk.bavail * disk.bsize)
  }

  #readProcess(): void {
    const { loopDelay, memory, cpu, started } = this.meters
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
    started.set(toMillis(this.#parts.clock.now()) / 1_000 - process.uptime())
  }

  #inTimeLimit<T>(read: () => Promise<T>): Promise<T | undefined> {
    return within(READ_MS_MAX, this.#parts.clock, () => read().catch(() => undefined))
  }
}

function counting(meters: Meters, clock: Pick<Clock, 'monotonicMs'>): Observe {
  return (subject, work) => {
    const end = (facts: Facts, ms: number, code?: string) =>
      countWork(meters, { subject, facts, seconds: ms / 1_000, code })
    return measure(subject, work, { clock, end })
  }
}

function countEvent({ retries, throttled }: Meters, event: ClientEvent): void {
  if (event.kind === 'retry') retries.inc({ code: event.code })
  if (event.kind === 'throttled') throttled.inc()
}

interface Work {
  readonly subject: Subject
  readonly facts: Facts
  readonly seconds: number
  readonly code: string | undefined
}

function countWork(meters: Meters, work: Work): void {
  const { subject, facts, seconds, code } = work
  const { what, report = '' } = subject
  // A request without a response has no status. The label `status` then contains the error code.
  const status = String(facts['status'] ?? code ?? '')
  if (what === 'run') countRun(meters, work)
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

function countRun({ runs, runSeconds, rows, pages, errors }: Meters, { subject, facts, seconds }: Work): void {
  const { report = '' } = subject
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

/** Creates all counters with 0. Without the 0, Prometheus would not count the first increase of a counter. */
function beginAtZero({ runs, errors, requests, tokenRequests, notices }: Meters, reports: readonly ReportName[]): void {
  for (const report of reports) {
    for (const kind of RUN_KINDS) for (const state of ['done', 'failed']) runs.inc({ report, kind, state }, 0)
    if (!isPerRecord(report)) errors.inc({ report, code: 'MASS_DELETE_STOPPED' }, 0)
    for (const status of ['200', '500', ...NO_ANSWER]) requests.inc({ report, status }, 0)
  }
  for (const status of ['200', ...TOKEN_FAILURES, ...NO_ANSWER]) tokenRequests.inc({ status }, 0)
  for (const event of MESSAGE_EVENTS) for (const outcome of ['failed', 'dropped']) notices.inc({ event, outcome }, 0)
}

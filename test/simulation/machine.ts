/**
 * The machine that Tidemark runs on: its disk, its process, its clock. The process can die between any two steps: what
 * it had written is kept as it was at that moment, and the next process opens that.
 */
import { closeSync, copyFileSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ReportName, reportNames } from '../../schema/index.ts'
import { openClient } from '../../src/client/reporting.ts'
import type { ReportConfig } from '../../src/config/config.ts'
import { asSyncError, type ErrorCode } from '../../src/errors.ts'
import { Secret } from '../../src/secret.ts'
import type { SyncContext } from '../../src/sync/context.ts'
import type { AroundStatement } from '../../src/warehouse/database/duckdb.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import type { Chance } from './chance.ts'
import type { History } from './history.ts'
import { type Gaps } from './gaps.ts'
import type { Asking, Recorded, RunPlan, Scenario, Simulated } from './scenario.ts'
import type { Service } from './service.ts'
import type { MachineClock, Timeline } from './timeline.ts'

const clientSecret = new Secret('simulated-secret')
const BASE_URL = new URL('http://service.test')

/** What every step of a dead process ends with. */
export class Died extends Error {
  constructor() {
    super('the process died')
    this.name = 'Died'
  }
}

/** Statements that only look at the warehouse, for the invariants: they take no time and meet no faults. */
export const LOOK = '/* look */ '

export const WRITES_MARKS = /MERGE INTO tidemark\.marks/
/** The reports whose rows, or whose marks, a statement writes. */
const REPORTS_OF_ROWS = /INSERT INTO main\."?(events|budgets|enquiries)\b/g
const REPORTS_OF_MARKS = /\('(events|budgets|enquiries)',/g
const EXPAND: Readonly<Record<Simulated, readonly string[]>> = {
  events: ['meetingRooms', 'commissions', 'assignments'],
  budgets: ['costItems'],
  enquiries: ['bedrooms', 'approver'],
  enquiry_audit_entries: ['payload'],
}
const WALK_PAGES_MAX = 1_500
const MEMORY = '256MB'
/** A folder in memory where there is one: thousands of small files are written. */
const ROOT = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

interface OpenProcess {
  readonly warehouse: Warehouse
  readonly context: SyncContext
  readonly stop: AbortController
}

export interface MachineParts {
  readonly scenario: Scenario
  readonly timeline: Timeline
  readonly clock: MachineClock
  readonly service: Service
  readonly chance: Chance
  readonly history: History
  readonly gaps: Gaps
  /** After each COMMIT that touched a report. */
  readonly onCommit: (report: Recorded, rows: <T>(sql: string) => Promise<T[]>) => Promise<void>
  readonly onTrouble: (error: unknown) => void
}

export class Machine {
  readonly folder: string
  statements = 0
  /** COMMITs of loads. */
  commits = 0
  /** The statement of this number finds the disk full; `commit`: the next COMMIT from there on does. */
  fullAt: { statement: number; onlyCommit: boolean } | undefined
  readonly #parts: MachineParts
  readonly #template: string
  readonly #touched = new Set<Recorded>()
  #disk = 0
  #dead = false
  #open: OpenProcess | undefined

  private constructor(parts: MachineParts, template: string) {
    this.#parts = parts
    this.#template = template
    this.folder = mkdtempSync(join(ROOT, 'tidemark-simulation-'))
  }

  static async start(parts: MachineParts): Promise<Machine> {
    const machine = new Machine(parts, await template())
    copyFileSync(machine.#template, machine.#path)
    return machine
  }

  get isDead(): boolean {
    return this.#dead
  }

  /** The rooms, opened anew when the process is a new one. */
  async context({
    settings,
    asking,
  }: Pick<RunPlan, 'settings' | 'asking'>): Promise<{ context: SyncContext; stop: AbortController }> {
    const stop = new AbortController()
    const { scenario, service, clock } = this.#parts
    const warehouse = this.#open?.warehouse ?? (await this.#openWarehouse())
    const client =
      this.#open?.context.client ??
      openClient(
        {
          baseUrl: BASE_URL,
          clientId: 'simulation',
          clientSecret,
          concurrency: settings.concurrency,
          limits: { attemptsMax: 4, retryDelayMsMin: 50, retryDelayMsMax: 2_000 },
        },
        { clock, dispatcher: service },
      )
    if (this.#open === undefined) service.tokens.budget += 1
    const context: SyncContext = {
      client,
      warehouse,
      clock,
      settings: {
        reports: reportConfigs(scenario, { settings, asking }),
        currencies: [...asking.currencies],
        limits: {
          loadRowsMax: settings.loadRowsMax,
          loadBytesMax: 1_000_000,
          pageBytesMax: 10_000_000,
          walkPagesMax: WALK_PAGES_MAX,
          walkAttemptsMax: 4,
          warehouseMemory: MEMORY,
          queryMemory: MEMORY,
          queryDisk: '1GB',
          queryTimeMs: 60_000,
        },
        baseUrl: BASE_URL,
        concurrency: settings.concurrency,
        identity: 'simulation',
        clientSecret,
        rejectedKeepMs: 90 * 86_400_000,
        staging: join(this.folder, 'staging'),
      },
      onProgress: () => undefined,
      signal: stop.signal,
    }
    this.#open = { warehouse, context, stop }
    return { context, stop }
  }

  /** The process dies here and now. */
  die(): void {
    const next = this.#disk + 1
    for (const ending of ['', '.wal']) {
      if (existsSync(this.#path + ending)) copyFileSync(this.#path + ending, this.#pathOf(next) + ending)
    }
    this.#dead = true
    this.#touched.clear()
    this.#open?.stop.abort(new Died())
    this.#parts.service.cut()
  }

  /** Lets go of a process that died; the next rooms are those of a new one, on the disk as it was. */
  async bury(): Promise<void> {
    await this.#close()
    for (const ending of ['', '.wal']) rmSync(this.#path + ending, { force: true, recursive: true })
    this.#disk += 1
    this.#dead = false
    // As the command line does once it holds the file's lock.
    rmSync(join(this.folder, 'staging'), { force: true, recursive: true })
  }

  /** The process ends in good order; the next rooms are those of a new one. */
  restart(): Promise<void> {
    return this.#close()
  }

  async end(): Promise<void> {
    // A damaged file refuses this statement, too.
    const close = () => this.rows('PRAGMA disable_checkpoint_on_shutdown').catch(() => undefined)
    if (this.#open !== undefined) await this.#inRealTime(close)
    await this.#close()
    rmSync(this.folder, { force: true, recursive: true })
  }

  /** A statement also writes the marks that wait for it. Between two runs, that takes no virtual time. */
  rows<T>(sql: string): Promise<T[]> {
    const look = () => (this.#open as OpenProcess).warehouse.rows<T>(LOOK + sql)
    return this.#parts.timeline.isRunning ? look() : this.#inRealTime(look)
  }

  /** Takes back what was refused, as `tidemark resume` does. */
  async resume(): Promise<void> {
    const { client, warehouse } = this.#open?.context ?? {}
    await this.#inRealTime(async () => warehouse?.resume(this.#parts.scenario.reports))
    await client?.resume()
    this.#parts.service.tokens.budget += 1
  }

  async publish(): Promise<string> {
    const path = join(this.folder, 'published.duckdb')
    await this.#inRealTime(async () => this.#open?.warehouse.publish(path))
    return path
  }

  /** Publishes a change of the books after one bit of the file was flipped; a refusal is expected to name the damage. */
  async publishDamaged(chance: Chance): Promise<ErrorCode | undefined> {
    const warehouse = this.#open?.warehouse
    await this.#inRealTime(async () => warehouse?.checkpoint())
    flipBit(this.#path, chance)
    try {
      const states = [{ report: 'events', enabled: false, offReason: 'damaged' }] as const
      await this.#inRealTime(async () => warehouse?.recordReportStates(states))
      await this.publish()
      return undefined
    } catch (error) {
      return asSyncError(error).code
    }
  }

  /** Opens, closes and copies outside of any run: it takes no virtual time and meets no faults. */
  async #inRealTime<T>(work: () => Promise<T>): Promise<T> {
    const { timeline } = this.#parts
    timeline.isReal = true
    try {
      return await timeline.run(work())
    } finally {
      timeline.isReal = false
    }
  }

  async #close(): Promise<void> {
    const open = this.#open
    this.#open = undefined
    if (open === undefined) return
    await this.#parts.timeline.run(open.context.client.close().then(() => open.warehouse.close()))
  }

  #openWarehouse(): Promise<Warehouse> {
    const settings = { path: this.#path, memory: MEMORY, threads: 1, around: this.#around }
    return this.#inRealTime(async () => {
      const warehouse = await Warehouse.open(settings)
      if (this.#parts.scenario.plansPlainly) await warehouse.rows('PRAGMA disable_optimizer')
      return warehouse
    })
  }

  readonly #around: AroundStatement = async (sql, run) => {
    const { timeline, chance, gaps } = this.#parts
    if (timeline.isReal || sql.startsWith(LOOK)) return timeline.real(run())
    if (this.#dead) throw new Died()
    await timeline.wait(chance.int(0, 3))
    if (this.isDead) throw new Died()
    gaps.before()
    if (this.isDead) throw new Died()
    this.statements += 1
    if (this.#isDiskFull(sql)) throw new Error('IO Error: Could not write: No space left on device')
    const result = await timeline.real(run())
    gaps.after(sql)
    this.#note(sql)
    if (this.isDead) throw new Died()
    return result
  }

  /** A COMMIT's look comes in turn behind its transaction, and what was waiting before. */
  #note(sql: string): void {
    const { history, onCommit, onTrouble } = this.#parts
    const reports = sql.matchAll(WRITES_MARKS.test(sql) ? REPORTS_OF_MARKS : REPORTS_OF_ROWS)
    for (const [, report] of reports) this.#touched.add(report as Recorded)
    if (sql !== 'COMMIT' && sql !== 'ROLLBACK') return
    const touched = [...this.#touched]
    this.#touched.clear()
    if (sql === 'ROLLBACK' || touched.length === 0) return
    this.commits += 1
    history.tell(() => `COMMIT of ${touched.join(', ')}`)
    for (const each of touched) onCommit(each, (look) => this.rows(look)).catch(onTrouble)
  }

  #isDiskFull(sql: string): boolean {
    const { fullAt } = this
    if (fullAt === undefined || this.statements < fullAt.statement) return false
    if (sql === 'ROLLBACK' || (fullAt.onlyCommit && sql !== 'COMMIT')) return false
    this.fullAt = undefined
    this.#parts.history.tell(() => `disk full at ${sql.trim().slice(0, 80)}`)
    return true
  }

  get #path(): string {
    return this.#pathOf(this.#disk)
  }

  #pathOf(disk: number): string {
    return join(this.folder, `warehouse-${disk}.duckdb`)
  }
}

function flipBit(path: string, chance: Chance): void {
  const bytes = readFileSync(path)
  const at = chance.int(0, bytes.length - 1)
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.of((bytes[at] ?? 0) ^ (1 << chance.int(0, 7))), 0, 1, at)
  closeSync(file)
}

let made: Promise<string> | undefined

/** An empty warehouse of the newest layout, made once in a process and copied for each seed. */
function template(): Promise<string> {
  made ??= (async () => {
    const folder = mkdtempSync(join(ROOT, 'tidemark-template-'))
    process.once('exit', () => rmSync(folder, { force: true, recursive: true }))
    const path = join(folder, 'empty.duckdb')
    const warehouse = await Warehouse.open({ path, memory: MEMORY, threads: 1 })
    await warehouse.close()
    return path
  })()
  return made
}

function reportConfigs(
  scenario: Scenario,
  { settings, asking }: Pick<RunPlan, 'settings' | 'asking'>,
): Record<ReportName, ReportConfig> {
  const config = (name: ReportName): ReportConfig => ({
    name,
    enabled: (scenario.reports as readonly ReportName[]).includes(name),
    every: '5m',
    timeZone: 'UTC',
    pageSize: settings.pageSize,
    deletesEveryMs: 0,
    overlapMs: scenario.overlapMs,
    settleMs: scenario.settleMs,
    start: asking.start,
    expand: expandOf(name as Simulated, asking),
    filters: asking.companyId === undefined || name === 'enquiry_audit_entries' ? {} : { companyId: asking.companyId },
    askCreated: name === 'enquiries',
    entities: [],
    contract: 'evolve',
    keepsHistory: false,
    privacy: { columns: {}, excludePayload: false },
  })
  return Object.fromEntries(reportNames.map((name) => [name, config(name)])) as Record<ReportName, ReportConfig>
}

const expandOf = (name: Simulated, asking: Asking): readonly string[] =>
  (EXPAND[name] ?? []).filter((flag) => flag === 'payload' || asking.expand.has(flag))

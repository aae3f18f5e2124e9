/**
 * The service's data, and everything that can happen to it. Tests in the same process and the control endpoint call it
 * directly; the HTTP side only reads. Equal seeds and equal calls give equal worlds.
 */
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus'
import { AuditTrail, type TrailEntry } from './auditTrail.ts'
import type { CollectionRules } from './collections.ts'
import { HISTORY_END } from './history.ts'
import { PageWriter } from './pageWriter.ts'
import { poolsFor } from './pools.ts'
import { RateTable, type Currency } from './rates.ts'
import { WORLD_REPORTS, type WorldReport } from './reports.ts'
import { automatedBookingRows, enquiryRows, officeRows } from './rows/bookings.ts'
import { budgetRows } from './rows/budgets.ts'
import { eventRows } from './rows/events.ts'
import { merfRows } from './rows/merf.ts'
import type { Makings, Sizes } from './rows/model.ts'
import { Table } from './table.ts'
import { TICKS_PER_MINUTE, type Ticks, type TimeStyle } from './ticks.ts'
import { Changes, type ChangeMade } from './changes.ts'

export interface WorldOptions {
  readonly rows: number
  readonly seed: number
  /** The service's clock, skew included. */
  readonly now: () => Ticks
  readonly rules: CollectionRules
  readonly timeStyle: TimeStyle | undefined
}

export interface RowRequest {
  /** Currency that amounts are converted to; budgets and automated bookings only. Default EUR. */
  readonly currency?: Currency
  /** Default true. */
  readonly expandAll?: boolean
}

const ROW_BYTES = 8_192

export class World {
  readonly rates: RateTable
  readonly tables: Readonly<Record<WorldReport, Table>>
  readonly audit: AuditTrail
  readonly #changes: Changes

  constructor({ rows, seed, now, rules, timeStyle }: WorldOptions) {
    const makings: Makings = { seed, pools: poolsFor(seed), sizes: sizesFor(rows), timeStyle }
    const historyEnd = Math.min(HISTORY_END, now() - TICKS_PER_MINUTE)
    this.rates = new RateTable(seed)
    const table = (model: ReturnType<typeof eventRows>): Table =>
      new Table({ model, makings, rules, historyEnd, rates: this.rates })
    this.tables = {
      events: table(eventRows(makings)),
      budgets: table(budgetRows(makings)),
      enquiries: table(enquiryRows(makings)),
      automated_bookings: table(automatedBookingRows(makings)),
      office_reservations: table(officeRows(makings)),
      merf_submissions: table(merfRows(makings)),
    }
    // Events are what large walks read; the rows of the other reports are serialised when they are first asked for.
    this.tables.events.prepare()
    this.audit = new AuditTrail(this.tables, seed)
    this.#changes = new Changes({ tables: this.tables, audit: this.audit, now, random: xoroshiro128plus(seed) })
  }

  /** Keys of every row that the report can return with deleted rows included. */
  keys(report: WorldReport): number[] {
    const { all } = this.tables[report]
    return all.slice(0, all.size).map(this.tables[report].keyOf)
  }

  /** Keys of the rows that the report returns by default. */
  liveKeys(report: WorldReport): number[] {
    const { live } = this.tables[report]
    return live.slice(0, live.size).map(this.tables[report].keyOf)
  }

  /** The row as the service would return it now; undefined when it would not. */
  rowText(
    report: WorldReport,
    key: number,
    { currency = 'EUR', expandAll = true }: RowRequest = {},
  ): string | undefined {
    const table = this.tables[report]
    const row = table.rowOf(key)
    if (row === undefined || table.stamps.isGone(row)) return undefined
    const flags = expandAll ? table.collections.kinds.map((kind) => kind.flag) : []
    const out = new PageWriter(ROW_BYTES)
    table.write(out, row, { flags: new Set(flags), currency })
    return out.finish().toString()
  }

  row(report: WorldReport, key: number, request: RowRequest = {}): Record<string, unknown> | undefined {
    const text = this.rowText(report, key, request)
    return text === undefined ? undefined : (JSON.parse(text) as Record<string, unknown>)
  }

  edit = (report: WorldReport, key: number): ChangeMade => this.#changes.edit(report, key)
  editChild = (report: WorldReport, key: number, field?: string): ChangeMade =>
    this.#changes.editChild(report, key, field)
  addChild = (report: WorldReport, key: number, field?: string): ChangeMade =>
    this.#changes.addChild(report, key, field)
  removeChild = (report: WorldReport, key: number, field?: string): ChangeMade =>
    this.#changes.removeChild(report, key, field)
  clearChildren = (report: WorldReport, key: number, field?: string): ChangeMade =>
    this.#changes.clearChildren(report, key, field)
  softDelete = (report: WorldReport, key: number): ChangeMade => this.#changes.softDelete(report, key)
  undelete = (report: WorldReport, key: number): ChangeMade => this.#changes.undelete(report, key)
  insert = (report: WorldReport): ChangeMade => this.#changes.insert(report)
  silentEdit = (report: WorldReport, key: number): ChangeMade => this.#changes.silentEdit(report, key)
  lateCommit = (report: WorldReport, ageMs: number): ChangeMade => this.#changes.lateCommit(report, ageMs)
  stampFuture = (report: WorldReport, key: number, ms: number): ChangeMade => this.#changes.stampFuture(report, key, ms)
  /** Raw JSON text by field, as it will stand in the row; an empty text leaves the field out. Stamps the row. */
  putRow = (report: WorldReport, key: number, fields: Readonly<Record<string, string>>): ChangeMade =>
    this.#changes.putRow(report, key, fields)
  /** One random change, of one report if it is named. */
  tick = (report?: WorldReport): ChangeMade => this.#changes.tick(report)

  auditEntries(entityId: number, recordId: number): readonly TrailEntry[] {
    return this.audit.of(entityId, recordId)
  }

  get size(): number {
    return WORLD_REPORTS.reduce((sum, report) => sum + this.tables[report].all.size, 0)
  }
}

/** Every report scales with the number of events. */
function sizesFor(rows: number): Sizes {
  const half = Math.max(1, Math.floor(rows / 2))
  return {
    events: rows,
    budgets: rows,
    enquiries: half,
    automated_bookings: half,
    office_reservations: half,
    merf_submissions: rows,
  }
}

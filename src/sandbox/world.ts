/** The data of the service, which clients can only read. Equal seeds and equal calls lead to equal data. */
import type { TrailEntry } from './auditTrail.ts'
import { Changes } from './changes.ts'
import type { Amounts, WorldSettings } from './dice.ts'
import { HISTORY_END } from './history.ts'
import type { Currency } from './money.ts'
import { poolsFor } from './pools.ts'
import { RateTable } from './rates.ts'
import { perReport, type WorldReport } from './reports/index.ts'
import { type CollectionRules, type Row, Table } from './table.ts'
import { type Ticks, TICKS_PER_MINUTE, type TimeStyle } from './ticks.ts'

export interface WorldOptions {
  readonly rows: number
  readonly seed: number
  readonly now: () => Ticks
  readonly back?: () => Ticks
  readonly rules: CollectionRules
  readonly timeStyle: TimeStyle | undefined
  readonly amounts: Amounts
}

export interface RowRequest {
  readonly currency?: Currency
  readonly flags?: readonly string[]
}

export class World extends Changes {
  readonly rates: RateTable

  constructor({ rows, seed, now, back = () => 0, rules, timeStyle, amounts }: WorldOptions) {
    const historyEnd = Math.min(HISTORY_END, now() - TICKS_PER_MINUTE)
    const worldSettings: WorldSettings = { seed, pools: poolsFor(seed), events: rows, historyEnd, timeStyle, amounts }
    const rates = new RateTable(seed, amounts)
    super(
      perReport((report) => new Table(report, { worldSettings, rules, rates })),
      worldSettings,
      { now, back },
    )
    this.rates = rates
  }

  keys(report: WorldReport): number[] {
    return this.tables[report].rows.map(({ key }) => key)
  }

  liveKeys(report: WorldReport): number[] {
    return this.tables[report].rows.flatMap(({ key, deleted }) => (deleted ? [] : [key]))
  }

  /** Returns the text that a response contains now, or undefined if no response contains the row. */
  rowText(report: WorldReport, key: number, { currency = 'EUR', flags }: RowRequest = {}): string | undefined {
    const table = this.tables[report]
    const row = table.find(key)
    if (row === undefined || (row.deleted && !table.definition.keepsDeleted)) return undefined
    return table.text(row, { flags: new Set(flags ?? table.definition.collections.map(({ flag }) => flag)), currency })
  }

  row(report: WorldReport, key: number, request: RowRequest = {}): Record<string, unknown> | undefined {
    const text = this.rowText(report, key, request)
    return text === undefined ? undefined : (JSON.parse(text) as Record<string, unknown>)
  }

  stampsOf(report: WorldReport, key: number): Pick<Row, 'created' | 'modified' | 'aggregate'> {
    const { created, modified, aggregate } = this.tables[report].find(key) as Row
    return { created, modified, aggregate }
  }

  auditEntries(entityId: number, recordId: number): readonly TrailEntry[] {
    return this.audit.of(entityId, recordId)
  }
}

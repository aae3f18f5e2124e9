/**
 * What can happen to a row, each with its stamps and its audit entry. Changes draw from one seeded sequence; stamps
 * come from the service's clock. A child edit of an event moves `aggregateRecordModified` only (spec §2).
 */
import { uniformInt } from 'pure-rand/distribution/uniformInt'
import type { RandomGenerator } from 'pure-rand/types/RandomGenerator'
import { SyncError } from '../errors.ts'
import type { Action, AuditTrail } from './auditTrail.ts'
import { drawAmount } from './decimal.ts'
import { WORLD_REPORTS, type WorldReport } from './reports.ts'
import type { RawFields } from './rowTexts.ts'
import type { Table } from './table.ts'
import { TICKS_PER_MS, type Ticks } from './ticks.ts'

export interface ChangeMade {
  readonly report: WorldReport
  readonly key: number
  readonly action: string
  /** The field or collection that changed, where it was one. */
  readonly field?: string
}

interface ChangesOptions {
  readonly tables: Readonly<Record<WorldReport, Table>>
  readonly audit: AuditTrail
  readonly now: () => Ticks
  readonly random: RandomGenerator
}

interface Target {
  readonly table: Table
  readonly row: number
}

/** Which change a tick makes, out of a hundred. */
const TICK_SHARES = [
  ['edit', 40],
  ['editChild', 62],
  ['addChild', 71],
  ['removeChild', 76],
  ['clearChildren', 78],
  ['insert', 90],
  ['softDelete', 96],
  ['undelete', 100],
] as const

export class Changes {
  readonly #tables: ChangesOptions['tables']
  readonly #audit: AuditTrail
  readonly #now: () => Ticks
  readonly #random: RandomGenerator
  readonly #deletedByUs: Target[] = []

  constructor({ tables, audit, now, random }: ChangesOptions) {
    this.#tables = tables
    this.#audit = audit
    this.#now = now
    this.#random = random
  }

  edit(report: WorldReport, key: number): ChangeMade {
    const target = this.#target(report, key)
    const [field, raw] = this.#newValue(target)
    return this.#stampOwn(target, { action: 'Updated', fields: { [field]: raw }, field })
  }

  silentEdit(report: WorldReport, key: number): ChangeMade {
    const { table, row } = this.#target(report, key)
    if (table.model.priced !== undefined) {
      table.reprice(row, drawAmount(this.#draw(), row, 1))
      return { report, key, action: 'silentEdit', field: table.model.priced(row).field }
    }
    const [field, raw] = this.#newValue({ table, row })
    table.change(row, () => undefined, { [field]: raw })
    return { report, key, action: 'silentEdit', field }
  }

  putRow(report: WorldReport, key: number, fields: RawFields): ChangeMade {
    const target = this.#target(report, key)
    const collections = new Set(target.table.collections.kinds.map((kind) => kind.field))
    const own = Object.entries(fields).filter(([field]) => !collections.has(field))
    for (const [field, raw] of Object.entries(fields)) {
      if (collections.has(field)) target.table.collections.set(target.row, field, raw)
    }
    return { ...this.#stampOwn(target, { action: 'Updated', fields: Object.fromEntries(own) }), action: 'putRow' }
  }

  editChild(report: WorldReport, key: number, field?: string): ChangeMade {
    return this.#changeItems(report, key, {
      field,
      wantsItems: true,
      action: 'editChild',
      next: (items) => {
        const at = this.#below(items.length)
        return items.map((item, index) => (index === at ? nextRevision(item) : item))
      },
    })
  }

  addChild(report: WorldReport, key: number, field?: string): ChangeMade {
    return this.#changeItems(report, key, {
      field,
      wantsItems: false,
      action: 'addChild',
      next: (items, table, name) => [...items, table.collections.freshItem(name, this.#draw())],
    })
  }

  removeChild(report: WorldReport, key: number, field?: string): ChangeMade {
    return this.#changeItems(report, key, {
      field,
      wantsItems: true,
      action: 'removeChild',
      next: (items) => {
        const at = this.#below(items.length)
        return items.filter((_, index) => index !== at)
      },
    })
  }

  clearChildren(report: WorldReport, key: number, field?: string): ChangeMade {
    return this.#changeItems(report, key, { field, wantsItems: true, action: 'clearChildren', next: () => [] })
  }

  /** Events and budgets keep the row and hide it by default; rows of the other reports disappear for good. */
  softDelete(report: WorldReport, key: number): ChangeMade {
    const target = this.#target(report, key)
    this.#deletedByUs.push(target)
    return this.#setDeleted(target, true)
  }

  undelete(report: WorldReport, key: number): ChangeMade {
    return this.#setDeleted(this.#target(report, key), false)
  }

  insert(report: WorldReport): ChangeMade {
    return this.#insertAt(report, this.#stamp(), 'insert')
  }

  /** A row that becomes visible now although it says that it is older: a transaction that committed late. */
  lateCommit(report: WorldReport, ageMs: number): ChangeMade {
    return this.#insertAt(report, this.#stamp() - Math.trunc(ageMs * TICKS_PER_MS), 'lateCommit')
  }

  stampFuture(report: WorldReport, key: number, ms: number): ChangeMade {
    const target = this.#target(report, key)
    const at = this.#stamp() + Math.trunc(ms * TICKS_PER_MS)
    return { ...this.#stampOwn(target, { action: 'Updated', at }), action: 'stampFuture' }
  }

  tick(report: WorldReport = WORLD_REPORTS[this.#below(WORLD_REPORTS.length)] as WorldReport): ChangeMade {
    const drawn = this.#below(100)
    const action = TICK_SHARES.find(([, upTo]) => drawn < upTo)?.[0] ?? 'edit'
    const { live, keyOf } = this.#tables[report]
    if (action === 'insert' || live.size === 0) return this.insert(report)
    if (action === 'undelete') return this.#undeleteOne(report) ?? this.insert(report)
    const row = live.slice(this.#below(live.size), 1)[0] as number
    return this[action](report, keyOf(row))
  }

  #undeleteOne(report: WorldReport): ChangeMade | undefined {
    const at = this.#deletedByUs.findIndex(({ table }) => table.report === report)
    const [target] = at < 0 ? [] : this.#deletedByUs.splice(at, 1)
    return target === undefined ? undefined : this.#setDeleted(target, false)
  }

  #insertAt(report: WorldReport, at: Ticks, action: string): ChangeMade {
    const table = this.#tables[report]
    const row = table.insert(at)
    this.#audit.record(report, row, { at, action: 'Created', payload: { source: 'live' } })
    return { report, key: table.keyOf(row), action }
  }

  #setDeleted(target: Target, deleted: boolean): ChangeMade {
    const { table, row } = target
    const flagged = table.report === 'events' || table.report === 'budgets'
    const made = this.#stampOwn(target, {
      action: deleted ? 'Deleted' : 'Restored',
      also: () => (flagged ? table.stamps.setDeleted(row, deleted) : table.stamps.setGone(row, deleted)),
    })
    return { ...made, action: deleted ? 'softDelete' : 'undelete' }
  }

  /** The row itself was edited: both stamps move. */
  #stampOwn(
    { table, row }: Target,
    edit: { action: Action; fields?: RawFields; field?: string; at?: Ticks; also?: () => void },
  ): ChangeMade {
    const at = edit.at ?? this.#stamp()
    table.change(
      row,
      () => {
        table.stamps.setModified(row, at)
        table.stamps.setAggregate(row, at)
        edit.also?.()
      },
      edit.fields,
    )
    this.#audit.record(table.report, row, {
      at,
      action: edit.action,
      payload: { source: 'live', changes: edit.fields ?? {} },
    })
    const made = { report: table.report, key: table.keyOf(row), action: 'edit' }
    return edit.field === undefined ? made : { ...made, field: edit.field }
  }

  #changeItems(
    report: WorldReport,
    key: number,
    change: {
      field: string | undefined
      wantsItems: boolean
      action: string
      next: (items: readonly string[], table: Table, field: string) => readonly string[]
    },
  ): ChangeMade {
    const { table, row } = this.#target(report, key)
    const field = change.field ?? this.#collectionOf({ table, row }, change.wantsItems)
    const items = table.collections.items(row, field)
    const isOne = table.collections.kinds.find((kind) => kind.field === field)?.kind === 'one'
    // A child edit of a row without children becomes a first child, so that the stamp never moves for nothing.
    const barren = change.wantsItems && items.length === 0
    const next = barren ? [table.collections.freshItem(field, this.#draw())] : change.next(items, table, field)
    table.collections.set(row, field, isOne ? next.slice(-1) : next)
    const at = this.#stamp()
    table.change(row, () => {
      if (report !== 'events') table.stamps.setModified(row, at)
      table.stamps.setAggregate(row, at)
    })
    this.#audit.record(report, row, { at, action: 'Updated', payload: { source: 'live', collection: field } })
    return { report, key, action: change.action, field }
  }

  /** A collection of the row, one that has items where the change needs some. */
  #collectionOf({ table, row }: Target, wantsItems: boolean): string {
    const fields = table.collections.kinds.map((kind) => kind.field)
    const fitting = wantsItems ? fields.filter((field) => table.collections.items(row, field).length > 0) : fields
    const among = fitting.length > 0 ? fitting : fields
    return among[this.#below(among.length)] as string
  }

  /** A field that an edit may change, with a value that it does not have. */
  #newValue({ table, row }: Target): [string, string] {
    const names = Object.keys(table.model.editable)
    const field = names[this.#below(names.length)] as string
    const old = table.texts.field(row, field)
    let raw = table.model.editable[field]?.(this.#draw()) ?? 'null'
    for (let attempt = 0; raw === old && attempt < 20; attempt += 1)
      raw = table.model.editable[field]?.(this.#draw()) ?? 'null'
    return [field, raw]
  }

  #target(report: WorldReport, key: number): Target {
    const table = this.#tables[report]
    const row = table.rowOf(key)
    if (row === undefined) {
      throw new SyncError('USAGE_INVALID', `the sandbox has no ${report} row ${key}`, {
        cure: 'Take a key from world.keys(report).',
      })
    }
    return { table, row }
  }

  /** The clock has microseconds; the seventh digit is drawn. */
  #stamp(): Ticks {
    return this.#now() + this.#below(10)
  }

  #below(limit: number): number {
    return limit <= 1 ? 0 : uniformInt(this.#random, 0, limit - 1)
  }

  #draw(): number {
    return uniformInt(this.#random, 0, 0x7fffffff)
  }
}

const nextRevision = (item: string): string =>
  item.replace(/"revision":(\d+)/, (_, count: string) => `"revision":${Number(count) + 1}`)

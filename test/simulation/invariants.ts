/**
 * What must be true at every commit, whatever went wrong before. Each look is one statement right behind the COMMIT,
 * held against what the model showed up to that moment.
 */
import type { Micros, ModelRecord, Version } from './model/record.ts'
import { ROWS } from './model/rows.ts'
import type { World } from './model/world.ts'
import { type Asking, asks, type Recorded, type Scenario } from './scenario.ts'

type Rows = <T>(sql: string) => Promise<T[]>

/** A row with what the look adds to each: the marks of its report. */
interface Seen {
  readonly marks: readonly { readonly name: string; readonly scope: string; readonly value: number | bigint }[] | null
  /** Whose the newest load is. */
  readonly load: number | null
  readonly run: string | null
  /** The runs that hold the report, of each kind. */
  readonly holders: readonly string[] | null
  readonly target_currency?: string
  /** Absent until the first load has brought the column. */
  readonly revision?: number
  readonly is_deleted: boolean | null
  readonly _observed_at?: Date
  readonly [key: string]: unknown
}

interface Held {
  readonly revision: number
  readonly deleted: boolean
  readonly observedMs: number
}

interface Mark {
  readonly name: string
  readonly scope: string
  readonly value: number
}

/** Two minutes until a response begins, and whole seconds. */
const LONGEST_ANSWER_MS = 122_000

type Scopes = Map<string, Map<number, Held>>

export class Invariants {
  /** What was found to be broken, first one first. */
  readonly broken: string[] = []
  looks = 0
  readonly #world: World
  readonly #scenario: Scenario
  readonly #marks = new Map<string, number>()
  /** What was held at the last look. */
  readonly #held = new Map<string, ReadonlyMap<number, Held>>()
  /** Every question so far: what all of them brought must be there at every moment, the rest at quiet. */
  readonly #asked = new Set<Asking>()
  /** Runs that were seen to have lost their report to a newer run, with their last load. */
  readonly #overtaken = new Map<string, number>()

  constructor(world: World, scenario: Scenario) {
    this.#world = world
    this.#scenario = scenario
  }

  /** A run begins that asks this. */
  willAsk(asking: Asking): void {
    this.#asked.add(asking)
  }

  /** One statement: whatever columns the table has by now. */
  async look(report: Recorded, rows: Rows): Promise<void> {
    this.looks += 1
    const seen = await rows<Seen>(lookSql(report))
    const { now } = this.#world
    const held = this.#rowsOf(report, seen)
    for (const [scope, inScope] of held) {
      this.#deletes(report, scope, inScope)
      this.#staysNewest(report, scope, inScope)
    }
    this.#lookAtFences(report, seen[0])
    const marks = (seen[0]?.marks ?? []).map((mark) => ({ ...mark, value: Number(mark.value) }))
    this.#lookAtMarks(report, marks, now)
    for (const { scope, value } of marks) {
      this.#durable(report, scope, { held: held.get(scope) ?? new Map(), mark: value, now })
    }
  }

  /** After a run: no child is held twice, none without its parent. */
  async lookAtChildren(rows: Rows): Promise<void> {
    const looks = this.#world.recorded.flatMap(childLooks)
    for (const { what, key } of await rows<{ what: string; key: number }>(looks.join(' UNION ALL '))) {
      this.#break(`4: ${what} ${key}`)
    }
  }

  #rowsOf(report: Recorded, seen: readonly Seen[]): Scopes {
    const held: Scopes = new Map()
    for (const row of seen) {
      if (row.is_deleted === null) continue
      const scope = row.target_currency ?? ''
      const key = Number(row[ROWS[report].keyColumn])
      const inScope = held.get(scope) ?? new Map<number, Held>()
      if (inScope.has(key)) this.#break(`4: ${report} ${scope} ${key} is there twice`)
      held.set(
        scope,
        inScope.set(key, {
          revision: row.revision ?? 0,
          deleted: row.is_deleted,
          observedMs: row._observed_at?.getTime() ?? 0,
        }),
      )
    }
    return held
  }

  #lookAtMarks(report: Recorded, marks: readonly Mark[], now: Micros): void {
    const held = new Map(marks.map(({ name, scope, value }) => [`${report} ${scope} ${name}`, value]))
    for (const [name, before] of this.#marks) {
      if (!name.startsWith(`${report} `)) continue
      const value = held.get(name)
      if (value === undefined || value < before) this.#break(`3: ${name} went back from ${before} to ${value}`)
    }
    for (const [name, value] of held) {
      if (value > now) this.#break(`3: ${name} is ${value - now} µs ahead of the service's clock`)
      this.#marks.set(name, value)
    }
  }

  /** Checks that no version is replaced by one that was observed long before it was asked for. */
  #staysNewest(report: Recorded, scope: string, held: ReadonlyMap<number, Held>): void {
    const place = `${report} ${scope}`
    const before = this.#held.get(place)
    this.#held.set(place, held)
    const longMs = this.#scenario.settleMs + LONGEST_ANSWER_MS
    for (const [key, { revision, observedMs }] of held) {
      const was = before?.get(key)
      if (was !== undefined && revision < was.revision && observedMs < was.observedMs - longMs)
        this.#break(`10: ${place} ${key}: revision ${was.revision} gave way to ${revision}, which was read long before`)
    }
  }

  /** A row is only ever marked as deleted when the model had deleted it. */
  #deletes(report: Recorded, scope: string, held: ReadonlyMap<number, Held>): void {
    for (const [key, { revision, deleted }] of held) {
      if (!deleted) continue
      const record = this.#world.records[report].get(key)
      const version = record?.versions.find((each) => each.revision === revision)
      // The summary shape has no flag: what was known of the deletion before stays.
      const { faults } = this.#scenario
      const tells = report === 'events' && !faults.has('shapeSwitched') && !faults.has('summaryShape')
      const wasDeleted = tells ? version?.deleted : record?.versions.some((each) => each.deleted)
      if (wasDeleted !== true) {
        this.#break(`5: ${report} ${scope} ${key} is marked as deleted at version ${revision}, and never was`)
      }
    }
  }

  /** Everything up to the mark is there, at the version that was shown up to then, or a newer one. */
  #durable(
    report: Recorded,
    scope: string,
    { held, mark, now }: { held: ReadonlyMap<number, Held>; mark: Micros; now: Micros },
  ): void {
    for (const record of this.#world.records[report].values()) {
      const version = record.versions.findLast((each) => each.committedAt <= mark && each.foundAt <= mark)
      if (version === undefined || version.broken === 'no key' || version.isBeyond === true) continue
      if (report === 'enquiries' && version.deleted) continue
      if (hasMovedOn(report, record, { version, mark, now })) continue
      if (![...this.#asked].every((asking) => asks(asking, report, { record, version }))) continue
      const row = held.get(record.key)
      if (row === undefined || row.revision < version.revision) {
        if (this.#mayBeHidden(report, scope, version)) continue
        const held = row === undefined ? 'is in no table' : `has version ${row.revision}`
        this.#break(
          `2: key ${record.key} of ${`${report} ${scope}`.trim()} ${held}; mark ${time(mark)}; the service had ${versionsText(record)}`,
        )
      }
    }
  }

  /** In an old span of a bare array that rows entered and left meanwhile: only a reconcile is sure to find a row. */
  #mayBeHidden(report: Recorded, scope: string, version: Version): boolean {
    const { overlapMs } = this.#scenario
    const { crossings, records } = this.#world
    return report !== 'enquiries' && crossings.mayHide({ report, scope, overlapMs }, version, records[report].values())
  }

  /** What a run that was overtaken still wanted to commit must have been refused. */
  #lookAtFences(report: Recorded, seen: Seen | undefined): void {
    if (seen?.run == null || seen.load === null) return
    const { run, load, holders } = seen
    const place = `${report} ${run}`
    if (load > (this.#overtaken.get(place) ?? load))
      this.#break(`9: ${place} committed load ${load} when a newer run held the report`)
    else if (holders?.includes(run) !== true) this.#overtaken.set(place, load)
  }

  #break(what: string): void {
    this.broken.push(what)
  }
}

function lookSql(report: Recorded): string {
  const columns = [ROWS[report].keyColumn, 'target_currency', 'revision', 'is_deleted', '_observed_at'].map(
    (column) => `'${column}'`,
  )
  return `
    SELECT m.marks, l.load, l.run, f.holders, r.* FROM (
      SELECT list({ name: mark, scope: scope, value: epoch_us(value) }) AS marks FROM tidemark.marks WHERE report = '${report}'
    ) m CROSS JOIN (
      SELECT max(load_id) AS load, arg_max(run_id, load_id) AS run FROM tidemark.loads WHERE report = '${report}'
    ) l CROSS JOIN (
      SELECT list(holder) AS holders FROM tidemark.fences WHERE report = '${report}'
    ) f LEFT JOIN (SELECT COLUMNS(c -> c IN (${columns.join(', ')})) FROM main.${report}) r ON true`
}

function childLooks(report: Recorded): string[] {
  const { keyColumn, collections } = ROWS[report]
  const key = report === 'budgets' ? `${keyColumn}, target_currency` : keyColumn
  return collections.flatMap(({ table }) => [
    `SELECT 'orphan in ${table}' AS what, ${keyColumn} AS key FROM main.${table} ANTI JOIN main.${report} USING (${key})`,
    `SELECT 'child twice in ${table}', any_value(${keyColumn}) FROM main.${table} GROUP BY ${key}, _child_key HAVING count(*) > 1`,
  ])
}

const time = (micros: Micros | undefined): string =>
  micros === undefined ? 'never' : new Date(micros / 1_000).toISOString()

const versionsText = ({ versions }: ModelRecord): string =>
  versions
    .map(({ revision, stamp, committedAt, deleted, broken }) =>
      [
        `version ${revision} with stamp ${time(stamp)} since ${time(committedAt)}`,
        deleted ? 'deleted' : '',
        broken ?? '',
      ]
        .join(' ')
        .trim(),
    )
    .join(', ')

/** Whether a newer version took the record out of reach of the windows that the mark vouches for. */
function hasMovedOn(
  report: Recorded,
  record: ModelRecord,
  at: { version: Version; mark: Micros; now: Micros },
): boolean {
  return record.versions.some((each) => {
    if (each.revision <= at.version.revision || each.committedAt > at.now) return false
    if (each.broken !== undefined || (report === 'enquiries' && each.deleted)) return true
    return each.foundAt > at.mark
  })
}

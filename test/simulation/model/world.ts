/**
 * The service's data and how it changes: records are added, edited, deleted and undeleted, in time and late, alone and
 * in heaps. Everything is drawn from the seed.
 */
import type { Chance } from '../chance.ts'
import type { FaultSource } from '../faults.ts'
import { COMPANIES, type Recorded, type Scenario } from '../scenario.ts'
import { EPOCH_MS, type Timeline } from '../timeline.ts'
import { Crossings } from './crossings.ts'
import { type Child, type Micros, type ModelRecord, newestOf, type Version } from './record.ts'

export type Records = ReadonlyMap<number, ModelRecord>

/** Where a record's history before the simulation may begin. */
const PAST_DAYS = 20
const DAY_MICROS = 86_400 * 1_000_000
const SECOND_MICROS = 1_000_000
/** Walks of a heap of more pages than that, while rows change, send more requests than a run may. */
const HEAP_PAGES_MAX = 100
/** Share of the overlap that a late commit takes at most: the answer's clock is up to a second and a way old. */
const LATEST_SHARE = 0.9
const FUTURE_S_MAX = 7_200
const REMARKS = [null, null, '', 'plain', 'quote " and \\ backslash', 'ünï — 日本', 'line\nbreak', '{"not":"json"}']
const AMOUNTS = [
  '0',
  '-0.5',
  '12.50',
  '99999999999999999.123456789',
  '0.000000001',
  '1e3',
  '123456789012345678901234567.5',
]

export class World {
  readonly records: Readonly<Record<Recorded, Map<number, ModelRecord>>>
  /** Latest stamp or commit of anything: what the quiet end has to wait for. */
  latest: Micros = 0
  /** Times in which events came in the summary shape. */
  readonly summaryTimes: { readonly from: Micros; until: Micros }[] = []
  changes = 0
  readonly crossings = new Crossings()
  /** The wrong totals that were returned, by the request without its page number. */
  readonly wrongTotals = new Map<string, Set<number>>()
  readonly #scenario: Scenario
  readonly #chance: Chance
  readonly #faults: FaultSource
  readonly #timeline: Timeline
  #revision = 0
  #key = 0
  #hotKeys = new Map<Recorded, number>()
  #hotAt: Micros
  /** A service that gains a row at every request of a walk is never read to its end. */
  readonly #changesMax = 150

  constructor(scenario: Scenario, parts: { chance: Chance; faults: FaultSource; timeline: Timeline }) {
    this.#scenario = scenario
    this.#chance = parts.chance
    this.#faults = parts.faults
    this.#timeline = parts.timeline
    this.records = { events: new Map(), budgets: new Map(), enquiries: new Map() }
    this.#hotAt = this.now
    for (const report of this.recorded) {
      for (let row = 0; row < scenario.rows; row += 1) this.#bear(report, this.now - this.#pastMicros())
      if (this.#faults.strikes('heap', 1)) this.heap(report, this.now - this.#chance.pick([0, this.#pastMicros()]))
    }
  }

  get recorded(): Recorded[] {
    return this.#scenario.reports.filter((report) => report !== 'enquiry_audit_entries')
  }

  get now(): Micros {
    return (EPOCH_MS + Math.floor(this.#timeline.nowMs)) * 1_000
  }

  /** Changes something, somewhere. */
  change(): void {
    const report = this.#chance.pick(this.recorded)
    const draw = this.#chance.next()
    if (draw < 0.3) this.#bear(report, this.now)
    else if (draw < 0.33 && this.#scenario.heapMax <= 20 && this.#faults.strikes('heap', 1)) this.heap(report)
    else if (draw < 0.8) this.edit(report)
    else this.deleteOrUndelete(report)
  }

  /** What happens while pages are read: only the kinds that the seed drew. */
  disturb(): void {
    this.#catchUpHotRows()
    const unrest = this.#scenario.unrest
    const grows = this.changes < this.#changesMax && this.#faults.strikes('insertWhileReading', unrest)
    if (grows) this.#bear(this.#chance.pick(this.recorded), this.now)
    if (this.#faults.strikes('editWhileReading', unrest)) this.edit(this.#chance.pick(this.recorded))
    if (this.#faults.strikes('deleteWhileReading', unrest)) this.deleteOrUndelete(this.#chance.pick(this.recorded))
    if (this.#faults.strikes('driftWithoutStamp', unrest)) this.#drift()
  }

  /** Many rows at one instant, as a bulk import leaves them. */
  heap(report: Recorded, at = this.now): void {
    const { clamp, heapMax } = this.#scenario
    const max = clamp === undefined ? heapMax : Math.min(heapMax, clamp * HEAP_PAGES_MAX)
    const count = max > 20 ? this.#chance.int(max / 2, max) : this.#chance.int(3, max)
    for (let row = 0; row < count; row += 1) this.#bear(report, at, 'heap')
  }

  edit(report: Recorded, record = this.#settled(report)): void {
    if (record === undefined) return
    const { now } = this
    const before = newestOf(record)
    const isChild = this.#chance.happens(0.3)
    const isBack = this.#faults.strikes('stampsBack', 0.4)
    const stamp = isBack ? now - this.#pastMicros() : this.#stamp(now)
    const isOwnBack = isBack && this.#chance.happens(0.5)
    const gone = this.#faults.strikes('childrenGone', 0.4)
    const children = gone ? { many: [], unnamed: [], one: null } : this.#children(before)
    const content = isChild && report === 'events' ? children : { ...this.#content(), ...children }
    const ownStamp = isChild && report === 'events' ? before.ownStamp : isOwnBack ? stamp : now
    this.#add(report, record, {
      ...before,
      ...content,
      broken: this.#broken(['wrong type']),
      stamp,
      ownStamp,
      deleted: before.deleted,
    })
  }

  deleteOrUndelete(report: Recorded): void {
    const record = this.#settled(report)
    if (record === undefined) return
    const before = newestOf(record)
    // With any fault, a deletion undone without a new stamp is in no window, as docs/PROOFS.md says.
    this.#add(report, record, { ...before, stamp: this.now, ownStamp: this.now, deleted: !before.deleted })
  }

  /**
   * The quiet end begins: events that may only have been seen in the summary shape are edited once more. One after the
   * other: at one instant they would be a heap, which no seed draws together with each way to end its pages.
   */
  mend(): void {
    if (this.summaryTimes.length === 0) return
    for (const record of this.records.events.values()) {
      this.#timeline.pass(1)
      this.edit('events', record)
    }
  }

  /** Shows an enquiry days after it was created: no window asks for it. */
  showLate(): void {
    this.#bear('enquiries', this.now - 5 * DAY_MICROS, 'beyond')
  }

  deleteEnquiry(): void {
    const alive = [...this.records.enquiries.values()].find((record) => !newestOf(record).deleted)
    if (alive !== undefined) this.#add('enquiries', alive, { ...newestOf(alive), deleted: true })
  }

  #bear(report: Recorded, at: Micros, where?: 'heap' | 'beyond'): void {
    this.#key += 1
    const isPast = at < this.now - SECOND_MICROS
    const neverModified = report === 'enquiries' && this.#chance.happens(0.4)
    const record: ModelRecord = {
      key: this.#key,
      company: this.#chance.pick(COMPANIES),
      created: isPast && where !== 'beyond' && this.#isUndated(report) ? undefined : at,
      versions: [],
      drift: 0,
      entries: [],
    }
    const stamp = where === 'heap' || isPast ? at : this.#stamp(at)
    this.records[report].set(record.key, record)
    this.#add(report, record, {
      revision: 0,
      stamp: neverModified ? undefined : stamp,
      ownStamp: neverModified ? undefined : at,
      committedAt: isPast && where !== 'beyond' ? at : 0,
      ...(where === 'beyond' ? { isBeyond: true } : {}),
      deleted: report !== 'enquiries' && this.#chance.happens(0.1),
      broken: this.#broken(['no key', 'wrong type']),
      ...this.#content(),
      ...this.#children(),
    })
  }

  /** Adds a version, shown from now on or, with the fault, some time later. */
  #add(report: Recorded, record: ModelRecord, version: Omit<Version, 'foundAt'>): void {
    this.#revision += 1
    this.changes += 1
    const { now } = this
    const isPast = version.committedAt !== 0 && record.versions.length === 0
    const before = record.versions.at(-1)
    // Behind a stamp in the future an older one that comes late is not the newest version, by its own stamp.
    const mayBeLate = !isPast && !version.deleted && (before?.stamp ?? 0) <= now
    const late = mayBeLate && this.#faults.strikes('lateCommit', 0.4) ? this.#lateMicros() : 0
    const committedAt = isPast ? version.committedAt : now + late
    const stamps = [version.stamp ?? record.created ?? 0]
    if (report === 'events' && version.ownStamp !== undefined && version.ownStamp !== before?.ownStamp)
      stamps.push(version.ownStamp)
    // By a stamp from before the edit no window finds it. (The minimum of no stamp is infinite.)
    const found = stamps.filter((stamp) => isPast || stamp >= now)
    record.versions.push({ ...version, revision: this.#revision, committedAt, foundAt: Math.min(...found) })
    this.latest = Math.max(this.latest, committedAt, version.stamp ?? 0)
    if (report !== 'enquiries') return
    const entry = {
      at: isPast ? committedAt : now,
      shownFrom: committedAt,
      userId: this.#chance.int(1, 3),
      action: record.versions.length === 1 ? 'Created' : 'Updated',
    }
    record.entries.push(entry)
    // Entries have no identifier: two equal ones at one instant are two.
    if (this.#chance.happens(0.2)) record.entries.push(entry)
  }

  /**
   * Some enquiries are from before the service kept creation times. Totals with and without bounds, asked one after the
   * other, tell that they are there: totals that lie, or rows that come and go at each request, can hide them.
   */
  #isUndated(report: Recorded): boolean {
    const hides = (['totalLies', 'insertWhileReading', 'deleteWhileReading'] as const).some((fault) =>
      this.#faults.drawn.has(fault),
    )
    return report === 'enquiries' && !hides && this.#chance.happens(0.05)
  }

  #lateMicros(): Micros {
    return Math.floor(this.#chance.next() * LATEST_SHARE * this.#scenario.overlapMs) * 1_000
  }

  #stamp(now: Micros): Micros {
    if (!this.#faults.strikes('futureStamp', 0.2)) return now
    return now + this.#chance.int(1, FUTURE_S_MAX) * SECOND_MICROS
  }

  /** A record whose newest version is shown already: edits of one record come one after the other. */
  #settled(report: Recorded): ModelRecord | undefined {
    const { now } = this
    const settled = [...this.records[report].values()].filter((record) => newestOf(record).committedAt <= now)
    return settled.length === 0 ? undefined : this.#chance.pick(settled)
  }

  /** The hot row of each report is edited once for every second that has passed. */
  #catchUpHotRows(): void {
    const { now } = this
    if (!this.#faults.has('hotRow')) return
    if (now - this.#hotAt < SECOND_MICROS) return
    this.#hotAt = now
    for (const report of this.recorded) {
      const [first] = this.records[report].keys()
      const key = this.#hotKeys.get(report) ?? first
      const record = key === undefined ? undefined : this.records[report].get(key)
      if (record === undefined || newestOf(record).committedAt > now) continue
      this.#hotKeys.set(report, record.key)
      this.#faults.tally.add('hotRow')
      this.edit(report, record)
    }
  }

  /** Rates change: every amount is another one from now on, without a new stamp. */
  driftAll(): void {
    for (const record of this.records.budgets.values()) record.drift += 1
  }

  #drift(): void {
    const record = this.#settled('budgets')
    if (record !== undefined) record.drift += 1
  }

  #pastMicros(): Micros {
    return Math.floor(this.#chance.next() * PAST_DAYS * DAY_MICROS)
  }

  /** A row that had a key keeps it: without one it would look like a row that is gone. */
  #broken(ways: readonly NonNullable<Version['broken']>[]): Version['broken'] {
    return this.#faults.strikes('malformedRows', 0.15) ? this.#chance.pick(ways) : undefined
  }

  #content(): Pick<Version, 'title' | 'count' | 'amount' | 'remark'> {
    const chance = this.#chance
    return {
      title: `Title ${chance.int(1, 999)}`,
      count: chance.int(0, 500),
      amount: chance.happens(0.2) ? chance.pick(AMOUNTS) : `${chance.int(-500, 9_999)}.${chance.int(0, 99)}`,
      remark: chance.pick(REMARKS),
    }
  }

  #children(before?: Version): Pick<Version, 'many' | 'unnamed' | 'one'> {
    const chance = this.#chance
    const kept = before?.many.filter(() => chance.happens(0.7)) ?? []
    const fresh = Array.from({ length: chance.int(0, 2) }, () => this.#child(this.#key * 100 + chance.int(1, 99)))
    const many = [...new Map([...kept, ...fresh].map((child) => [child.id, child])).values()]
    return {
      many: chance.shuffled(many),
      unnamed: Array.from({ length: chance.int(0, 2) }, () => this.#child()),
      one: chance.happens(0.4) ? this.#child() : null,
    }
  }

  #child(id?: number): Child {
    const child = {
      label: `label ${this.#chance.int(1, 9)}`,
      size: `${this.#chance.int(0, 20)}.${this.#chance.int(1, 9)}`,
    }
    return id === undefined ? child : { id, ...child }
  }
}

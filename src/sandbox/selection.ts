/**
 * Which rows a request asks for (spec §4). A window alone is a slice of the index and costs nothing to page through;
 * other filters are a scan, remembered until the report changes so that a walk of many pages scans once.
 */
import type { ReportRequest, Value } from './validate.ts'
import type { OrderedIndex, Range } from './orderedIndex.ts'
import type { Table } from './table.ts'
import type { Ticks } from './ticks.ts'

export interface Selection {
  readonly count: number
  slice(start: number, count: number): readonly number[]
}

type Test = (row: number) => boolean

interface Bounds {
  readonly since: Ticks
  readonly until: Ticks
}

const EARLIEST = -Number.MAX_VALUE
const REMEMBERED_MAX = 16

/** Filters that compare one attribute with the value asked for; the attribute's name where it differs. */
const EQUALS: Readonly<Record<string, string>> = {
  companyId: 'companyId',
  eventId: 'eventId',
  formId: 'formId',
  affiliateId: 'affiliateId',
  bookerEmail: 'bookerEmail',
  bookerCompany: 'bookerCompany',
  bookerName: 'bookerName',
  status: 'status',
  bookingTypes: 'bookingType',
}

export class Selections {
  readonly #table: Table
  readonly #remembered = new Map<string, Selection>()
  #version = -1

  constructor(table: Table) {
    this.#table = table
  }

  find(request: ReportRequest): Selection {
    const table = this.#table
    const index = request.values.get('includeDeleted') === true ? table.all : table.live
    const bounds = boundsOf(request.values)
    const key = request.values.get(table.model.keyField)
    if (key !== undefined) return this.#single(key as number, { index, bounds, tests: this.#tests(request.values) })
    const tests = this.#tests(request.values)
    if (bounds === undefined && tests.length === 0) return rangeOf(index, { start: 0, count: index.size })
    const range = bounds === undefined ? { start: 0, count: index.size } : index.range(bounds.since, bounds.until)
    if (tests.length === 0 && !this.#mayMatchBySecondStamp(bounds, index, range)) return rangeOf(index, range)
    return this.#remember(keyOf(request), () =>
      listOf(
        [...index.slice(range.start, range.count), ...this.#bySecondStamp(bounds, index)].filter((row) =>
          tests.every((test) => test(row)),
        ),
      ),
    )
  }

  #single(
    key: number,
    { index, bounds, tests }: { index: OrderedIndex; bounds: Bounds | undefined; tests: readonly Test[] },
  ): Selection {
    const row = this.#table.rowOf(key)
    if (row === undefined || !this.#isIn(index, row)) return listOf([])
    const matches = (bounds === undefined || this.#inWindow(row, bounds)) && tests.every((test) => test(row))
    return listOf(matches ? [row] : [])
  }

  #isIn(index: OrderedIndex, row: number): boolean {
    const { stamps, all } = this.#table
    return !stamps.isGone(row) && (index === all || !stamps.isDeleted(row))
  }

  /** Events: either stamp in the window will do (spec §4, rule of the events report). */
  #inWindow(row: number, { since, until }: Bounds): boolean {
    const { stamps, byRecord } = this.#table
    const inside = (at: Ticks): boolean => at >= since && at <= until
    return inside(stamps.aggregate(row)) || (byRecord !== undefined && inside(stamps.modified(row)))
  }

  #mayMatchBySecondStamp(bounds: Bounds | undefined, index: OrderedIndex, range: Range): boolean {
    const { byRecord } = this.#table
    if (bounds === undefined || byRecord === undefined || range.count === index.size) return false
    return range.start + range.count < index.size && byRecord.range(bounds.since, bounds.until).count > 0
  }

  /** Rows whose own stamp is in the window although their aggregate stamp is not. */
  #bySecondStamp(bounds: Bounds | undefined, index: OrderedIndex): readonly number[] {
    const { byRecord, stamps } = this.#table
    if (bounds === undefined || byRecord === undefined) return []
    const range = byRecord.range(bounds.since, bounds.until)
    return byRecord.slice(range.start, range.count).filter((row) => {
      const aggregate = stamps.aggregate(row)
      return (aggregate < bounds.since || aggregate > bounds.until) && this.#isIn(index, row)
    })
  }

  #tests(values: ReadonlyMap<string, Value>): Test[] {
    const table = this.#table
    const tests: Test[] = []
    for (const [name, wanted] of values) {
      const test = name === table.model.keyField ? undefined : this.#test(name, wanted)
      if (test !== undefined) tests.push(test)
    }
    return tests
  }

  #test(name: string, wanted: Value): Test | undefined {
    const { stamps } = this.#table
    const compare =
      (attribute: string, test: (value: unknown) => boolean): Test =>
      (row) =>
        test(this.#table.attribute(row, attribute))
    const equals = EQUALS[name]
    if (equals !== undefined) return compare(equals, sameAs(wanted))
    switch (name) {
      case 'affiliateGroupId':
        return compare(this.#table.report === 'events' ? 'affiliateId' : 'affiliateGroupId', sameAs(wanted))
      case 'onlyDefaultBudget':
        return wanted === true ? compare('isDefault', (value) => value === true) : undefined
      case 'createdSince':
        return (row) => stamps.created(row) >= Number(wanted)
      case 'createdUntil':
        return (row) => stamps.created(row) <= Number(wanted)
      case 'startDate':
        return compare('startTicks', (value) => Number(value) >= Number(wanted))
      case 'endDate':
        return compare('endTicks', (value) => Number(value) <= Number(wanted))
      default:
        return undefined
    }
  }

  #remember(key: string, find: () => Selection): Selection {
    if (this.#version !== this.#table.version || this.#remembered.size >= REMEMBERED_MAX) this.#remembered.clear()
    this.#version = this.#table.version
    const known = this.#remembered.get(key)
    if (known !== undefined) return known
    const found = find()
    this.#remembered.set(key, found)
    return found
  }
}

/** The same for every page of a walk. */
function keyOf({ values }: ReportRequest): string {
  return JSON.stringify([...values].filter(([name]) => !name.startsWith('page')))
}

/** Text filters ignore case, as a database's usual collation does; an array means any of its values. */
function sameAs(wanted: Value): (value: unknown) => boolean {
  if (Array.isArray(wanted)) return (value) => wanted.includes(value)
  if (typeof wanted !== 'string') return (value) => value === wanted
  const lower = wanted.toLowerCase()
  return (value) => typeof value === 'string' && value.toLowerCase() === lower
}

/** Undefined without a modification filter: then rows that were never edited belong to the answer too. */
function boundsOf(values: ReadonlyMap<string, Value>): Bounds | undefined {
  const since = values.get('modifiedSince')
  const until = values.get('modifiedUntil')
  if (since === undefined && until === undefined) return undefined
  return { since: Number(since ?? EARLIEST), until: Number(until ?? Number.MAX_VALUE) }
}

const rangeOf = (index: OrderedIndex, range: Range): Selection => ({
  count: range.count,
  slice: (start, count) => index.slice(range.start + start, Math.max(0, Math.min(count, range.count - start))),
})

const listOf = (rows: readonly number[]): Selection => ({
  count: rows.length,
  slice: (start, count) => rows.slice(start, start + count),
})

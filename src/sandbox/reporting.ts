/** Responds to an authenticated and validated report request: selects the rows and writes one page (spec §4). */
import { type Answer, forbidden, json, plainStatus } from './answer.ts'
import { aggregatesOf, type TrailEntry } from './auditTrail.ts'
import { draw } from './dice.ts'
import type { FaultName, Faults } from './faults.ts'
import type { Currency } from './money.ts'
import type { EventShape, Settings } from './options.ts'
import { type Page, pageOf, shuffled } from './paging.ts'
import {
  DEFINITIONS,
  ENTITY_IDS,
  isWorldReport,
  type NamedEndpoint,
  reportOfEntity,
  type WorldReport,
} from './reports/index.ts'
import { select } from './selection.ts'
import type { RawFields, Row, Table } from './table.ts'
import { formatTicks } from './ticks.ts'
import type { ReportRequest } from './validate.ts'
import type { World } from './world.ts'

type Values = ReportRequest['values']
type ReportingOptions = { readonly world: World; readonly settings: Settings; readonly faults: Faults }

export class Reporting {
  readonly #parts: ReportingOptions
  #requests = 0

  constructor(parts: ReportingOptions) {
    this.#parts = parts
  }

  answer(endpoint: NamedEndpoint, request: ReportRequest, enquiryId: number | undefined): Answer {
    this.#requests += 1
    const { report } = endpoint
    return isWorldReport(report) ? this.#rows(report, endpoint, request) : this.#audit(endpoint, request, enquiryId)
  }

  #rows(report: WorldReport, endpoint: NamedEndpoint, request: ReportRequest): Answer {
    const rows = select(this.#parts.world.tables[report], request.values)
    const page = pageOf(
      { values: request.values, total: rows.length, limits: this.#parts.settings, report },
      this.#parts.faults,
    )
    const refused = page.isBeyond ? this.#parts.faults.takeNumber('beyond', report) : undefined
    if (refused !== undefined) return json(refused, { title: 'There is no such page', status: refused })
    const write = this.#writer(report, request)
    const items = this.#onPage(rows, page, report).map(write)
    if (page.isPartial) this.#drift(report)
    return bodyOf(endpoint, items, page)
  }

  #audit(endpoint: NamedEndpoint, request: ReportRequest, enquiryId: number | undefined): Answer {
    const { values, flags } = request
    const entityId = enquiryId === undefined ? Number(values.get('entityId')) : ENTITY_IDS.enquiries
    const recordId = enquiryId ?? Number(values.get('entityRecordId'))
    const refusal = this.#refusalOf(recordId, endpoint)
    if (refusal !== undefined) return refusal
    const trail = this.#parts.world.auditEntries(entityId, recordId)
    const entries = trail.filter(isIn(values, 'since', 'until'))
    const limits = this.#parts.settings
    const page = pageOf({ values, total: entries.length, limits, report: endpoint.report }, this.#parts.faults)
    const report = reportOfEntity(entityId)
    const entityType = report === undefined ? 'Unknown' : DEFINITIONS[report].entity.type
    const items = entries.slice(page.start, page.start + page.count).map((entry) =>
      JSON.stringify({
        timestamp: formatTicks(entry.at),
        userId: entry.userId,
        ...(enquiryId === undefined ? { entityType } : {}),
        action: entry.action,
        ...(flags.has('payload') ? { payload: entry.payload } : {}),
        ...(flags.has('aggregates') ? { aggregates: aggregatesOf(trail, entry) } : {}),
      }),
    )
    return bodyOf(endpoint, items, page)
  }

  #refusalOf(recordId: number, { report }: NamedEndpoint): Answer | undefined {
    const isOf = (fault: FaultName) => Number(this.#parts.faults.peek(fault, report)) === recordId
    if (isOf('record-403') && this.#parts.faults.take('record-403', report) !== undefined)
      return forbidden('this record')
    if (isOf('record-404') && this.#parts.faults.take('record-404', report) !== undefined)
      return plainStatus(404, 'There is no such record')
    return undefined
  }

  #onPage(rows: readonly Row[], page: Page, report: WorldReport): readonly Row[] {
    const isShuffled = this.#parts.faults.take('unordered', report) !== undefined
    const onPage = isShuffled
      ? shuffled(rows.length, page, this.#requests).map((place) => rows[place] as Row)
      : rows.slice(page.start, page.start + page.count)
    const [first] = onPage
    return first === undefined || this.#parts.faults.take('duplicate-row', report) === undefined
      ? onPage
      : [...onPage, first]
  }

  #writer(report: WorldReport, { values, flags }: ReportRequest): (row: Row) => string {
    const table = this.#parts.world.tables[report]
    const currency = (values.get('targetCurrencyCode') ?? values.get('currencyCode') ?? 'EUR') as Currency
    const every = this.#parts.faults.takeNumber('bad-rows', report)
    return (row) => {
      if (every !== undefined && row.number % every === 0)
        return table.text(row, { flags, currency, damage: damageOf(table, row.number / every) })
      const isSummary = report === 'events' && hasSummaryShape(this.#parts.settings.eventShape, row)
      return isSummary ? summaryText(this.#parts.world, row, values) : table.text(row, { flags, currency })
    }
  }

  /** With the fault `drift`, changes rows between two pages of a walk, so that rows move to other pages. */
  #drift(report: WorldReport): void {
    const changes = this.#parts.faults.takeNumber('drift', report) ?? 0
    for (let i = 0; i < changes; i += 1) this.#parts.world.tick(report)
  }
}

function bodyOf({ envelope }: NamedEndpoint, items: readonly string[], page: Page): Answer {
  const { pageNumber, pageSize, totalCount } = page
  const array = `[${items.join(',')}]`
  const rest = `"pageNumber":${pageNumber},"pageSize":${pageSize},"totalCount":${totalCount}`
  return { status: 200, body: envelope ? `{"items":${array},${rest}}` : array }
}

const isIn =
  (values: Values, since: string, until: string) =>
  ({ at }: Pick<TrailEntry, 'at'>): boolean =>
    at >= Number(values.get(since)) && at <= Number(values.get(until) ?? Number.POSITIVE_INFINITY)

/** The event's number decides its shape, so that an event never changes its shape. */
const hasSummaryShape = (shape: EventShape, { number }: Row): boolean =>
  shape === 'summary' || (shape === 'mixed' && draw(17, number, 1) % 2 === 1)

/** `totalChanges` of a summary counts the audit entries within the window (spec §2). */
function summaryText(world: World, row: Row, values: Values): string {
  const entries = world.auditEntries(ENTITY_IDS.events, row.key).filter(isIn(values, 'modifiedSince', 'modifiedUntil'))
  const name = world.tables.events.raw(row, 'name') ?? 'null'
  const modifiedAt = formatTicks(row.aggregate)
  return `{"eventId":${row.key},"eventName":${name},"modifiedAt":"${modifiedAt}","totalChanges":${entries.length}}`
}

/** Each function returns the wrong fields of a damaged row. An empty text removes the field. */
const DAMAGES: readonly ((key: string, second: string, third: string) => RawFields)[] = [
  (key) => ({ [key]: '' }),
  (key) => ({ [key]: '"not a number"' }),
  (_, second) => ({ [second]: '{"unexpected":"object"}' }),
  (_, second) => ({ [second]: '"NUL \\u0000 inside"' }),
  (_, second) => ({ [second]: '"lone \\ud800 surrogate"' }),
  (_, second) => ({ [second]: `"first","${second}":"second"` }),
  (_key, _second, third) => ({ [third]: '1e400' }),
  (_key, _second, third) => ({ [third]: '"2025-02-30T25:61:00Z"' }),
  () => ({ surprise: '123456789012345678901234567890.123456789' }),
]

function damageOf(table: Table, number: number): RawFields {
  const [second = '', third = ''] = table.fields.slice(1)
  return DAMAGES[number % DAMAGES.length]?.(table.definition.key, second, third) ?? {}
}

/** Selects the rows of a report request and writes one page (spec §4). */
import { type Answer, forbidden, plainStatus } from './answer.ts'
import { aggregatesOf } from './auditTrail.ts'
import { draw } from './dice.ts'
import type { Currency } from './money.ts'
import type { SandboxState } from './options.ts'
import { type Page, pageOf, shuffled } from './paging.ts'
import type { NamedEndpoint, WorldReport } from './reports/index.ts'
import { DEFINITIONS, ENTITY_IDS, isWorldReport, reportOfEntity } from './reports/index.ts'
import type { RawFields, Row, Table, TrailEntry } from './table.ts'
import { formatTicks, parseTicks } from './ticks.ts'
import type { ReportRequest, Value } from './validate.ts'

interface RoutedRequest extends ReportRequest {
  /** The enquiry whose audit entries are requested. Undefined for other requests. */
  readonly enquiryId: number | undefined
}

export function answerReport(state: SandboxState, endpoint: NamedEndpoint, request: RoutedRequest): Answer {
  const { report } = endpoint
  return isWorldReport(report)
    ? answerRows(state, { ...endpoint, report }, request)
    : answerAudit(state, endpoint, request)
}

type RowEndpoint = NamedEndpoint & { readonly report: WorldReport }

function answerRows(state: SandboxState, { report, ...endpoint }: RowEndpoint, request: ReportRequest): Answer {
  const { world, faults, settings } = state
  const rows = select(world.tables[report], request.values)
  const page = pageOf({ values: request.values, total: rows.length, limits: settings, report }, faults)
  const refused = page.isBeyond ? faults.takeNumber('beyond', report) : undefined
  if (refused !== undefined) return plainStatus(refused, 'There is no such page')
  const isShuffled = faults.take('unordered', report) !== undefined
  const onPage = isShuffled
    ? shuffled(rows.length, page, faults.uses).map((place) => rows[place] as Row)
    : rows.slice(page.start, page.start + page.count)
  const again = onPage.length > 0 && faults.take('duplicate-row', report) !== undefined ? onPage.slice(0, 1) : []
  const items = [...onPage, ...again].map(writerOf(state, report, request))
  // With the fault `drift`, rows move to other pages after this page was read.
  const changes = page.isPartial ? (faults.takeNumber('drift', report) ?? 0) : 0
  for (let i = 0; i < changes; i += 1) world.tick(report)
  return pageAnswer(endpoint, items, page)
}

function writerOf({ world, faults, settings }: SandboxState, report: WorldReport, { values, flags }: ReportRequest) {
  const currency = (values.get('targetCurrencyCode') ?? values.get('currencyCode') ?? 'EUR') as Currency
  const every = faults.takeNumber('bad-rows', report)
  const shape = report === 'events' ? settings.eventShape : 'full'
  return (row: Row): string => {
    const isBad = every !== undefined && row.number % every === 0
    if (isBad) return row.text({ flags, currency, damage: damageOf(row, row.number / every) })
    // The row's number decides whether a row is a summary, so that its shape never changes.
    const isSummary = shape === 'summary' || (shape === 'mixed' && draw(17, row.number, 1) % 2 === 1)
    if (!isSummary) return row.text({ flags, currency })
    // `totalChanges` counts the audit entries within the window (spec §2).
    const entries = world
      .auditEntries(ENTITY_IDS.events, row.key)
      .filter(isIn(values, 'modifiedSince', 'modifiedUntil'))
    const [name, modifiedAt] = [row.raw('name') ?? 'null', formatTicks(row.aggregate)]
    return `{"eventId":${row.key},"eventName":${name},"modifiedAt":"${modifiedAt}","totalChanges":${entries.length}}`
  }
}

function answerAudit(
  { world, faults, settings }: SandboxState,
  { report, ...endpoint }: NamedEndpoint,
  { values, flags, enquiryId }: RoutedRequest,
): Answer {
  const entityId = enquiryId === undefined ? Number(values.get('entityId')) : ENTITY_IDS.enquiries
  const recordId = enquiryId ?? Number(values.get('entityRecordId'))
  const isOf = (fault: 'record-403' | 'record-404') =>
    Number(faults.peek(fault, report)) === recordId && faults.take(fault, report) !== undefined
  if (isOf('record-403')) return forbidden('this record')
  if (isOf('record-404')) return plainStatus(404, 'There is no such record')
  const trail = world.auditEntries(entityId, recordId)
  const entries = trail.filter(isIn(values, 'since', 'until'))
  const page = pageOf({ values, total: entries.length, limits: settings, report }, faults)
  const followed = reportOfEntity(entityId)
  const entityType = followed === undefined ? 'Unknown' : DEFINITIONS[followed].entity.type
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
  return pageAnswer(endpoint, items, page)
}

const PAGES = { number: 'pageNumber', size: 'pageSize', items: 'items', total: 'totalCount' }

function pageAnswer(
  { envelope, pages = PAGES }: Pick<NamedEndpoint, 'envelope' | 'pages'>,
  items: readonly string[],
  { pageNumber, pageSize, totalCount }: Page,
): Answer {
  const array = `[${items.join(',')}]`
  const rest = `"${pages.number}":${pageNumber},"${pages.size}":${pageSize},"${pages.total}":${totalCount}`
  return { status: 200, body: envelope ? `{"${pages.items}":${array},${rest}}` : array }
}

const isIn =
  (values: ReportRequest['values'], since: string, until: string) =>
  ({ at }: TrailEntry): boolean =>
    at >= Number(values.get(since)) && at <= Number(values.get(until) ?? Number.POSITIVE_INFINITY)

/** Ways to damage a row (fault `bad-rows`). An empty text removes the field. */
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

function damageOf({ table }: Row, number: number): RawFields {
  const [second = '', third = ''] = table.fields.slice(1)
  return DAMAGES[number % DAMAGES.length]?.(table.definition.key, second, third) ?? {}
}

type Test = (row: Row) => boolean

const NO_FILTER = new Set(['pageNumber', 'pageSize', 'targetCurrencyCode', 'currencyCode', 'includeDeleted'])

/** Returns the rows of all pages. Following pages of one answer use the same array, until a row changes. */
function select(table: Table, values: ReportRequest['values']): readonly Row[] {
  const given = [...values].filter(([name]) => !name.startsWith('page'))
  const filters = JSON.stringify(given, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value))
  if (table.selection?.filters === filters) return table.selection.rows
  const withDeleted = values.get('includeDeleted') === true
  const tests = given.map(([name, wanted]) => filterTest(table, name, wanted))
  const all = [windowTest(values), ...tests].filter((test) => test !== undefined)
  const rows = table.rows.filter((row) => (withDeleted || !row.deleted) && all.every((test) => test(row)))
  table.selection = { filters, rows }
  return rows
}

/** Compares the window with both modification times of a row, as the service does: the row's and its children's. */
function windowTest(values: ReportRequest['values']): Test | undefined {
  const [since, until] = [values.get('modifiedSince'), values.get('modifiedUntil')]
  if (since === undefined && until === undefined) return undefined
  const [from, to] = [Number(since ?? -Number.MAX_VALUE), Number(until ?? Number.MAX_VALUE)]
  return ({ modified, aggregate }) => [modified, aggregate].some((at) => at >= from && at <= to)
}

/** How each filter parameter compares a row. All other parameters test for equality. */
const COMPARISONS: Readonly<Record<string, (row: Row, wanted: Value, field: string) => boolean>> = {
  createdSince: ({ created }, wanted) => created >= Number(wanted),
  createdUntil: ({ created }, wanted) => created <= Number(wanted),
  startDate: (row, wanted, field) => ticksOfField(row, field) >= Number(wanted),
  endDate: (row, wanted, field) => ticksOfField(row, field) <= Number(wanted),
  onlyDefaultBudget: (row, wanted, field) => wanted !== true || row.value(field) === true,
}

function filterTest({ definition }: Table, name: string, wanted: Value): Test | undefined {
  const { key, comparesWith = {} } = definition
  if (NO_FILTER.has(name) || name.startsWith('modified')) return undefined
  if (name === key) return (row) => row.key === wanted || (typeof wanted === 'bigint' && row.value(key) === wanted)
  const field = comparesWith[name] ?? name
  const compare = COMPARISONS[name] ?? ((row) => matchesFilter(row.value(field), wanted))
  return (row) => compare(row, wanted, field)
}

const ticksOfField = (row: Row, field: string): number => parseTicks(String(row.value(field))) ?? Number.NaN

function matchesFilter(value: unknown, wanted: Value): boolean {
  if (Array.isArray(wanted)) return wanted.includes(value)
  if (typeof wanted !== 'string') return value === wanted
  return typeof value === 'string' && value.toLowerCase() === wanted.toLowerCase()
}

/**
 * Which rows answer a question, in which order, and which of them are on the page: with all that may be wrong with
 * that.
 */
import type { Chance } from '../chance.ts'
import type { FaultSource } from '../faults.ts'
import type { Recorded, Scenario } from '../scenario.ts'
import { type AuditEntry, type Micros, type ModelRecord, shownAt, type Version } from './record.ts'
import { type Asked, rowText, timeText } from './rows.ts'
import type { World } from './world.ts'

export interface Body {
  readonly modifiedSince?: string
  readonly modifiedUntil?: string
  readonly createdSince?: string
  readonly createdUntil?: string
  readonly since?: string
  readonly until?: string
  readonly includeDeleted?: boolean
  readonly companyId?: number
  readonly targetCurrencyCode?: string
  readonly pageNumber: number
  readonly pageSize: number
  readonly expand?: Readonly<Record<string, boolean>>
}

export interface PageParts {
  readonly world: World
  readonly scenario: Scenario
  readonly faults: FaultSource
  readonly chance: Chance
}

interface Shown {
  readonly record: ModelRecord
  readonly version: Version
}

/** The body of an answer to a report's question, as JSON text; undefined: the page is refused. */
export function answerRecords(parts: PageParts, report: Recorded, body: Body): string | undefined {
  const { world } = parts
  const { now } = world
  const shown = [...world.records[report].values()].flatMap((record): Shown[] => {
    const version = shownAt(record, now)
    return version === undefined || !matches(report, { record, version }, body) ? [] : [{ record, version }]
  })
  const summaries = report === 'events' && isSummaryTime(world)
  const askedOf = (record: ModelRecord): Asked => ({
    currency: body.targetCurrencyCode ?? '',
    summary: summaries || comesAsSummary(parts.scenario, report, record),
  })
  const expand = new Set(Object.entries(body.expand ?? {}).flatMap(([flag, on]) => (on ? [flag] : [])))
  const rows = sorted(parts, shown).map((row) =>
    rowText(report, row.record, { version: row.version, asked: askedOf(row.record), expand }),
  )
  const page = pageOf(parts, rows, body)
  if (page === undefined) return undefined
  noteCrossed(parts, report, { body, page, isOnly: rows.length <= page.size })
  if (report !== 'enquiries') return `[${page.rows.join(',')}]`
  return envelope(parts, {
    ...page,
    body,
    total: totalOf(parts, body, rows.length),
  })
}

function noteCrossed(
  { world, scenario }: PageParts,
  report: Recorded,
  { body, page, isOnly }: { body: Body; page: Page; isOnly: boolean },
): void {
  const { modifiedSince: since, modifiedUntil: until, targetCurrencyCode: scope = '' } = body
  if (body.includeDeleted !== true || isOnly || since === undefined || until === undefined) return
  const place = page.number + 1 - scenario.firstNumber
  const shown = { at: world.now, place, hasRows: page.rows.length > 0 }
  world.crossings.shows({ report, scope, since: micros(since), until: micros(until) }, shown)
}

/** The audit trail of one enquiry; undefined: the page is refused. */
export function answerEntries(parts: PageParts, enquiry: number, body: Body): string | undefined {
  const { world } = parts
  const record = world.records.enquiries.get(enquiry)
  const entries = (record?.entries ?? []).filter(
    (entry) => entry.shownFrom <= world.now && within(entry.at, body.since, body.until),
  )
  const rows = entries.map((entry) => entryText(entry, body.expand?.['payload'] === true))
  const page = pageOf(parts, rows, body)
  return page && envelope(parts, { ...page, body, total: rows.length })
}

export const entryText = ({ at, userId, action }: AuditEntry, payload: boolean): string =>
  `{"timestamp":"${timeText(at)}","userId":${userId},"action":"${action}"${payload ? `,"payload":{"by":${userId}}` : ''}}`

/** With the fault, every event has the summary shape, or in every second seed each second event. */
export const comesAsSummary = ({ faults, seed }: Scenario, report: Recorded, { key }: ModelRecord): boolean =>
  report === 'events' && faults.has('summaryShape') && (seed % 2 === 0 || key % 2 === 0)

const isSummaryTime = (world: World): boolean =>
  world.summaryTimes.some(({ from, until }) => from <= world.now && world.now < until)

/** Bounds are inclusive (spec §4, rule 1). */
function within(stamp: Micros | undefined, since: string | undefined, until: string | undefined): boolean {
  if (since === undefined && until === undefined) return true
  if (stamp === undefined) return false
  return (since === undefined || stamp >= micros(since)) && (until === undefined || stamp <= micros(until))
}

function micros(text: string): Micros {
  const [, seconds = '', fraction = ''] = /^(.{19})(?:\.(\d{1,6}))?Z$/.exec(text) ?? []
  return Date.parse(`${seconds}Z`) * 1_000 + Number(fraction.padEnd(6, '0'))
}

function matches(report: Recorded, { record, version }: Shown, body: Body): boolean {
  const { modifiedSince: since, modifiedUntil: until } = body
  if (body.companyId !== undefined && record.company !== body.companyId) return false
  if (report === 'enquiries') {
    const isCreated = within(record.created, body.createdSince, body.createdUntil)
    return !version.deleted && isCreated && within(version.stamp, since, until)
  }
  if (version.deleted && body.includeDeleted !== true) return false
  // Either of the two stamps of an event may fall in the range (spec §4, GetEventsReport).
  return within(version.stamp, since, until) || (report === 'events' && within(version.ownStamp, since, until))
}

function sorted({ scenario, faults, chance }: PageParts, rows: readonly Shown[]): readonly Shown[] {
  if (rows.length > 1 && faults.strikes('unstableOrder', 1)) return chance.shuffled(rows)
  const direction = scenario.order.endsWith('Descending') ? -1 : 1
  const by = ({ record, version }: Shown) =>
    (scenario.order.startsWith('key') ? 0 : (version.stamp ?? 0)) * 1e-3 + record.key
  return rows.toSorted((a, b) => direction * (by(a) - by(b)))
}

interface Page {
  readonly rows: readonly string[]
  readonly number: number
  readonly size: number
}

function pageOf({ scenario, faults }: PageParts, rows: readonly string[], body: Body): Page | undefined {
  let size = body.pageSize
  let number = body.pageNumber + 1 - scenario.firstNumber
  if (scenario.clamp !== undefined && size > scenario.clamp) {
    if (rows.length > scenario.clamp) faults.tally.add('pageSizeClamped')
    size = scenario.clamp
  }
  if (scenario.hiddenLimit !== undefined && faults.has('pageNumberIgnored') && size > scenario.hiddenLimit) {
    if (rows.length > scenario.hiddenLimit) faults.tally.add('hiddenLimit')
    size = scenario.hiddenLimit
  }
  const last = Math.max(1, Math.ceil(rows.length / size))
  if (number > 1 && faults.strikes('pageNumberIgnored', 1)) number = 1
  // One that counts from 0 may return a page 1 that it doesn't have, or refuse it.
  const lastThere = scenario.isStrict ? last : Math.max(last, 2 - scenario.firstNumber)
  if (number > lastThere && scenario.beyondLast === 'a refusal') return undefined
  if (number > last && scenario.beyondLast === 'the last page') number = last
  if (number < 1) return scenario.beyondLast === 'a refusal' ? undefined : { rows: [], number: 0, size }
  return { rows: rows.slice((number - 1) * size, number * size), number: number - 1 + scenario.firstNumber, size }
}

function envelope(
  { scenario }: PageParts,
  { rows, number, size, body, total }: Page & { body: Body; total: number },
): string {
  const known = scenario.echoesPageSize ? body.pageSize : size
  return `{"items":[${rows.join(',')}],"pageNumber":${number},"pageSize":${known},"totalCount":${total}}`
}

/**
 * The total in a response, which the fault makes wrong. It never becomes right where it was wrong before: a total that was
 * too low by exactly the rows that leave until the next page looks like a correct service.
 */
function totalOf({ world, faults, chance }: PageParts, body: Body, rows: number): number {
  if (!faults.has('totalLies')) return rows
  const question = JSON.stringify({ ...body, pageNumber: 0 })
  const known = world.wrongTotals.get(question) ?? new Set<number>()
  world.wrongTotals.set(question, known)
  if (faults.strikes('totalLies', 0.5)) {
    const wrong = Math.max(0, rows + chance.pick([-2, -1, 1, 3]))
    if (wrong !== rows) known.add(wrong)
    return wrong
  }
  return known.has(rows) && faults.drawn.has('deleteWhileReading') ? rows + 1 : rows
}

/**
 * How the service writes a record of each report, and in which column each of its values has to be found: written once
 * more from the specification, not taken from Tidemark's declarations.
 */
import type { Recorded } from '../scenario.ts'
import type { Child, Micros, ModelRecord, Version } from './record.ts'

export type Kind = 'number' | 'time' | 'text' | 'boolean'

/** One value of a row: where it is sent, where it has to be found, and what it is; `null` is sent as null. */
export interface Cell {
  readonly wire: string
  readonly column: string
  readonly kind: Kind
  readonly value: string | null
}

export interface Asked {
  readonly currency: string
  /** Whether events come in the summary shape. */
  readonly summary: boolean
}

export interface CollectionShape {
  readonly flag: string
  readonly wire: string
  readonly table: string
  readonly isList: boolean
  readonly of: (version: Version) => readonly Child[]
}

export interface RowShape {
  readonly keyWire: string
  readonly keyColumn: string
  readonly collections: readonly CollectionShape[]
  readonly cells: (record: ModelRecord, version: Version, asked: Asked) => readonly Cell[]
}

const number = (wire: string, column: string, value: string | number | null): Cell => ({
  wire,
  column,
  kind: 'number',
  value: value === null ? null : String(value),
})
const text = (wire: string, column: string, value: string | null): Cell => ({ wire, column, kind: 'text', value })
const time = (wire: string, column: string, value: Micros | undefined): Cell => ({
  wire,
  column,
  kind: 'time',
  value: value === undefined ? null : String(value),
})

/** Undocumented fields that rows of every report carry: a counter of versions, a text and an exact number. */
const beside = ({ revision, remark, amount }: Version): Cell[] => [
  number('revision', 'revision', revision),
  text('innerRemark', 'inner_remark', remark),
  number('exactRate', 'exact_rate', amount),
]

const list = (flag: string, table: string, of: CollectionShape['of']): CollectionShape => ({
  flag,
  wire: flag,
  table,
  isList: true,
  of,
})
const single = (version: Version): readonly Child[] => (version.one === null ? [] : [version.one])

/** Amounts are recalculated with each currency and each drift of its rate. */
export const amountIn = (record: ModelRecord, version: Version, currency: string): string => {
  if (currency === 'EUR' && record.drift === 0) return version.amount
  return `${version.count + record.drift}.${currency === 'EUR' ? 25 : 75}`
}

export const ROWS: Readonly<Record<Recorded, RowShape>> = {
  events: {
    keyWire: 'eventId',
    keyColumn: 'event_id',
    collections: [
      list('meetingRooms', 'events__meeting_rooms', (version) => version.many),
      list('assignments', 'events__assignments', (version) => version.unnamed),
      { flag: 'commissions', wire: 'commission', table: 'events__commission', isList: false, of: single },
    ],
    cells: (record, version, { summary }) =>
      summary
        ? [
            text('eventName', 'name', version.title),
            time('modifiedAt', 'aggregate_record_modified', version.stamp),
            number('totalChanges', 'total_changes', record.versions.length),
            number('revision', 'revision', version.revision),
          ]
        : [
            text('name', 'name', version.title),
            number('attendees', 'attendees', version.count),
            text('location', 'location', version.remark),
            time('recordCreated', 'record_created', record.created),
            time('recordModified', 'record_modified', version.ownStamp),
            time('aggregateRecordModified', 'aggregate_record_modified', version.stamp),
            { wire: 'isDeleted', column: 'is_deleted', kind: 'boolean', value: String(version.deleted) },
            ...beside(version),
          ],
  },
  budgets: {
    keyWire: 'budgetId',
    keyColumn: 'budget_id',
    collections: [list('costItems', 'budgets__cost_items', (version) => version.many)],
    cells: (record, version, { currency }) => [
      text('budgetName', 'budget_name', version.title),
      time('modifiedAt', 'modified_at', version.stamp),
      number('totalAmount', 'total_amount', amountIn(record, version, currency)),
      text('currencyCode', 'currency_code', currency),
      ...beside(version),
    ],
  },
  enquiries: {
    keyWire: 'enquiryId',
    keyColumn: 'enquiry_id',
    collections: [
      list('bedrooms', 'enquiries__bedrooms', (version) => version.many),
      { flag: 'approver', wire: 'approver', table: 'enquiries__approver', isList: false, of: single },
    ],
    cells: (_, version) => [
      text('bookerEmail', 'booker_email', version.title),
      text('bookerCompany', 'booker_company', version.remark),
      number('status', 'status', version.count),
      ...beside(version),
    ],
  },
}

/** The JSON text of one row. */
export function rowText(
  report: Recorded,
  record: ModelRecord,
  row: { version: Version; asked: Asked; expand: ReadonlySet<string> },
): string {
  const { version, asked, expand } = row
  const shape = ROWS[report]
  const cells = shape.cells(record, version, asked).map((cell) => asSent(report, version, cell))
  const members = cells.map(({ wire, kind, value }) => `"${wire}":${jsonOf(kind, value)}`)
  for (const { flag, wire, isList, of } of shape.collections) {
    if (asked.summary || !expand.has(flag)) continue
    const children = of(version).map(childText)
    members.push(`"${wire}":${isList ? `[${children.join(',')}]` : (children[0] ?? 'null')}`)
  }
  return `{"${shape.keyWire}":${version.broken === 'no key' ? 'null' : record.key},${members.join(',')}}`
}

/** The number of each report that is a text in a row of the wrong type. */
export const MISFITS: Readonly<Record<Recorded, string>> = {
  events: 'attendees',
  budgets: 'totalAmount',
  enquiries: 'status',
}

/** Returns the cell as the service sends it: a text in place of a number where the version is of the wrong type. */
export const asSent = (report: Recorded, { broken, revision }: Version, cell: Cell): Cell =>
  broken === 'wrong type' && cell.wire === MISFITS[report] ? { ...cell, kind: 'text', value: `odd ${revision}` } : cell

export const childText = ({ id, label, size }: Child): string =>
  `{${id === undefined ? '' : `"id":${id},`}"label":${JSON.stringify(label)},"size":${size}}`

function jsonOf(kind: Kind, value: string | null): string {
  if (value === null) return 'null'
  if (kind === 'time') return `"${timeText(Number(value))}"`
  return kind === 'text' ? JSON.stringify(value) : value
}

/** ISO 8601, with as many fractional digits as there are, and the zone left out where the number of digits is odd. */
export function timeText(micros: Micros): string {
  const seconds = new Date(Math.floor(micros / 1_000)).toISOString().slice(0, 19)
  const fraction = String(micros % 1_000_000)
    .padStart(6, '0')
    .replace(/0+$/, '')
  return `${seconds}${fraction === '' ? '' : `.${fraction}`}${fraction.length % 2 === 1 ? '' : 'Z'}`
}

/**
 * Rows of the three reports that have a booker and a status (spec §2): enquiries, automated bookings and office
 * reservations. None of them carries a modification time, so a reader cannot tell from the row when it changed.
 */
import { amountText, centsText, drawAmount } from '../decimal.ts'
import { pick } from '../draw.ts'
import type { Booker } from '../pools.ts'
import { CURRENCIES } from '../rates.ts'
import type { WorldReport } from '../reports.ts'
import { TICKS_PER_DAY } from '../ticks.ts'
import { affiliateOf, companyOf } from './events.ts'
import { Draws, FIRST_KEYS, quote, timeWriter, type Makings, type RowModel, type Stamps } from './model.ts'

interface Kind {
  readonly report: WorldReport
  readonly keyField: string
  readonly statuses: number
  readonly arrival: string
  readonly departure: string
  readonly guests: string
  readonly own: readonly string[]
}

const ENQUIRIES: Kind = {
  report: 'enquiries',
  keyField: 'enquiryId',
  statuses: 9,
  arrival: 'arrivalDate',
  departure: 'departureDate',
  guests: 'guests',
  own: ['budgetAmount', 'affiliateGroupId'],
}
const AUTOMATED: Kind = {
  report: 'automated_bookings',
  keyField: 'reservationId',
  statuses: 6,
  arrival: 'startDate',
  departure: 'endDate',
  guests: 'numberOfPeople',
  own: ['commissionRate', 'bookingType'],
}
const OFFICES: Kind = {
  report: 'office_reservations',
  keyField: 'officeReservationId',
  statuses: 5,
  arrival: 'startDate',
  departure: 'endDate',
  guests: 'seats',
  own: ['deskRate', 'bookingType'],
}

const BOOKING_TYPES = 4
const COMMON_FIELDS = 'bookerEmail bookerCompany status bookerName companyId createdAt'.split(' ')
const LATER_FIELDS = 'isVip notes reference contactPhone preferences deliveryAddress'.split(' ')

export const enquiryRows = (makings: Makings): RowModel => bookingRows(makings, ENQUIRIES)

export const officeRows = (makings: Makings): RowModel => bookingRows(makings, OFFICES)

/** Prices of automated bookings are written in the `currencyCode` of the request, which is required. */
export function automatedBookingRows(makings: Makings): RowModel {
  const draws = new Draws(makings.seed, 'automated_bookings')
  const priced: NonNullable<RowModel['priced']> = (row) => ({
    nano: drawAmount(draws.seed, row, 60),
    currency: draws.pick(CURRENCIES, row, 63),
    field: 'totalPrice',
  })
  return { ...bookingRows(makings, AUTOMATED), priced }
}

function bookingRows(makings: Makings, kind: Kind): RowModel {
  const draws = new Draws(makings.seed, kind.report)
  const source = sourceOf(makings, kind, draws)
  const first = FIRST_KEYS[kind.report]
  return {
    report: kind.report,
    keyField: kind.keyField,
    firstKey: first,
    fields: [kind.keyField, ...COMMON_FIELDS, kind.arrival, kind.departure, kind.guests, ...kind.own, ...LATER_FIELDS],
    raw: source.raw,
    attributes: {
      [kind.keyField]: (row) => first + row,
      bookerEmail: (row) => source.booker(row).email,
      bookerCompany: (row) => source.booker(row).company,
      bookerName: (row) => source.booker(row).name,
      status: source.status,
      bookingType: source.bookingType,
      companyId: (row) => companyOf(draws, row),
      affiliateGroupId: (row) => affiliateOf(draws, row),
      startTicks: source.start,
      endTicks: source.end,
    },
    editable: {
      status: (drawn) => String(1 + (drawn % kind.statuses)),
      bookerCompany: (drawn) => quote(pick(makings.pools.bookers, drawn).company),
      bookerName: (drawn) => quote(pick(makings.pools.bookers, drawn).name),
      [kind.guests]: (drawn) => String(300 + (drawn % 200)),
      [kind.own[0] as string]: (drawn) => centsText(drawn),
      notes: (drawn) => quote(pick(makings.pools.notes, drawn)),
    },
  }
}

function sourceOf(makings: Makings, kind: Kind, draws: Draws) {
  const [createdAt, arrival, departure] = ['createdAt', kind.arrival, kind.departure].map((field) =>
    timeWriter(makings, field),
  ) as [ReturnType<typeof timeWriter>, ReturnType<typeof timeWriter>, ReturnType<typeof timeWriter>]
  const booker = (row: number): Booker => draws.pick(makings.pools.bookers, row, 30)
  const status = (row: number): number => 1 + (draws.of(row, 31) % kind.statuses)
  const bookingType = (row: number): number => 1 + (draws.of(row, 32) % BOOKING_TYPES)
  const start = (row: number, stamps: Stamps): number =>
    Math.floor(stamps.created / TICKS_PER_DAY + 2 + (draws.of(row, 33) % 200)) * TICKS_PER_DAY
  const end = (row: number, stamps: Stamps): number => start(row, stamps) + (draws.of(row, 34) % 6) * TICKS_PER_DAY
  const second = (row: number): string => {
    if (kind.own[1] === 'bookingType') return String(bookingType(row))
    return String(affiliateOf(draws, row) ?? 'null')
  }
  const raw = (row: number, stamps: Stamps): string[] => {
    const by = booker(row)
    return [
      String(FIRST_KEYS[kind.report] + row),
      quote(by.email),
      quote(by.company),
      String(status(row)),
      quote(by.name),
      String(companyOf(draws, row)),
      createdAt(row, stamps.created),
      arrival(row, start(row, stamps)),
      departure(row, end(row, stamps)),
      String(1 + (draws.of(row, 35) % 299)),
      amountText(draws.seed, row, 36),
      second(row),
      ...later(draws, makings, row),
    ]
  }
  return { booker, status, bookingType, start, end, raw }
}

/** Fields that not every row carries, and now and then an array or an object. */
function later(draws: Draws, makings: Makings, row: number): string[] {
  const { pools } = makings
  return [
    String(draws.chance(7, row, 40)),
    draws.chance(55, row, 41) ? quote(draws.pick(pools.notes, row, 42)) : 'null',
    `"R-${draws.of(row, 43).toString(36)}"`,
    draws.chance(70, row, 44) ? quote(draws.pick(pools.bookers, row, 45).phone) : '',
    draws.chance(12, row, 46) ? '["quiet","ground floor"]' : '',
    draws.chance(12, row, 47)
      ? `{"street":${quote(draws.pick(pools.streets, row, 48))},"town":${quote(draws.pick(pools.towns, row, 49))}}`
      : '',
  ]
}

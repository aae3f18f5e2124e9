/**
 * Rows of the events report: every field of the EventReporting object (spec §2) and a few undocumented ones, as a
 * service that shows only part of its fields would have them.
 */
import { amountText, centsText } from '../decimal.ts'
import { pick } from '../draw.ts'
import { CURRENCIES } from '../rates.ts'
import { TICKS_PER_DAY, TICKS_PER_MINUTE } from '../ticks.ts'
import { Draws, escaped, FIRST_KEYS, quote, timeWriter, type Makings, type RowModel, type Stamps } from './model.ts'

const STATUSES = ['Draft', 'Option', 'Confirmed', 'In progress', 'Completed', 'Cancelled']
const FORMS = ['Standard', 'MERF', 'Short form', 'Hybrid']
const PAYMENTS = ['Invoice', 'Credit card', 'Virtual card', 'Überweisung', 'Cost centre']
const COMPANIES = 40
const AFFILIATES = 12

const FIELDS =
  'eventId name startDate endDate status formType location attendees inPersonAttendees externalId town paymentMethod companyId affiliateId externalUrl recordCreated recordModified aggregateRecordModified isDeleted bookerName budgetAmount budgetCurrency isVip notes arrivalTime costEstimate tags venueContact'

function eventName(draws: Draws, makings: Makings, row: number): string {
  const [occasion, town] = [draws.pick(makings.pools.occasions, row, 1), draws.pick(makings.pools.towns, row, 2)]
  return `"${escaped(occasion)} ${escaped(town)} ${2022 + (draws.of(row, 3) % 6)}"`
}

export const companyOf = (draws: Draws, row: number): number => 1 + (draws.of(row, 4) % COMPANIES)

/** The affiliate group, for the rows that have one ("if applicable", spec §2). */
export const affiliateOf = (draws: Draws, row: number): number | undefined =>
  draws.chance(70, row, 5) ? 1 + (draws.of(row, 6) % AFFILIATES) : undefined

export function eventRows(makings: Makings): RowModel {
  const draws = new Draws(makings.seed, 'events')
  const fields = FIELDS.split(' ')
  const times = (field: string): ((row: number, ticks: number) => string) => timeWriter(makings, field)
  const [start, end] = [times('startDate'), times('endDate')]
  const [recordCreated, recordModified, aggregate] = ['recordCreated', 'recordModified', 'aggregateRecordModified'].map(
    times,
  ) as [typeof start, typeof start, typeof start]
  const startOf = (row: number, stamps: Stamps): number =>
    Math.floor(stamps.created / TICKS_PER_DAY + 7 + (draws.of(row, 10) % 300)) * TICKS_PER_DAY +
    (draws.of(row, 11) % 40) * 15 * TICKS_PER_MINUTE
  return {
    report: 'events',
    keyField: 'eventId',
    firstKey: FIRST_KEYS.events,
    fields,
    raw: (row, stamps) => {
      const attendees = 2 + (draws.of(row, 12) % 400)
      const startTicks = startOf(row, stamps)
      const affiliate = affiliateOf(draws, row)
      return [
        String(FIRST_KEYS.events + row),
        eventName(draws, makings, row),
        start(row, startTicks),
        end(row, startTicks + (1 + (draws.of(row, 13) % 96)) * 30 * TICKS_PER_MINUTE),
        quote(draws.pick(STATUSES, row, 14)),
        quote(draws.pick(FORMS, row, 15)),
        quote(draws.pick(makings.pools.venues, row, 16)),
        String(attendees),
        String(draws.of(row, 17) % (attendees + 1)),
        draws.chance(60, row, 18) ? `"EXT-${draws.of(row, 19).toString(36).toUpperCase()}"` : 'null',
        quote(draws.pick(makings.pools.towns, row, 2)),
        quote(draws.pick(PAYMENTS, row, 20)),
        String(companyOf(draws, row)),
        affiliate === undefined ? 'null' : String(affiliate),
        `"https://events.example/e/${(FIRST_KEYS.events + row).toString(36)}"`,
        recordCreated(row, stamps.created),
        recordModified(row, stamps.modified),
        aggregate(row, stamps.aggregate),
        String(stamps.deleted),
        ...undocumented(draws, makings, row),
      ]
    },
    attributes: {
      eventId: (row) => FIRST_KEYS.events + row,
      companyId: (row) => companyOf(draws, row),
      affiliateId: (row) => affiliateOf(draws, row),
    },
    editable: {
      name: (drawn) =>
        JSON.stringify(`${pick(makings.pools.occasions, drawn)} ${pick(makings.pools.towns, drawn >>> 4)}`),
      status: (drawn) => quote(pick(STATUSES, drawn)),
      attendees: (drawn) => String(401 + (drawn % 400)),
      location: (drawn) => quote(pick(makings.pools.venues, drawn)),
      paymentMethod: (drawn) => quote(pick(PAYMENTS, drawn)),
      budgetAmount: centsText,
      notes: (drawn) => quote(pick(makings.pools.notes, drawn)),
    },
  }
}

/** Fields that the specification does not show; some are missing or null in some rows. */
function undocumented(draws: Draws, makings: Makings, row: number): string[] {
  const { pools } = makings
  return [
    quote(draws.pick(pools.bookers, row, 30).name),
    amountText(draws.seed, row, 31),
    `"${draws.pick(CURRENCIES, row, 34)}"`,
    String(draws.chance(5, row, 35)),
    draws.chance(60, row, 36) ? quote(draws.pick(pools.notes, row, 37)) : 'null',
    `"${String(8 + (draws.of(row, 38) % 10)).padStart(2, '0')}:30:00"`,
    draws.chance(80, row, 39) ? amountText(draws.seed, row, 40) : '',
    draws.chance(10, row, 43) ? '["hybrid","catering"]' : '',
    draws.chance(10, row, 44)
      ? `{"name":${quote(draws.pick(pools.people, row, 45))},"floor":${draws.of(row, 46) % 9}}`
      : '',
  ]
}

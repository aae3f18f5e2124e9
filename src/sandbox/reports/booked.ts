/** The common part of enquiries, automated bookings and office reservations (spec §2): no modification time in rows. */
import type { Dice, Range } from '../dice.ts'
import { TICKS_PER_DAY } from '../ticks.ts'
import { companyOf, currencyOf } from './contents.ts'
import type { Definition, Fields, RowSource } from './definition.ts'

interface BookingReport {
  readonly key: string
  /** The number of statuses, whose values are 1, 2, … */
  readonly statuses: number
  readonly arrival: string
  readonly departure: string
  readonly guests: string
  /** Returns the fields that only this report has. */
  readonly own: (row: RowSource) => Fields
  readonly amount: string
  readonly amountEuros: Range
}

const BOOKING_TYPES = 4

export const bookingTypeOf = (dice: Dice): number => 1 + dice.below(BOOKING_TYPES, 'booking type')

/** Returns the common part of the definition: fields, edits, and the fields that filters are compared with. */
export function booked(kind: BookingReport): Pick<Definition, 'fields' | 'edits' | 'comparesWith'> {
  const status = (dice: Dice): number => 1 + dice.below(kind.statuses, 'status')
  return {
    comparesWith: { startDate: kind.arrival, endDate: kind.departure, bookingTypes: 'bookingType' },
    fields: (row) => {
      const { dice } = row
      const by = dice.pick(dice.pools.bookers, 'booker')
      const arrival = Math.floor(row.created / TICKS_PER_DAY + 2 + dice.below(200, 'arrival')) * TICKS_PER_DAY
      return {
        [kind.key]: row.key,
        bookerEmail: by.email,
        bookerCompany: by.company,
        status: status(dice),
        bookerName: by.name,
        companyId: companyOf(dice),
        createdAt: dice.time('createdAt', row.created),
        [kind.arrival]: dice.time(kind.arrival, arrival),
        [kind.departure]: dice.time(kind.departure, arrival + dice.below(6, 'nights') * TICKS_PER_DAY),
        [kind.guests]: 1 + dice.below(299, 'guests'),
        ...kind.own(row),
        isVip: dice.chance(7, 'vip'),
        notes: dice.chance(55, 'has notes') ? dice.pick(dice.pools.notes, 'notes') : null,
        reference: `R-${dice.below(10 ** 9, 'reference').toString(36)}`,
        contactPhone: dice.chance(70, 'has phone') ? dice.pick(dice.pools.bookers, 'phone').phone : undefined,
        preferences: dice.chance(12, 'has preferences') ? ['quiet', 'ground floor'] : undefined,
        deliveryAddress: dice.chance(12, 'has address')
          ? { street: dice.pick(dice.pools.streets, 'street'), town: dice.pick(dice.pools.towns, 'town') }
          : undefined,
      }
    },
    edits: {
      status,
      bookerCompany: (dice) => dice.pick(dice.pools.bookers, 'company').company,
      bookerName: (dice) => dice.pick(dice.pools.bookers, 'name').name,
      [kind.guests]: (dice) => 300 + dice.below(200, 'guests'),
      [kind.amount]: (dice, row) => dice.amount('amount', kind.amountEuros, currencyOf(row)),
      notes: (dice) => dice.pick(dice.pools.notes, 'notes'),
    },
  }
}

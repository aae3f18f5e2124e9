/** Office reservations (spec §2, §4). */
import type { Range } from '../dice.ts'
import { booked, bookingTypeOf, currencyOf, day, person, place, price } from './contents.ts'
import { booker, created, type Definition, many, modified, one, paging, plain, stay } from './definition.ts'

/** The range of a desk's price per day, in euros. */
const DESKS: Range = [15, 90]

export const officeReservations: Definition = {
  endpoint: {
    path: '/v1/OfficeReport/GetOfficeReservations',
    scope: 'officereservations.read',
    envelope: true,
    parameters: {
      ...paging,
      status: 'integer[]',
      bookingTypes: 'integer[]',
      officeReservationId: 'integer',
      ...booker,
      ...stay,
      ...created,
      ...modified,
    },
    required: [],
  },
  key: 'officeReservationId',
  firstKey: 30_001,
  rowsPerEvent: 0.5,
  entity: { id: 9, type: 'OfficeReservations' },
  keepsDeleted: false,
  ...booked({
    key: 'officeReservationId',
    statuses: 5,
    arrival: 'startDate',
    departure: 'endDate',
    guests: 'seats',
    amount: 'deskRate',
    amountEuros: DESKS,
    own: (row) => ({
      deskRate: row.dice.amount('amount', DESKS, currencyOf(row)),
      deskRateCurrency: currencyOf(row),
      bookingType: bookingTypeOf(row.dice),
    }),
  }),
  collections: [
    many('reservationDays', day),
    one('userDetails', (dice) => ({
      ...person(dice),
      department: dice.pick(['Sales', 'Entwicklung', 'Comptabilité'], 'department'),
      address: place(dice),
    })),
    plain('customData', (dice) => ({
      key: dice.pick(['parking', 'badge', 'Etage'], 'key'),
      value: dice.pick(dice.pools.notes, 'value'),
    })),
    many('attendees', (dice) => ({
      ...person(dice),
      email: dice.pick(dice.pools.bookers, 'email').email,
      external: dice.chance(50, 'external'),
    })),
    one('benchmarkData', (dice, row) => ({
      averagePrice: dice.amount('average'),
      currency: currencyOf(row),
      sampleSize: 1 + dice.below(500, 'sample'),
      utilisation: dice.cents(1, 'utilisation'),
    })),
    many('extraItems', (dice, row) => ({
      item: dice.pick(['Locker', 'Monitor', 'Parkplatz'], 'item'),
      quantity: 1 + dice.below(4, 'quantity'),
      ...price(dice, row),
    })),
  ],
}

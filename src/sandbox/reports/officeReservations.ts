/** Office reservations (spec §2, §4). */
import { booked, bookingTypeOf, currencyOf, day, person, place, price } from './contents.ts'
import { booking, type Definition, many, one, plain } from './definition.ts'

export const officeReservations: Definition = {
  path: '/v1/OfficeReport/GetOfficeReservations',
  scope: 'officereservations.read',
  parameters: { ...booking, bookingTypes: 'integer[]', officeReservationId: 'integer' },
  firstKey: 30_001,
  entity: { id: 9, type: 'OfficeReservations' },
  ...booked({
    key: 'officeReservationId',
    statuses: 5,
    arrival: 'startDate',
    departure: 'endDate',
    guests: 'seats',
    amount: 'deskRate',
    currency: 'deskRateCurrency',
    amountEuros: [15, 90],
    own: (dice) => ({ bookingType: bookingTypeOf(dice) }),
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

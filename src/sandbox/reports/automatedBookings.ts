/** Automated bookings (spec §2, §4). Prices are in the request's `currencyCode`. */
import type { Range } from '../dice.ts'
import { booked, bookingTypeOf, approver, conversion, currencyOf, day, money, price, taxRate } from './contents.ts'
import { booker, created, type Definition, many, modified, paging, plain, stay } from './definition.ts'

const COMMISSIONS: Range = [20, 1_000]

export const automatedBookings: Definition = {
  endpoint: {
    path: '/v1/AutomatedBookingReport/GetAutomatedBookings',
    scope: 'automatedbookings.read',
    envelope: true,
    parameters: {
      ...paging,
      status: 'integer[]',
      bookingTypes: 'integer[]',
      currencyCode: 'string',
      reservationId: 'integer',
      ...booker,
      ...stay,
      ...created,
      ...modified,
    },
    required: ['currencyCode'],
  },
  key: 'reservationId',
  firstKey: 700_001,
  rowsPerEvent: 0.5,
  entity: { id: 7, type: 'AutomatedBookings' },
  keepsDeleted: false,
  amount: 'totalPrice',
  amountEuros: [200, 20_000],
  ...booked({
    key: 'reservationId',
    statuses: 6,
    arrival: 'startDate',
    departure: 'endDate',
    guests: 'numberOfPeople',
    amount: 'commission',
    amountEuros: COMMISSIONS,
    own: (row) => ({
      commission: row.dice.amount('amount', COMMISSIONS, currencyOf(row)),
      commissionCurrency: currencyOf(row),
      bookingType: bookingTypeOf(row.dice),
    }),
  }),
  collections: [
    many('reservationDays', day),
    many('reservationDayFoodDrinks', (dice, row) => ({
      item: dice.pick(['Coffee ☕', 'Brezeln', 'Déjeuner', '弁当'], 'item'),
      portions: 1 + dice.below(200, 'portions'),
      ...price(dice, row, [3, 60]),
    })),
    many('reservationDayEquipments', (dice) => ({
      item: dice.pick(['Projector', 'Flipchart', 'Mikrofon'], 'item'),
      quantity: 1 + dice.below(9, 'quantity'),
      options: { cable: dice.pick(['HDMI', 'USB-C'], 'cable') },
    })),
    plain('vatrates', taxRate),
    many('costCenters', (dice) => ({ code: `CC-${dice.below(9_000, 'code')}`, share: dice.cents(1, 'share') })),
    plain('currencies', conversion),
    approver,
    many('transactions', (dice, row) => ({
      kind: dice.pick(['charge', 'refund', 'hold'], 'kind'),
      ...money(dice, row),
      card: { brand: dice.pick(['Visa', 'Mastercard'], 'brand'), last4: String(1_000 + dice.below(9_000, 'last4')) },
    })),
  ],
}

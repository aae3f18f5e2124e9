/** Automated bookings (spec §2, §4). */
import { booked, bookingTypeOf, approver, conversion, day, money, price, taxRate } from './contents.ts'
import { booking, type Definition, many, plain } from './definition.ts'

export const automatedBookings: Definition = {
  path: '/v1/AutomatedBookingReport/GetAutomatedBookings',
  scope: 'automatedbookings.read',
  parameters: { ...booking, bookingTypes: 'integer[]', currencyCode: 'ISO 4217 code', reservationId: 'integer' },
  required: ['currencyCode'],
  firstKey: 700_001,
  entity: { id: 7, type: 'AutomatedBookings' },
  amount: 'totalPrice',
  amountEuros: [200, 20_000],
  ...booked({
    key: 'reservationId',
    statuses: 6,
    arrival: 'startDate',
    departure: 'endDate',
    guests: 'numberOfPeople',
    amount: 'commission',
    currency: 'commissionCurrency',
    amountEuros: [20, 1_000],
    own: (dice) => ({ bookingType: bookingTypeOf(dice) }),
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

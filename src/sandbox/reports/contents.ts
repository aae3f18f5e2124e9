/** Field values that several reports use. */
import type { Dice, Range } from '../dice.ts'
import { CURRENCIES, type Currency } from '../money.ts'
import { type Fields, one, type RowSource, type Definition } from './definition.ts'
import { TICKS_PER_DAY } from '../ticks.ts'

const COMPANIES = 40
const AFFILIATES = 12

export const companyOf = (dice: Dice): number => 1 + dice.below(COMPANIES, 'company')

/** Returns null for about a third of the rows, because the specification (§2) allows this field to be empty. */
export const affiliateOf = (dice: Dice): number | null =>
  dice.chance(70, 'has affiliate') ? 1 + dice.below(AFFILIATES, 'affiliate') : null

export const currencyOf = ({ dice }: Pick<RowSource, 'dice'>): Currency => dice.currency('currency')

export const FIRST_EVENT = 100_001

export const eventOf = (dice: Dice, number: number): number =>
  FIRST_EVENT + Math.max(0, Math.min(number, dice.settings.rows) - 1 - dice.below(4, 'event'))

export const NIGHT: Range = [60, 380]

export const person = (dice: Dice): Fields => ({
  name: dice.pick(dice.pools.people, 'person'),
  userId: 1 + dice.below(900, 'user'),
})

export const place = (dice: Dice): Fields => ({
  street: dice.pick(dice.pools.streets, 'street'),
  town: dice.pick(dice.pools.towns, 'town'),
  country: dice.pick(['DE', 'FR', 'GB', 'JP', 'GR', 'PL'], 'country'),
})

export const money = (dice: Dice, row: RowSource): Fields => ({
  amount: dice.amount('amount', undefined, currencyOf(row)),
  currency: currencyOf(row),
})

export const price = (dice: Dice, row: RowSource, euros?: Range): Fields => ({
  price: dice.amount('price', euros, currencyOf(row)),
  currency: currencyOf(row),
})

export const taxRate = (dice: Dice): Fields => ({
  label: dice.pick(['standard', 'reduced', 'zéro'], 'label'),
  percent: dice.pick([0, 5.5, 7, 19, 20], 'percent'),
})

export const day = (dice: Dice): Fields => ({
  dayNumber: 1 + dice.below(5, 'day'),
  from: '09:00',
  to: dice.pick(['12:30', '17:00', '23:59'], 'to'),
  layout: { style: dice.pick(['theatre', 'U-shape', 'Bankett'], 'style'), seats: 4 + dice.below(200, 'seats') },
})

export function conversion(dice: Dice): Fields {
  const code = dice.pick(CURRENCIES, 'code')
  return { code, rate: dice.rate(code) }
}

export const answer = (dice: Dice): Fields => ({
  question: dice.pick(['Allergies?', 'T-shirt size', 'Anreise am Vortag?'], 'question'),
  answer: dice.pick(dice.pools.notes, 'answer'),
  required: dice.chance(50, 'required'),
})

export const approver = one('approver', (dice, row) => ({
  ...person(dice),
  approved: dice.chance(50, 'approved'),
  limit: money(dice, row),
}))

interface BookingReport {
  readonly key: string
  readonly statuses: number
  readonly arrival: string
  readonly departure: string
  readonly guests: string
  readonly amount: string
  readonly currency: string
  readonly amountEuros: Range
  readonly own: (dice: Dice) => Fields
}

export const bookingTypeOf = (dice: Dice): number => 1 + dice.below(4, 'booking type')

/** Returns the properties that all booking reports have. */
export function booked(kind: BookingReport) {
  const status = (dice: Dice): number => 1 + dice.below(kind.statuses, 'status')
  const amount = (dice: Dice, row: RowSource): unknown => dice.amount('amount', kind.amountEuros, currencyOf(row))
  return {
    key: kind.key,
    rowsPerEvent: 0.5,
    envelope: true,
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
        [kind.amount]: amount(dice, row),
        [kind.currency]: currencyOf(row),
        ...kind.own(dice),
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
      [kind.amount]: amount,
      notes: (dice) => dice.pick(dice.pools.notes, 'notes'),
    },
  } satisfies Partial<Definition>
}

/** Contents that several reports share. The fields of collections are assumptions, as none are specified (§2, gaps). */
import type { Dice, Range } from '../dice.ts'
import { CURRENCIES, type Currency } from '../money.ts'
import { type Fields, one, type RowSource } from './definition.ts'

const COMPANIES = 40
const AFFILIATES = 12

export const companyOf = (dice: Dice): number => 1 + dice.below(COMPANIES, 'company')

/** Returns the affiliate group's number, or null in about a third of the rows ("if applicable", spec §2). */
export const affiliateOf = (dice: Dice): number | null =>
  dice.chance(70, 'has affiliate') ? 1 + dice.below(AFFILIATES, 'affiliate') : null

/** Returns the currency in which the row's amounts are stored. */
export const currencyOf = ({ dice }: Pick<RowSource, 'dice'>): Currency => dice.currency('currency')

/** Returns the identifier of a random event. With the row's `number`, the event is slightly older than the row. */
export function eventOf(dice: Dice, firstEvent: number, number?: number): number {
  const { events } = dice.worldSettings
  if (number === undefined) return firstEvent + dice.below(Math.max(1, events), 'event')
  return firstEvent + Math.max(0, Math.min(number, events) - 1 - dice.below(4, 'event'))
}

/** The range of a room's price per night, in euros. */
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

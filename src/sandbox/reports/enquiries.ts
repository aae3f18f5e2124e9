/** Defines the sandbox's enquiries (spec §2, §4). */
import { booked, affiliateOf, answer, approver, currencyOf, day, NIGHT, place, taxRate } from './contents.ts'
import { booking, type Definition, many, one, owner, plain } from './definition.ts'

export const enquiries: Definition = {
  path: '/v1/EnquiryReport/GetEnquiriesReport',
  scope: 'enquiries.read',
  parameters: { ...booking, ...owner, enquiryId: 'integer' },
  firstKey: 20_001,
  entity: { id: 1, type: 'Enquiries' },
  ...booked({
    key: 'enquiryId',
    statuses: 9,
    arrival: 'arrivalDate',
    departure: 'departureDate',
    guests: 'guests',
    amount: 'budgetAmount',
    currency: 'budgetCurrency',
    amountEuros: [1_000, 60_000],
    own: (dice) => ({ affiliateGroupId: affiliateOf(dice) }),
  }),
  collections: [
    many('enquiryVenues', (dice) => ({
      venue: dice.pick(dice.pools.venues, 'venue'),
      rank: 1 + dice.below(5, 'rank'),
      address: place(dice),
    })),
    many('enquiryDay', day),
    many('bedrooms', (dice, row) => ({
      type: dice.pick(['single', 'double', 'Suite'], 'type'),
      count: 1 + dice.below(60, 'count'),
      rate: dice.amount('rate', NIGHT, currencyOf(row)),
      currency: currencyOf(row),
    })),
    plain('customQuestions', answer),
    plain('customFields', (dice) => ({
      name: dice.pick(['costCentre', 'Projekt', 'référence'], 'name'),
      value: dice.pick(dice.pools.notes, 'value'),
    })),
    approver,
    one('addressExtra', place),
    plain('taxes', taxRate),
  ],
}

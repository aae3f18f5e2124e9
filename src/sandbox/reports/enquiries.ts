/** Enquiries (spec §2, §4). Responses have an envelope; deleted enquiries are no longer returned. */
import type { Range } from '../dice.ts'
import { booked, affiliateOf, answer, approver, currencyOf, day, NIGHT, place, taxRate } from './contents.ts'
import { booker, created, type Definition, many, modified, one, paging, plain, stay } from './definition.ts'

/** The range of an enquiry's budget, in euros. */
const BUDGETS: Range = [1_000, 60_000]

export const enquiries: Definition = {
  endpoint: {
    path: '/v1/EnquiryReport/GetEnquiriesReport',
    scope: 'enquiries.read',
    envelope: true,
    parameters: {
      ...paging,
      status: 'integer[]',
      enquiryId: 'integer',
      ...booker,
      companyId: 'integer',
      affiliateGroupId: 'integer',
      ...stay,
      ...created,
      ...modified,
    },
    required: [],
  },
  key: 'enquiryId',
  firstKey: 20_001,
  rowsPerEvent: 0.5,
  entity: { id: 1, type: 'Enquiries' },
  keepsDeleted: false,
  ...booked({
    key: 'enquiryId',
    statuses: 9,
    arrival: 'arrivalDate',
    departure: 'departureDate',
    guests: 'guests',
    amount: 'budgetAmount',
    amountEuros: BUDGETS,
    own: (row) => ({
      budgetAmount: row.dice.amount('amount', BUDGETS, currencyOf(row)),
      budgetCurrency: currencyOf(row),
      affiliateGroupId: affiliateOf(row.dice),
    }),
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

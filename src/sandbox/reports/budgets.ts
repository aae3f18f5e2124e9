/** Budgets, whose deleted rows have no flag (spec §2). */
import { affiliateOf, companyOf, conversion, currencyOf, eventOf, price, taxRate } from './contents.ts'
import { type Definition, many, modified, owner, paging, plain } from './definition.ts'

const FIRST_BUDGET = 500_001
const KINDS = ['Default', 'Travel', 'Catering', 'Technik', 'Hébergement', 'Marketing', 'Reserve']

export const budgets: Definition = {
  path: '/v1/BudgetReport/GetBudgetsReport',
  scope: 'budget.read',
  envelope: false,
  parameters: {
    ...paging,
    ...modified,
    ...owner,
    targetCurrencyCode: 'ISO 4217 code',
    onlyDefaultBudget: 'boolean',
    eventId: 'integer',
    includeDeleted: 'boolean',
  },
  required: ['modifiedSince', 'targetCurrencyCode'],
  key: 'budgetId',
  firstKey: FIRST_BUDGET,
  rowsPerEvent: 1,
  entity: { id: 5, type: 'Budgets' },
  keepsDeleted: true,
  comparesWith: { onlyDefaultBudget: 'isDefault' },
  amount: 'totalAmount',
  amountEuros: [1_000, 60_000],
  fields: (row) => {
    const { dice, key } = row
    return {
      budgetId: key,
      budgetName: `${dice.pick(KINDS, 'kind')} ${dice.pick(dice.pools.towns, 'town')}`,
      modifiedAt: dice.time('modifiedAt', row.modified),
      eventId: eventOf(dice, key - FIRST_BUDGET),
      companyId: companyOf(dice),
      affiliateGroupId: affiliateOf(dice),
      isDefault: dice.chance(40, 'default'),
      createdAt: dice.time('createdAt', row.created),
      ownerName: dice.pick(dice.pools.people, 'owner'),
      originalCurrency: currencyOf(row),
      marginPercent: dice.cents(40, 'margin'),
    }
  },
  edits: {
    budgetName: (dice) => `${dice.pick(KINDS, 'kind')} ${dice.pick(dice.pools.towns, 'town')}`,
    ownerName: (dice) => dice.pick(dice.pools.people, 'owner'),
    marginPercent: (dice) => dice.cents(40, 'margin'),
  },
  collections: [
    many('costItems', (dice, row) => ({
      label: dice.pick(['Venue', 'Catering', 'Hotel', 'Technik'], 'label'),
      quantity: 1 + dice.below(50, 'quantity'),
      ...price(dice, row),
      tax: taxRate(dice),
    })),
    plain('taxes', (dice, row) => ({ ...taxRate(dice), amount: dice.amount('amount'), currency: currencyOf(row) })),
    plain('currencies', conversion),
  ],
}

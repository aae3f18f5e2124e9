/** Budgets. Rows have no deletion flag, so each window is read with and without deleted rows (spec §2, §3). */
import { dateTime, decimal, defineReport, integer, manyOf, string } from '../report.ts'

export const budgets = defineReport({
  name: 'budgets',
  meaning: 'Budget modifications, amounts converted to the target currency',
  path: '/v1/BudgetReport/GetBudgetsReport',
  answer: 'array',
  key: ['budget_id', 'target_currency'],
  asked: [{ column: 'target_currency', type: 'string', meaning: 'Currency of the amounts in the request' }],
  currency: 'targetCurrencyCode',
  fields: {
    budgetId: integer('Unique budget identifier'),
    budgetName: string('Display name'),
    modifiedAt: dateTime('Last modification time'),
    totalAmount: decimal('Total amount in the target currency'),
    currencyCode: string('ISO 4217 currency code'),
  },
  newerBy: ['modified_at'],
  window: { since: 'modifiedSince', until: 'modifiedUntil', required: true },
  deletes: 'diff',
  includeDeleted: 'includeDeleted',
  expand: manyOf('costItems', 'taxes', 'currencies'),
  filters: { companyId: 'integer', affiliateGroupId: 'integer', onlyDefaultBudget: 'boolean', eventId: 'integer' },
})

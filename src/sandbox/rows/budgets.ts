/**
 * Rows of the budgets report. Nothing in a row says that it is deleted (spec §2), and its amount is written in the
 * currency that the request asks for, so `totalAmount` and `currencyCode` are added when the row is sent.
 */
import { centsText, drawAmount } from '../decimal.ts'
import { pick } from '../draw.ts'
import { CURRENCIES } from '../rates.ts'
import { affiliateOf, companyOf } from './events.ts'
import { Draws, escaped, FIRST_KEYS, quote, timeWriter, type Makings, type RowModel } from './model.ts'

const KINDS = ['Default', 'Travel', 'Catering', 'Technik', 'Hébergement', 'Marketing', 'Reserve']

export function budgetRows(makings: Makings): RowModel {
  const draws = new Draws(makings.seed, 'budgets')
  const modifiedAt = timeWriter(makings, 'modifiedAt')
  const createdAt = timeWriter(makings, 'createdAt')
  const eventOf = (row: number): number => FIRST_KEYS.events + (draws.of(row, 20) % Math.max(1, makings.sizes.events))
  const isDefault = (row: number): boolean => draws.chance(40, row, 21)
  return {
    report: 'budgets',
    keyField: 'budgetId',
    firstKey: FIRST_KEYS.budgets,
    fields:
      'budgetId budgetName modifiedAt eventId companyId affiliateGroupId isDefault createdAt ownerName originalCurrency marginPercent'.split(
        ' ',
      ),
    raw: (row, stamps) => {
      const affiliate = affiliateOf(draws, row)
      return [
        String(FIRST_KEYS.budgets + row),
        `"${draws.pick(KINDS, row, 22)} ${escaped(draws.pick(makings.pools.towns, row, 23))}"`,
        modifiedAt(row, stamps.modified),
        String(eventOf(row)),
        String(companyOf(draws, row)),
        affiliate === undefined ? 'null' : String(affiliate),
        String(isDefault(row)),
        createdAt(row, stamps.created),
        quote(draws.pick(makings.pools.people, row, 24)),
        `"${draws.pick(CURRENCIES, row, 25)}"`,
        centsText(draws.of(row, 26) % 10_000),
      ]
    },
    attributes: {
      budgetId: (row) => FIRST_KEYS.budgets + row,
      companyId: (row) => companyOf(draws, row),
      affiliateGroupId: (row) => affiliateOf(draws, row),
      eventId: eventOf,
      isDefault,
    },
    editable: {
      budgetName: (drawn) => JSON.stringify(`${pick(KINDS, drawn)} ${pick(makings.pools.towns, drawn >>> 3)}`),
      ownerName: (drawn) => quote(pick(makings.pools.people, drawn)),
      marginPercent: (drawn) => centsText(10_000 + (drawn % 10_000)),
    },
    priced: (row) => ({
      nano: drawAmount(draws.seed, row, 27),
      currency: draws.pick(CURRENCIES, row, 25),
      field: 'totalAmount',
    }),
  }
}

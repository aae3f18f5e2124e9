/** The comparison with the sandbox finds each kind of difference: every row of this table damages one thing. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { differences } from '../../src/cli/certify/compare.ts'
import { aTide, type Tide } from '../support/tide.ts'

const KEY = `budget_id = (SELECT min(budget_id) FROM budgets WHERE NOT is_deleted) AND target_currency = 'EUR'`
/** The amount has more digits than a double. */
const LONGEST = `target_currency = 'EUR' AND total_amount = (SELECT arg_max(total_amount, length(total_amount::VARCHAR)) FROM budgets WHERE target_currency = 'EUR')`
const ITEM = `${KEY} AND _position = 0`
const LAST_ITEM = `${KEY} AND _position = (SELECT max(_position) FROM budgets__cost_items WHERE ${KEY})`

/** The statement that damages the tables, and the difference that must be found. */
const DAMAGES: readonly (readonly [what: string, sql: string, found: RegExp])[] = [
  ['a row is missing', `DELETE FROM budgets WHERE ${KEY}`, /^the row \d+ is missing$/],
  ['a row is there twice', `INSERT INTO budgets FROM budgets WHERE ${KEY}`, /^the row \d+ is there 2 times$/],
  [
    'a row of another key is there',
    `INSERT INTO budgets SELECT * REPLACE (0 AS budget_id) FROM budgets WHERE ${KEY}`,
    /^the row 0 is not deleted/,
  ],
  [
    'a row is marked as deleted',
    `UPDATE budgets SET is_deleted = true WHERE ${KEY}`,
    /^is_deleted of the row \d+ is true$/,
  ],
  [
    'the last digit of an amount differs',
    `UPDATE budgets SET total_amount = total_amount + 0.000000001 WHERE ${LONGEST}`,
    /^totalAmount of the row \d+ differs$/,
  ],
  [
    'a time differs by a microsecond',
    `UPDATE budgets SET modified_at = modified_at + INTERVAL 1 MICROSECOND WHERE ${KEY}`,
    /^modifiedAt of/,
  ],
  ['a value is NULL', `UPDATE budgets SET modified_at = NULL WHERE ${KEY}`, /^modifiedAt of/],
  [
    'an amount is another one, far from the point',
    `UPDATE budgets SET total_amount = total_amount * 10 WHERE ${KEY}`,
    /^totalAmount of/,
  ],
  ['a text differs', `UPDATE budgets SET budget_name = budget_name || ' ' WHERE ${KEY}`, /^budgetName of/],
  ['an item is missing', `DELETE FROM budgets__cost_items WHERE ${LAST_ITEM}`, /^costItems of/],
  ['an item is deleted', `UPDATE budgets__cost_items SET is_deleted = true WHERE ${ITEM}`, /^costItems of/],
  ['an item is there twice', `INSERT INTO budgets__cost_items FROM budgets__cost_items WHERE ${ITEM}`, /^costItems of/],
  ['items are in another order', `UPDATE budgets__cost_items SET _position = -_position WHERE ${KEY}`, /^costItems of/],
  ['an item is another one', `UPDATE budgets__cost_items SET _payload = '{}' WHERE ${ITEM}`, /^costItems of/],
]

let tide: Tide

beforeAll(async () => {
  tide = await aTide({ sandbox: { rows: 10, itemsPerCollection: 3 } })
  await tide.sync('budgets')
})
afterAll(() => tide[Symbol.asyncDispose]())

const found = () => differences(tide.warehouse, tide.sandbox.world, { report: 'budgets', currency: 'EUR' })

/** Runs the statement on tables that become as they were. */
async function after(sql: string): Promise<string[]> {
  const { warehouse } = tide
  const tables = ['budgets', 'budgets__cost_items']
  for (const table of tables) await warehouse.rows(`CREATE TEMP TABLE kept_${table} AS FROM main.${table}`)
  try {
    await warehouse.rows(sql)
    return await found()
  } finally {
    for (const table of tables) {
      await warehouse.rows(`DELETE FROM main.${table}`)
      await warehouse.rows(`INSERT INTO main.${table} FROM kept_${table}`)
      await warehouse.rows(`DROP TABLE kept_${table}`)
    }
  }
}

it('finds nothing in what a sync has stored', async () => {
  expect(await found()).toEqual([])
})

it.each(DAMAGES)('finds that %s', async (_, sql, difference) => {
  const all = await after(sql)
  expect(all).toEqual([expect.stringMatching(difference)])
})

it('finds a wrong value in each column of the items', async () => {
  const columns = await tide.warehouse.rows<{ name: string; type: string }>(
    `SELECT column_name AS name, data_type AS type FROM duckdb_columns()
     WHERE table_name = 'budgets__cost_items' AND schema_name = 'main' AND column_name IN (SELECT column_name FROM tidemark.columns)`,
  )
  expect(columns.length).toBeGreaterThan(2)
  for (const { name } of columns) {
    const sql = `UPDATE budgets__cost_items SET "${name}" = NULL WHERE ${KEY}`
    expect(await after(sql), name).toEqual([expect.stringMatching(/^costItems of/)])
  }
})

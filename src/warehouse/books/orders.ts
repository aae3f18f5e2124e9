/** Records the commands that people sent, and their results. */
import { randomUUID } from 'node:crypto'
import type { Instant } from '../../instant.ts'
import type { Database } from '../database/duckdb.ts'
import { text, time } from '../database/sql.ts'

export interface Order {
  readonly who: string
  readonly what: string
  readonly request: object
  readonly at: Instant
}

export const ordersOf = (database: Database) => ({
  begin: async ({ who, what, request, at }: Order): Promise<string> => {
    const id = randomUUID()
    await database.run(`
      INSERT INTO tidemark.orders (order_id, asked_at, who, what, request)
      VALUES (${text(id)}, ${time(at)}, ${text(who)}, ${text(what)}, ${text(JSON.stringify(request))})`)
    return id
  },
  end: (id: string, { result, at }: { readonly result: string; readonly at: Instant }): Promise<void> =>
    database.run(`
      UPDATE tidemark.orders SET ended_at = ${time(at)}, result = ${text(result)} WHERE order_id = ${text(id)}`),
})

/** A change feed cursor. Its hash shows if the warehouse was restored from a backup since. */
import { usageError } from '../../errors.ts'
import { onlyRow, type Sql } from '../database/sql.ts'

export const START = 'start'

/** Example: `184-9f3a2c11d0b7` for the state after load 184. */
export type Cursor = typeof START | `${number}-${string}`

export const CURSOR_SHAPE = '([0-9]{1,15})-[0-9a-f]{12}'
const SHAPE = new RegExp(`^${CURSOR_SHAPE}$`)

/** SQL for the cursor of a row of `tidemark.loads`. */
export const CURSOR_SQL = `(load_id || '-' || left(md5(concat_ws('/', load_id, run_id, epoch_us(committed_at))), 12))`

export async function currentCursor(sql: Pick<Sql, 'rows'>): Promise<Cursor> {
  const newest = `SELECT arg_max(${CURSOR_SQL}, load_id) AS cursor FROM tidemark.loads`
  return (await onlyRow<{ cursor: Cursor | null }>(sql, newest)).cursor ?? START
}

export const isCursor = (text: string): text is Cursor => text === START || SHAPE.test(text)

export function parseCursor(text: string): Cursor {
  if (isCursor(text)) return text
  const cure = `Pass the cursor of the last answer unchanged, or "${START}" to begin with all rows.`
  throw usageError(`"${text.slice(0, 80)}" is no cursor`, cure)
}

/** Returns the number of the cursor's load, or 0 for `start`. */
export const loadOf = (cursor: Cursor): number => Number(SHAPE.exec(cursor)?.[1] ?? 0)

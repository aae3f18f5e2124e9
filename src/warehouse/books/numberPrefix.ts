/** Reads the prefix that keeps all digits of numbers while they are staged as strings. */
import type { Sql } from '../database/sql.ts'

/** Returns the warehouse's prefix for numbers: files contain 0.1 as the string `~5f0c…9b~0.1`, to keep all digits. */
export async function readNumberPrefix(sql: Sql): Promise<string> {
  const [known] = await sql.rows<{ value: string }>(`SELECT value FROM tidemark.settings WHERE name = 'number_mark'`)
  if (known !== undefined) return known.value
  await sql.run(`INSERT INTO tidemark.settings SELECT 'number_mark', '~' || replace(uuid()::VARCHAR, '-', '') || '~'`)
  return readNumberPrefix(sql)
}

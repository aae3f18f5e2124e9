/** The published copy as a reader opens it: a database of its own, read-only. */
import { asSyncError } from '../../src/errors.ts'
import { Database } from '../../src/warehouse/database/duckdb.ts'

type Rows = <T>(sql: string) => Promise<T[]>

/** What `compare` finds in the copy, reported as the copy's; or that the copy cannot be read whole. */
export async function publishedDifferences(
  path: string,
  compare: (rows: Rows) => Promise<readonly string[]>,
): Promise<string[]> {
  try {
    await using copy = await Database.open(path, { readOnly: true, memory: '256MB', threads: 1 })
    const tables = await copy.rows<{ table: string }>(
      `SELECT schema_name || '.' || table_name AS "table" FROM duckdb_tables()`,
    )
    for (const { table } of tables) await copy.rows(`SELECT bit_xor(hash(each)) FROM ${table} each`)
    const found = await compare((sql) => copy.rows(sql))
    return found.map((what) => `7: published copy: ${what}`)
  } catch (error) {
    return [`7: published copy: ${asSyncError(error).message}`]
  }
}

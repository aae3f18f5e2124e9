/** The published copy as a reader opens it: a database of its own, read-only. */
import { Database } from '../../src/warehouse/database/duckdb.ts'

type Rows = <T>(sql: string) => Promise<T[]>

/** What `compare` finds in the copy, told as the copy's. */
export async function publishedDifferences(
  path: string,
  compare: (rows: Rows) => Promise<readonly string[]>,
): Promise<string[]> {
  await using copy = await Database.open(path, { readOnly: true, memory: '256MB', threads: 1 })
  const found = await compare((sql) => copy.rows(sql))
  return found.map((what) => `7: published copy: ${what}`)
}

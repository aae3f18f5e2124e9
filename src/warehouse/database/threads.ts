/** How many threads DuckDB uses for a load. */
import type { Database } from './duckdb.ts'

/** A load of so many staged bytes is one of many, as a rule: the walk goes on beside it. */
const BESIDE_BYTES_MIN = 16 * 1024 * 1024

/**
 * Does a load of so many staged bytes. A large one leaves one thread to what fetches and scans beside it: with all of them
 * DuckDB's threads wait for each other and hold more memory, while the sync is no faster.
 */
export async function beside<T>(database: Database, bytes: number, work: () => Promise<T>): Promise<T> {
  if (bytes < BESIDE_BYTES_MIN) return work()
  const threads = await threadsOf(database)
  return threads === 1 ? work() : onThreads(database, { usual: threads, now: threads - 1 }, work)
}

export async function threadsOf(database: Database): Promise<number> {
  const [set] = await database.rows<{ threads: number }>(`SELECT current_setting('threads') AS threads`)
  return set?.threads ?? 1
}

/** Does `work` on so many threads as are to be used now; then there are as many as usual. */
export async function onThreads<T>(
  database: Database,
  { usual, now }: { readonly usual: number; readonly now: number },
  work: () => Promise<T>,
): Promise<T> {
  await database.run(`SET threads = ${now}`)
  try {
    return await work()
  } finally {
    await database.run(`SET threads = ${usual}`)
  }
}

/**
 * A load into what other processes load into as well. Which columns a load needs is decided before its transaction, so
 * the transaction looks whether they are still as they were then; if another loader has added some, the load begins
 * anew.
 */
import { SyncError } from '../../errors.ts'
import type { Database, Sql } from '../database/duckdb.ts'
import { load, type LoadInput, type LoadPlace, type LoadResult } from './load.ts'
import { discoveredColumns } from '../tables/tables.ts'

const TRIES_MAX = 10

/** Error: LAKE_BUSY, beside those of any load. */
export async function loadBesideOthers(
  database: Database,
  known: Omit<LoadPlace, 'database' | 'discovered' | 'beforeWriting'>,
  input: LoadInput,
): Promise<LoadResult> {
  // Where nothing came, no column is needed.
  if (input.segment === undefined) return load({ ...known, database, discovered: new Map() }, input)
  for (let tries = 1; ; tries += 1) {
    const discovered = await discoveredColumns(database)
    const planned = layoutOf(discovered)
    const moved = new SyncError('LAKE_BUSY', `${database.path}: other loaders changed columns, ${TRIES_MAX} times`, {
      cure: 'Nothing of this load was kept; the next run reads it again.',
    })
    const beforeWriting = async (sql: Sql) => {
      if (layoutOf(await discoveredColumns(sql)) !== planned) throw moved
    }
    try {
      return await load({ ...known, database, discovered, beforeWriting }, input)
    } catch (error) {
      if (error !== moved || tries >= TRIES_MAX) throw error
    }
  }
}

const layoutOf = (discovered: Awaited<ReturnType<typeof discoveredColumns>>): string =>
  JSON.stringify([...discovered].toSorted(([a], [b]) => a.localeCompare(b)))

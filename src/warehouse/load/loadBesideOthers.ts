/** A load into a lake while others load. It starts again with a new plan if another process changes the columns. */
import { SyncError } from '../../errors.ts'
import type { Database, Sql } from '../database/duckdb.ts'
import { load, type LoadInput, type LoadPlace, type LoadResult } from './load.ts'
import { discoveredColumns } from '../tables/tables.ts'

const TRIES_MAX = 10

/** Commits one load. Throws LAKE_BUSY and the errors of any load. */
export async function loadBesideOthers(
  database: Database,
  known: Omit<LoadPlace, 'database' | 'discovered' | 'beforeWriting'>,
  input: LoadInput,
): Promise<LoadResult> {
  // A load without rows needs no plan of columns.
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

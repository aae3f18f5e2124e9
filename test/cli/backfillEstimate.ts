/** Reads what `tidemark backfill` prints, and compares the estimate of a dry run with a real one. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'vitest'
import type { ReportName } from '../../schema/index.ts'
import type { EventShape } from '../../src/sandbox/options.ts'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import { aWorldWithoutCollections as aWorld, type World } from './support.ts'

interface BackfillDocument {
  readonly backfills: readonly {
    readonly report: string
    readonly state?: string
    readonly backfill_id?: string
    readonly requests?: number
    readonly windows: unknown
    readonly windows_done?: number
    readonly windows_failed?: number
    readonly rows?: number
  }[]
  readonly error?: { readonly code: string; readonly message: string; readonly cure: string }
}

export const told = ({ stdout }: { readonly stdout: string }) => JSON.parse(stdout) as BackfillDocument

export const reportRequests = ({ sandbox }: World) =>
  sandbox.requests.list().filter(({ path: asked }) => asked.startsWith('/reportingapi')).length

export async function rowsOf<T>({ folder }: World, sql: string): Promise<T[]> {
  await using database = await Database.open(path.join(folder, 'data/warehouse.duckdb'), {
    readOnly: true,
    memory: '512MB',
  })
  return await database.rows<T>(sql)
}

/** Compares a dry run with a real backfill; with `syncs` 2, the estimate is made from rows that a sync has stored. */
export async function compareEstimate(report: ReportName, syncs: 1 | 2, eventShape?: EventShape): Promise<void> {
  await using world = await aWorld({
    sandbox: { rows: 1_500, itemsPerCollection: 0, ...(eventShape && { eventShape }) },
    settings: { defaults: { page_size: 50 } },
    isNew: true,
  })
  // What is held already says where rows stand, for reports that tell no total.
  if (syncs > 1) await world.run('sync', report, '--quiet')
  const before = syncs > 1 ? await rowsOf(world, 'SELECT max(load_id) AS n FROM tidemark.loads') : []
  const dry = await world.run('backfill', report, '--dry-run', '--json')
  expect(dry.code, dry.stderr).toBe(0)
  const estimate = told(dry).backfills[0]?.requests ?? 0
  if (syncs > 1) {
    expect(await rowsOf(world, 'SELECT max(load_id) AS n FROM tidemark.loads')).toEqual(before)
    expect(await rowsOf(world, 'SELECT * FROM tidemark.backfills')).toEqual([])
  } else expect(existsSync(path.join(world.folder, 'data'))).toBe(false)
  world.sandbox.requests.clear()
  const real = await world.run('backfill', report, '--json', '--quiet')
  expect(told(real).backfills[0]).toMatchObject({ state: 'done', windows_failed: 0 })
  const needed = reportRequests(world)
  expect(estimate / needed, `estimated ${estimate}, needed ${needed}`).toBeGreaterThan(0.75)
  expect(estimate / needed, `estimated ${estimate}, needed ${needed}`).toBeLessThan(1.34)
}

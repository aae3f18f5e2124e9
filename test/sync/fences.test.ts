/**
 * Two sets of rooms on one warehouse, as two workers would have them: the run that began later is the one that may
 * commit, and nothing of the other is kept.
 */
import { describe, expect, it } from 'vitest'
import type { SyncContext } from '../../src/sync/context.ts'
import { reconcileReport } from '../../src/sync/reconcile.ts'
import { syncAll } from '../../src/sync/syncAll.ts'
import type { LoadInput } from '../../src/warehouse/load/loadInput.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { markOf } from '../support/held.ts'
import { aTide, type Tide } from '../support/tide.ts'
import { withMethods } from '../support/withMethods.ts'
import { differencesButAbsence, failureOf } from './stories.ts'

/** SyncContext whose loads wait until they are let go, like those of a worker that was frozen before its commit. */
function frozenContext(context: SyncContext) {
  const reached = Promise.withResolvers<LoadInput>()
  const woken = Promise.withResolvers<void>()
  const load: Warehouse['load'] = async (input) => {
    reached.resolve(input)
    await woken.promise
    return context.warehouse.load(input)
  }
  const warehouse = withMethods(context.warehouse, { load })
  return { context: { ...context, warehouse }, frozen: reached.promise, wake: () => woken.resolve() }
}

const loadsOf = (tide: Tide, report: string) =>
  tide.warehouse.rows<{ run: string; rows: number }>(
    `SELECT run_id AS run, sum(rows) AS rows FROM tidemark.loads WHERE report = '${report}' GROUP BY 1`,
  )

describe('a run that another one has overtaken', () => {
  it('commits nothing, and moves no mark', { tags: 'long' }, async () => {
    await using tide = await aTide()
    const older = frozenContext(tide.context)
    const overtaken = syncAll(older.context, ['events'])
    await older.frozen
    const [newer] = await tide.sync('events')
    const [mark, loads] = [await markOf(tide, 'events'), await loadsOf(tide, 'events')]
    older.wake()
    const failed = failureOf(await overtaken, 'events')
    expect(failed.code).toBe('FENCED')
    expect(failed.message).toContain(newer?.runId)
    expect(await markOf(tide, 'events')).toBe(mark)
    expect(await loadsOf(tide, 'events')).toEqual(loads)
    expect(loads.map(({ run }) => run)).toEqual([newer?.runId])
    expect(await differencesButAbsence(tide, 'events')).toEqual([])
  })

  it('is refused even where it began to load before', { tags: 'long' }, async () => {
    await using tide = await aTide({ settings: { limits: { load_rows_max: 10 }, defaults: { page_size: 10 } } })
    const { warehouse } = tide
    const first = await warehouse.takeFence({ report: 'events', kind: 'incremental', holder: 'first' })
    await syncAll({ ...tide.context, fence: first }, ['events'])
    await warehouse.takeFence({ report: 'events', kind: 'incremental', holder: 'second' })
    const again = await syncAll({ ...tide.context, fence: first }, ['events'])
    expect(failureOf(again, 'events').code).toBe('FENCED')
  })

  it('ends no reconcile either', async () => {
    await using tide = await aTide()
    const options = { runId: 'reconcile-1', allowMassDelete: false }
    const older = frozenContext(tide.context)
    const fence = await tide.warehouse.takeFence({ report: 'events', kind: 'reconcile', holder: 'older' })
    await tide.warehouse.takeFence({ report: 'events', kind: 'reconcile', holder: 'newer' })
    older.wake()
    await expect(reconcileReport({ ...older.context, fence }, 'events', options)).rejects.toMatchObject({
      code: 'FENCED',
    })
    const [ended] = await tide.warehouse.rows('SELECT 1 FROM tidemark.reconciles WHERE ended_at IS NOT NULL')
    expect(ended).toBeUndefined()
  })
})

describe('runs of different kinds or reports', () => {
  it("don't fence each other off", async () => {
    await using tide = await aTide()
    const older = frozenContext(tide.context)
    const run = syncAll(older.context, ['events'])
    await older.frozen
    await tide.warehouse.takeFence({ report: 'events', kind: 'backfill', holder: 'a backfill' })
    await tide.warehouse.takeFence({ report: 'budgets', kind: 'incremental', holder: 'another report' })
    older.wake()
    expect((await run).map(({ state }) => state)).toEqual(['done'])
  })

  it('get epochs of their own, each one later than the one before', async () => {
    await using tide = await aTide()
    const take = (kind: 'incremental' | 'backfill') =>
      tide.warehouse.takeFence({ report: 'events', kind, holder: kind })
    const taken = [await take('incremental'), await take('backfill'), await take('incremental')]
    expect(taken.map(({ epoch }) => epoch)).toEqual([1, 1, 2])
  })

  it('have their epoch in the file once they write, or at once where they may outlive the process', {
    tags: 'long',
  }, async () => {
    await using tide = await aTide()
    const { warehouse } = tide
    const held = () => warehouse.rows('SELECT kind, epoch, holder FROM tidemark.fences ORDER BY kind')
    await warehouse.takeFence({ report: 'events', kind: 'backfill', holder: 'a backfill' })
    const fence = await warehouse.takeFence({ report: 'events', kind: 'incremental', holder: 'a run' })
    expect(await held()).toEqual([{ kind: 'backfill', epoch: 1, holder: 'a backfill' }])
    await syncAll({ ...tide.context, fence }, ['events'])
    expect(await held()).toEqual([
      { kind: 'backfill', epoch: 1, holder: 'a backfill' },
      { kind: 'incremental', epoch: 1, holder: 'a run' },
    ])
  })
})

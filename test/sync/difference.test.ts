/** Budgets that only the difference of two reads shows to be deleted: what may stand between the two reads. */
import { expect, it } from 'vitest'
import type { ReportingClient } from '../../src/client/reporting.ts'
import { reconcileReport } from '../../src/sync/reconcile.ts'
import type { SyncContext } from '../../src/sync/context.ts'
import { syncAll } from '../../src/sync/syncAll.ts'
import { aTide, type Tide } from '../support/tide.ts'
import { withMethods } from '../support/withMethods.ts'
import { differencesOf, stampAlike } from './stories.ts'

/** SyncContext whose client tells of each question without deleted rows before it is asked. */
function roomsThat(tide: Tide, beforeSecondRead: () => void): SyncContext {
  const { context } = tide
  const read: ReportingClient['read'] = (request, signal) => {
    if ((request.body as { includeDeleted?: boolean }).includeDeleted === false) beforeSecondRead()
    return context.client.read(request, signal)
  }
  return { ...context, client: withMethods(context.client, { read }) }
}

const deletedOf = async ({ warehouse }: Tide, key: number): Promise<boolean[]> =>
  (await warehouse.rows<{ is_deleted: boolean }>(`SELECT is_deleted FROM budgets WHERE budget_id = ${key}`)).map(
    (row) => row.is_deleted,
  )

it('a budget that comes malformed in the second read is there, and not taken for deleted', async () => {
  await using tide = await aTide({ sandbox: { rows: 12 } })
  await tide.sync('budgets')
  const { world } = tide.sandbox
  const [key, other] = world.liveKeys('budgets') as [number, number]
  const sound = JSON.stringify(world.row('budgets', key)?.['budgetName'])
  for (const each of [key, other]) world.edit('budgets', each)
  const context = roomsThat(tide, () => world.putRow('budgets', key, { budgetName: `${sound},"budgetName":"again"` }))
  const [outcome] = await syncAll(context, ['budgets'])
  expect(outcome?.state).toBe('done')
  expect(await deletedOf(tide, key)).not.toContain(true)
  world.putRow('budgets', key, { budgetName: sound })
  world.edit('budgets', key)
  await tide.sync('budgets')
  expect(await differencesOf(tide, 'budgets')).toEqual([])
})

it('deleted budgets whose key came as text stop no run, and the one with a readable key is known to be deleted', async () => {
  await using tide = await aTide({ sandbox: { rows: 12 } })
  await tide.sync('budgets')
  const { world } = tide.sandbox
  const [odd, readable] = world.liveKeys('budgets') as [number, number]
  world.softDelete('budgets', odd)
  world.softDelete('budgets', readable)
  world.putRow('budgets', odd, { budgetId: '"abc"' })
  world.putRow('budgets', readable, { budgetId: `"${readable}"` })
  expect(await tide.sync('budgets')).toMatchObject([{ state: 'done' }])
  expect(new Set(await deletedOf(tide, readable))).toEqual(new Set([true]))
  expect(await tide.warehouse.rows('SELECT DISTINCT key FROM tidemark.rejected_rows')).toEqual([{ key: 'abc' }])
})

it('no load takes deleted budgets for live ones that a walk over a longer span brought before it was cut', async () => {
  const settings = { currencies: ['EUR'], defaults: { page_size: 20 }, limits: { load_rows_max: 25 } }
  await using tide = await aTide({ sandbox: { rows: 150, collections: false }, settings })
  const { world } = tide.sandbox
  for (const key of world.liveKeys('budgets').slice(20, 60)) world.softDelete('budgets', key)
  stampAlike(tide, 'budgets', world.keys('budgets').slice(10, 120))
  await tide.sync('budgets')
  const { warehouse } = tide.context
  const deletedNow = async (): Promise<number> => {
    const [row] = await warehouse.rows<{ n: number }>('SELECT count(*)::INT AS n FROM budgets WHERE is_deleted')
    return row?.n ?? 0
  }
  const before = await deletedNow()
  const counts: number[] = []
  const load: typeof warehouse.load = async (input) => {
    const loaded = await warehouse.load(input)
    counts.push(await deletedNow())
    return loaded
  }
  const context = { ...tide.context, warehouse: withMethods(warehouse, { load }) }
  tide.sandbox.setFaults(['unordered'])
  await reconcileReport(context, 'budgets', { runId: 'compared', allowMassDelete: false })
  expect(counts.length).toBeGreaterThan(2)
  expect(new Set(counts)).toEqual(new Set([before]))
})

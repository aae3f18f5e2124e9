/** Rows that the question leaves out are not absent: a reconcile says nothing of them, whatever was asked before. */
import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import type { ReportName } from '../../schema/index.ts'
import { reportOf } from '../../schema/index.ts'
import { systemClock } from '../../src/clock.ts'
import type { ReportConfig } from '../../src/config/config.ts'
import { type Instant, minusMs, plusMs } from '../../src/instant.ts'
import { reconcileReport } from '../../src/sync/reconcile.ts'
import type { SyncContext } from '../../src/sync/context.ts'
import { aTideWithoutCollections as aTide, type Tide } from '../support/tide.ts'
import { SECOND_MS, settings } from './stories.ts'

const DAY_S = 86_400

/** The rooms of the same Tidemark with another configuration of one report. */
function asking({ context }: Tide, report: ReportName, changed: Partial<ReportConfig>): SyncContext {
  const { reports } = context.settings
  return {
    ...context,
    settings: { ...context.settings, reports: { ...reports, [report]: { ...reports[report], ...changed } } },
  }
}

async function reconcile({ clock }: Tide, context: SyncContext, report: ReportName) {
  clock.pass(SECOND_MS)
  return (await reconcileReport(context, report, { runId: randomUUID(), allowMassDelete: true })).found
}

it.each([
  ['events', 'aggregate_record_modified'],
  ['budgets', 'modified_at'],
] as const)('a later start deletes none of the %s before it', { tags: 'long' }, async (report, stamp) => {
  await using tide = await aTide({ settings })
  await tide.sync(report)
  const [middle] = await tide.warehouse.rows<{ at: number }>(`SELECT epoch_us(median(${stamp})) AS at FROM ${report}`)
  const context = asking(tide, report, { start: Math.floor(middle?.at ?? 0) as Instant })
  for (let time = 0; time < 2; time += 1) {
    const found = await reconcile(tide, context, report)
    expect(found).toMatchObject({ absent: 0, deleted: 0 })
    expect(found.rows).toBeLessThan(tide.sandbox.world.keys(report).length)
  }
})

it('a budget whose modification time went back before the start is not deleted', async () => {
  await using tide = await aTide({ settings })
  const { world } = tide.sandbox
  const [key] = world.liveKeys('budgets') as [number]
  world.edit('budgets', key)
  await tide.sync('budgets')
  tide.sandbox.setFaults([`stamps-back:${2 * DAY_S}`])
  world.edit('budgets', key)
  const context = asking(tide, 'budgets', { start: minusMs(tide.clock.now(), DAY_S * 1_000) })
  expect(await reconcile(tide, context, 'budgets')).toMatchObject({ absent: 1, deleted: 0 })
  expect(await reconcile(tide, context, 'budgets')).toMatchObject({ absent: 0, deleted: 0 })
})

/** Reads all enquiries, and compares them twice with requests whose filter leaves all of them out. */
async function afterFilteredReconciles(): Promise<Tide> {
  const tide = await aTide({ settings })
  await tide.sync('enquiries')
  const filtered = asking(tide, 'enquiries', { filters: { companyId: -1 } })
  for (let time = 0; time < 2; time += 1) {
    expect(await reconcile(tide, filtered, 'enquiries')).toMatchObject({ rows: 0, absent: 0, deleted: 0 })
  }
  return tide
}

it('filters delete none of the rows that they leave out', async () => {
  await using tide = await afterFilteredReconciles()
  expect(await tide.warehouse.rows('SELECT enquiry_id FROM enquiries WHERE is_deleted')).toEqual([])
})

it('without its filters, a report needs two reconciles again before a row is deleted', { tags: 'long' }, async () => {
  await using tide = await afterFilteredReconciles()
  const { world } = tide.sandbox
  const [gone] = world.liveKeys('enquiries') as [number]
  world.softDelete('enquiries', gone)
  expect(await reconcile(tide, tide.context, 'enquiries')).toMatchObject({ absent: 1, deleted: 0 })
  expect(await reconcile(tide, tide.context, 'enquiries')).toMatchObject({ absent: 0, deleted: 1 })
})

const begun = (reconcileId: string) => ({ reconcileId, startedAt: systemClock.now(), reached: undefined })

it('a reconcile that was stopped begins anew when it asks something else', { tags: 'long' }, async () => {
  await using tide = await aTide({ settings })
  const report = reportOf('enquiries')
  const place = (start: Instant) => ({ report, scope: '', asked: { start, filters: {} } })
  const now = systemClock.now()
  const open = async (start: Instant, id: string) =>
    (await tide.warehouse.continueOrBeginReconcile(place(start), begun(id))).reconcileId
  expect(await open(now, 'first')).toBe('first')
  expect(await open(now, 'second')).toBe('first')
  expect(await open(plusMs(now, 1), 'third')).toBe('third')
  expect(await tide.warehouse.rows('SELECT reconcile_id AS id FROM tidemark.reconciles')).toEqual([{ id: 'third' }])
})

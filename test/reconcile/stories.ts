/** What tests of reconciles share: a reconcile in a new second, and the story of a deletion. */
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import type { ReportName } from '../../schema/index.ts'
import type { WorldReport } from '../../src/sandbox/server.ts'
import { reconcileReport } from '../../src/sync/reconcile.ts'
import { aTideWithoutCollections as aTide, type Tide } from '../support/tide.ts'
import { differencesOf } from '../sync/stories.ts'

export const settings = { currencies: ['EUR'], defaults: { page_size: 10 } }
/** A reconcile never misses what was observed in the second in which it begins, so that second has to pass. */
export const SECOND_MS = 1_050

export async function reconcile(tide: Pick<Tide, 'clock' | 'context'>, report: ReportName, allowMassDelete = false) {
  tide.clock.pass(SECOND_MS)
  return (await reconcileReport(tide.context, report, { runId: randomUUID(), allowMassDelete })).found
}

export async function deletionsOf(report: Exclude<WorldReport, 'events' | 'budgets'>): Promise<void> {
  await using tide = await aTide({ settings })
  await tide.sync(report)
  const { world } = tide.sandbox
  const [key] = world.liveKeys(report) as [number]
  world.softDelete(report, key)
  expect(await reconcile(tide, report)).toMatchObject({ absent: 1, deleted: 0 })
  const deleted = () => tide.warehouse.rows(`SELECT _delete_evidence AS evidence FROM ${report} WHERE is_deleted`)
  expect(await deleted()).toEqual([])
  expect(await reconcile(tide, report)).toMatchObject({ absent: 0, deleted: 1 })
  expect(await deleted()).toEqual([{ evidence: 'absence' }])
  expect(await differencesOf(tide, report)).toEqual([])
  world.undelete(report, key)
  await tide.sync(report)
  await reconcile(tide, report)
  expect(await deleted()).toEqual([])
  expect(await differencesOf(tide, report)).toEqual([])
}

/**
 * Reading parents again is no change of them (product contract §3): a reconcile, a backfill or a refill that finds
 * nothing new makes no record's audit be asked again, and one that finds a change makes that record's be.
 */
import { describe, expect, it } from 'vitest'
import type { ReportConfig } from '../../src/config/config.ts'
import { fromMillis } from '../../src/instant.ts'
import { backfillReport } from '../../src/sync/backfill/backfill.ts'
import { pullHere } from '../../src/sync/backfill/handover.ts'
import { reconcileReport } from '../../src/sync/reconcile.ts'
import { syncAll } from '../../src/sync/syncAll.ts'
import { aTide, type Tide } from '../support/tide.ts'
import { at } from '../support/warehouse.ts'

/** How many audits the next run asks for. */
async function auditsAsked(tide: Tide): Promise<number> {
  tide.sandbox.requests.clear()
  await tide.sync('enquiry_audit_entries')
  return tide.sandbox.requests.list().filter(({ path }) => path.endsWith('/Audit')).length
}

/** Enquiries whose audits were asked for, so that none is due; the service's clock has whole seconds. */
async function aFollowedTide(): Promise<Tide> {
  const tide = await aTide({ sandbox: { rows: 20 } })
  await tide.sync('enquiries', 'enquiry_audit_entries')
  await tide.context.clock.sleep(2_100)
  await auditsAsked(tide)
  return tide
}

const reconcile = async ({ context }: Tide): Promise<void> =>
  void (await reconcileReport(context, 'enquiries', { runId: 'compared', allowMassDelete: false }))

const backfill = async ({ context }: Tide): Promise<void> =>
  void (await backfillReport(context, {
    backfillId: 'again',
    report: 'enquiries',
    from: at('2000-01-01T00:00:00Z'),
    to: fromMillis(Date.now()),
    lanes: 1,
    pull: pullHere(context),
  }))

/** Another start: what lies before the mark is owed again, though its rows are the same. */
const refill = async (tide: Tide): Promise<void> => {
  const { reports } = tide.config
  const enquiries: ReportConfig = { ...reports.enquiries, start: at('1990-01-01T00:00:00Z'), overlapMs: 1 }
  const settings = { ...tide.context.settings, reports: { ...reports, enquiries } }
  for (const { error } of await syncAll({ ...tide.context, settings }, ['enquiries']))
    if (error !== undefined) throw error
}

describe.each([
  ['a reconcile', reconcile],
  ['a backfill', backfill],
  ['a refill', refill],
] as const)('%s of enquiries', (_, readAgain) => {
  it('that finds nothing new makes no audit be asked again', { tags: 'long' }, async () => {
    await using tide = await aFollowedTide()
    await readAgain(tide)
    expect(await auditsAsked(tide)).toBe(0)
  })

  it('that brings a change makes the audit of that enquiry be asked, and of no other', { tags: 'long' }, async () => {
    await using tide = await aFollowedTide()
    const [key] = tide.sandbox.world.liveKeys('enquiries') as [number]
    // As if its change had never come: what is held is an older version.
    await tide.warehouse.rows(
      `UPDATE enquiries SET _row_hash = 0, _observed_at = _observed_at - INTERVAL 1 HOUR WHERE enquiry_id = ${key}`,
    )
    await readAgain(tide)
    expect(await auditsAsked(tide)).toBe(1)
  })
})

/**
 * Loads the staged rows of one window of a backfill, one load per segment. The transaction of the last load also stores
 * that the window is proven and `done`. If a newer run has taken over the backfill (fence), nothing is loaded.
 */
import { reportOf } from '../../../schema/index.ts'
import { asSyncError } from '../../errors.ts'
import { joinProfiles, isSameProfile } from '../../plan/pagingProfile.ts'
import { catalogFrom } from '../../staging/catalog.ts'
import { stagedMissing } from '../../staging/spool.ts'
import type { BackfillLoad } from '../../warehouse/load/loadInput.ts'
import { followersOf } from '../followers.ts'
import { checkStaged, discardPulled, type PulledWindow, stagedSegment, questionOf } from './handover.ts'
import { loadRules, privacyTextOf } from '../privacy.ts'
import type { SyncContext } from '../context.ts'

/** Loads the window. Removes its files, even after an error. Throws STAGED_MISSING, FENCED, and errors of loads. */
export async function loadPulled(context: SyncContext, pulled: PulledWindow): Promise<void> {
  const { settings } = context
  const { staging } = settings
  const { report } = pulled.ask
  try {
    if (pulled.ask.numberMark !== context.warehouse.numberMark)
      throw stagedMissing('it was pulled for another warehouse')
    const question = questionOf(settings.reports[report], privacyTextOf(settings, report))
    if (pulled.ask.question !== question) throw stagedMissing('it was pulled with another configuration')
    await checkStaged(staging, pulled)
    for (const input of loadsOf(context, pulled)) await loadOne(context, pulled, input)
    await storeProfile(context, pulled)
  } finally {
    await discardPulled(staging, pulled)
  }
}

/** Stores the paging profile if the window has changed it. Most windows do not change it, and a commit takes time. */
async function storeProfile({ warehouse, settings }: SyncContext, { ask, profile }: PulledWindow): Promise<void> {
  const { report, fence } = ask
  if (isSameProfile(joinProfiles(ask.profile, profile), ask.profile)) return
  await warehouse.learnPagingProfile({ report, pageSize: settings.reports[report].pageSize, fence }, profile)
}

type OneLoad = Omit<BackfillLoad, 'now' | 'serviceNow'>

function loadsOf({ settings }: SyncContext, pulled: PulledWindow): OneLoad[] {
  const { ask, loads, rows, pages } = pulled
  const report = reportOf(ask.report)
  const catalog = catalogFrom(report, pulled.catalog)
  const { backfillId, number, fence } = ask
  const followers = followersOf(ask.report, settings.reports)
  const ending = { closes: loads.flatMap(({ closes }) => closes), completes: { backfillId, number, rows, pages } }
  return loads.map(({ segment, gone }, index) => ({
    kind: 'backfill',
    report,
    runId: backfillId,
    fence,
    followers,
    rules: loadRules(settings.reports[ask.report]),
    gone,
    ...(segment === undefined ? {} : { segment: { ...stagedSegment(settings.staging, pulled, segment), catalog } }),
    ...(index === loads.length - 1 ? ending : { closes: [] }),
  }))
}

async function loadOne(
  { warehouse, client, clock, signal, settings }: SyncContext,
  pulled: PulledWindow,
  input: OneLoad,
): Promise<void> {
  signal.throwIfAborted()
  try {
    await warehouse.load({ ...input, now: clock.now(), serviceNow: client.serviceNow() })
  } catch (error) {
    // DuckDB's error does not show whether a file is missing, so `checkStaged` throws STAGED_MISSING in that case.
    if (asSyncError(error).code === 'LOAD_REFUSED') await checkStaged(settings.staging, pulled)
    throw error
  }
}

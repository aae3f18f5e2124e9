/** Loads the staged rows of one window of a backfill. The last load also stores that the window is `done`. */
import { reportOf } from '../../../schema/index.ts'
import { joinProfiles, isSameProfile } from '../../plan/pagingProfile.ts'
import { catalogFrom } from '../../staging/catalog.ts'
import { stagedMissing } from '../../staging/spool.ts'
import type { BackfillLoad } from '../../warehouse/load/loadInput.ts'
import { followersOf } from '../followers.ts'
import { checkStaged, discardPulled, type PulledWindow, stagedSegment, questionOf } from './handover.ts'
import { loadStaged } from '../intake.ts'
import { loadRules } from '../privacy.ts'
import type { SyncContext } from '../context.ts'

/** Loads the window and removes its files, even after an error. Throws STAGED_MISSING, FENCED and errors of loads. */
export async function loadPulled(context: SyncContext, pulled: PulledWindow): Promise<void> {
  const { settings, warehouse, client, clock, signal } = context
  const { staging } = settings
  const { report } = pulled.ask
  try {
    if (pulled.ask.numberMark !== warehouse.numberMark) throw stagedMissing('it was pulled for another warehouse')
    if (pulled.ask.question !== questionOf(settings, report))
      throw stagedMissing('it was pulled with another configuration')
    await checkStaged(staging, pulled)
    for (const input of loadsOf(context, pulled)) {
      signal.throwIfAborted()
      await loadStaged(warehouse, { ...input, now: clock.now(), serviceNow: client.serviceNow() })
    }
    await storeProfile(context, pulled)
  } finally {
    await discardPulled(staging, pulled)
  }
}

/** Stores the paging profile if this window has changed it. Otherwise commits nothing, because a commit takes time. */
async function storeProfile({ warehouse, settings }: SyncContext, { ask, profile }: PulledWindow): Promise<void> {
  const { report, fence } = ask
  if (isSameProfile(joinProfiles(ask.profile, profile), ask.profile)) return
  await warehouse.learnPagingProfile({ report, pageSize: settings.reports[report].pageSize, fence }, profile)
}

function loadsOf({ settings }: SyncContext, pulled: PulledWindow): Omit<BackfillLoad, 'now' | 'serviceNow'>[] {
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

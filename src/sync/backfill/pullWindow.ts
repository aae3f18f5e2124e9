/** Reads and proves one window without a warehouse. Its rows stay in files, which the owner of the warehouse loads. */
import { reportOf } from '../../../schema/index.ts'
import { SyncError } from '../../errors.ts'
import { Handover, type PulledWindow, type PullAsk, questionOf } from './handover.ts'
import type { WalkContext } from '../context.ts'
import { Reading } from '../walk/reading.ts'
import { serviceClock } from '../walk/serviceClock.ts'

/** Reads a window, in this process or in another process with the same staging directory. Rejects after an abort. */
export type Pull = (ask: PullAsk, signal: AbortSignal) => Promise<PulledWindow>

export const pullHere =
  (context: PullContext): Pull =>
  (ask, signal) =>
    pullWindow({ ...context, signal, onProgress: () => undefined }, ask)

export type PullContext = Omit<WalkContext, 'warehouse' | 'fence'>

/** Reads the window. Throws errors of the walk, and CONFIG_INVALID if the backfill was planned with other settings. */
export async function pullWindow(given: PullContext, ask: PullAsk): Promise<PulledWindow> {
  const handover = new Handover(given.settings.staging, ask)
  try {
    return await pullInto(handover, { ...given, warehouse: handover, fence: ask.fence, priority: 'behind' }, ask)
  } catch (error) {
    await handover.discard()
    throw error
  }
}

async function pullInto(handover: Handover, context: WalkContext, ask: PullAsk): Promise<PulledWindow> {
  const { report, since, until, backfillId: runId, scope, profile } = ask
  const declaration = reportOf(report)
  const config = context.settings.reports[report]
  if (questionOf(context.settings, report) !== ask.question) throw settingsDiffer(report)
  const clock = await serviceClock(context, declaration, { currency: scope })
  const window = { since, until, clock }
  const reason = { kind: 'backfill' } as const
  await using reading = new Reading(context, { declaration, config, scope, runId, window, profile, reason })
  for await (const slice of reading.window({ since, until })) await reading.close(slice)
  await reading.intake.commit()
  const { pages } = reading.source
  return await handover.finish(reading.intake.catalog, { profile: pages.profile, pages: reading.pages })
}

function settingsDiffer(report: string): SyncError {
  return new SyncError(
    'CONFIG_INVALID',
    `the configuration of ${report} differs from that of the process that started its backfill`,
    {
      report,
      cure: `Give all workers the same page_size, expand flags, filters, ask_created, columns and hash key for ${report}, and restart them.`,
    },
  )
}

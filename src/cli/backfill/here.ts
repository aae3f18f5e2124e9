/** Backfills carried out in this process, when no worker owns the warehouse: pulled in a few lanes, then published. */
import { watchedBackfill } from '../../../jobs/backfill/backfill.ts'
import { asSyncError, type SyncError } from '../../errors.ts'
import { backfillReport } from '../../sync/backfill/backfill.ts'
import { type BackfillRequest, nameBackfill } from '../../sync/backfill/backfillRequest.ts'
import { pullHere } from '../../sync/backfill/pullWindow.ts'
import type { OwnWork } from '../ownWork.ts'
import { openContext, type OpenContext } from '../../wiring/openContext.ts'
import type { BackfillEnd, BackfillRunner, BackfillWork } from './work.ts'

/** Windows pulled side by side: while one is loaded, others are read. */
const LANES = 4

/** `own`: what this process has around work of its own. */
export const backfillHere =
  ({ log, observe, tell }: OwnWork): BackfillRunner =>
  async (work) => {
    const { shell, config, requests } = work
    const listener = { onProgress: () => undefined, onOutcome: () => undefined }
    await using open = await openContext(config, {
      clock: shell.clock,
      signal: shell.stop.signal,
      log,
      listener,
      observe,
    })
    const ends: BackfillEnd[] = []
    for (const request of requests) ends.push(await backfillOne(open, { ...work, tell }, request))
    try {
      return { ends, published: await open.warehouse.publish(config.published), publishFailure: undefined }
    } catch (error) {
      shell.stop.signal.throwIfAborted()
      return { ends, published: undefined, publishFailure: asSyncError(error) }
    }
  }

type Told = BackfillWork & Pick<OwnWork, 'tell'>

async function backfillOne({ context }: OpenContext, work: Told, request: BackfillRequest): Promise<BackfillEnd> {
  const { report } = request
  context.signal.throwIfAborted()
  try {
    const { start } = context.settings.reports[report]
    const parts = { books: context.warehouse.backfills, start, now: context.clock.now() }
    const named = await nameBackfill(request, parts)
    const pull = pullHere(context)
    const run = { report, kind: 'backfill', runId: named.backfillId } as const
    const { onProgress } = work
    const { outcome, result } = await watchedBackfill(context, run, () =>
      backfillReport(context, { ...named, lanes: LANES, pull, onProgress }),
    )
    work.tell('backfill', outcome)
    context.signal.throwIfAborted()
    return result === undefined ? { report, error: outcome.error as SyncError } : { report, outcome: result }
  } catch (error) {
    context.signal.throwIfAborted()
    return { report, error: asSyncError(error) }
  }
}

/** Backfills carried out in this process, when no worker owns the warehouse: pulled in a few lanes, then published. */
import { asSyncError } from '../../errors.ts'
import { backfillReport } from '../../sync/backfill.ts'
import { type BackfillRequest, nameBackfill } from '../../sync/backfillRequest.ts'
import { pullHere } from '../../sync/pullWindow.ts'
import { openRooms, type OpenRooms } from '../rooms.ts'
import type { BackfillEnd, BackfillRunner, BackfillWork } from './work.ts'

/** Windows pulled side by side: while one is loaded, others are read. */
const LANES = 4

export const backfillHere: BackfillRunner = async (work) => {
  const { shell, config, log, requests } = work
  const listener = { onProgress: () => undefined, onOutcome: () => undefined }
  await using open = await openRooms(config, { shell, log, listener })
  const ends: BackfillEnd[] = []
  for (const request of requests) ends.push(await backfillOne(open, work, request))
  try {
    return { ends, published: await open.warehouse.publish(config.published), publishFailure: undefined }
  } catch (error) {
    shell.stop.signal.throwIfAborted()
    return { ends, published: undefined, publishFailure: asSyncError(error) }
  }
}

async function backfillOne({ rooms }: OpenRooms, work: BackfillWork, request: BackfillRequest): Promise<BackfillEnd> {
  const { report } = request
  rooms.signal.throwIfAborted()
  try {
    const { start } = rooms.settings.reports[report]
    const parts = { books: rooms.warehouse.backfills, start, now: rooms.clock.now() }
    const named = await nameBackfill(request, parts)
    const pull = pullHere(rooms)
    return {
      report,
      outcome: await backfillReport(rooms, { ...named, lanes: LANES, pull, onProgress: work.onProgress }),
    }
  } catch (error) {
    rooms.signal.throwIfAborted()
    return { report, error: asSyncError(error) }
  }
}

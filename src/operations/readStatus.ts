/** Reads the state of each report from the worker, the warehouse or the published copy. */
import { type Waiting, within } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { standingsOf } from '../status/standing.ts'
import { lastUpkeep } from '../warehouse/database/upkeep.ts'
import { openNewest } from '../wiring/published.ts'
import type { AnswerOf } from './contract.ts'
import { findWorker, type OnSilence } from './findWorker.ts'

/** The time to wait for a worker's answer. If a busy worker takes longer, the published copy is read instead. */
const WORKER_MS_MAX = 5_000

/** The state that a worker returns, with its runs and queues. */
export interface WorkerStatus extends AnswerOf<'status'> {
  readonly from: 'worker'
  readonly path: string
}

/** The state of each report, and where it was read. `from` is null if there is no warehouse yet. */
export type Status =
  | WorkerStatus
  | ({ readonly from: 'warehouse' | 'published'; readonly path: string } & Pick<WorkerStatus, 'standings' | 'upkeep'>)
  | ({ readonly from: null; readonly path: null } & Pick<WorkerStatus, 'standings' | 'upkeep'>)

type StatusWaiting = Waiting & { readonly onSilence?: OnSilence }

export async function readStatus(config: Config, waiting: StatusWaiting): Promise<Status> {
  const answer = await askWorker(config, waiting)
  if (answer !== undefined) return { from: 'worker', path: config.warehouse, ...answer }
  const newest = await openNewest(config)
  if (newest === undefined) return { from: null, path: null, standings: [] }
  await using database = newest.database
  const standings = await standingsOf(database, config)
  return { from: newest.file, path: database.path, standings, upkeep: await lastUpkeep(database) }
}

async function askWorker(config: Config, { clock, signal, onSilence }: StatusWaiting) {
  await using worker = await findWorker(config, clock, onSilence)
  if (worker === undefined) return undefined
  return await within(WORKER_MS_MAX, clock, (late) => {
    const caller = { by: 'status', onEvent: () => undefined, signal: AbortSignal.any([signal, late]) }
    return worker.ask({ do: 'status' }, caller).catch(() => undefined)
  })
}

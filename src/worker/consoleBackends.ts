/** The console's backends: one for the worker that owns the warehouse, and one for each other worker. */
import type { Runs } from '../../jobs/runs/runs.ts'
import { type Clock, within } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { ConsoleBackend, BookReader } from '../console/backend.ts'
import { asSyncError, SyncError } from '../errors.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import { problemOf } from '../operations/contract.ts'
import { findWorker } from '../operations/findWorker.ts'
import type { WorkerOperations } from '../operations/workerOperations.ts'
import { openPublished } from '../wiring/published.ts'
import { standingsOf } from '../status/standing.ts'

export interface OwnerBackendOptions {
  readonly config: Config
  readonly clock: Clock
  readonly warehouse: Warehouse
  readonly operations: WorkerOperations
  readonly runs: Runs
}

export function ownerBackend({ config, clock, warehouse, operations, runs }: OwnerBackendOptions): ConsoleBackend {
  const books = warehouseReader(warehouse, config, clock)
  return {
    isOwner: true,
    answer: (request, caller) => operations.answer(request, caller),
    books,
    standings: () => standingsOf(books, config),
    running: () => runs.running,
    begun: () => runs.begun,
  }
}

export function remoteBackend(config: Config, clock: Clock): ConsoleBackend {
  const books = publishedReader(config)
  return {
    isOwner: false,
    answer: async (request, caller) => {
      try {
        await using worker = await findWorker(config, clock)
        if (worker === undefined) throw noOwnerError()
        return { result: await worker.ask(request, caller) }
      } catch (thrown) {
        return { error: problemOf(asSyncError(thrown)) }
      }
    },
    books,
    standings: () => standingsOf(books, config),
    running: () => [],
    begun: () => 0,
  }
}

const noOwnerError = (): SyncError =>
  new SyncError('WORKER_LOST', 'no worker owns the warehouse now', {
    cure: 'Start a worker with the role load. If a standby runs, wait: it takes over within seconds.',
  })

const WAREHOUSE_WAIT_MS_MAX = 2_000

/** Reads the warehouse or, while a load keeps the warehouse busy, the published copy. */
function warehouseReader(warehouse: Pick<Warehouse, 'rows'>, config: Config, clock: Clock): BookReader {
  const published = publishedReader(config)
  let isBusy = false
  return {
    rows: async <T>(sql: string): Promise<T[]> => {
      if (isBusy) return published.rows<T>(sql)
      const reading = warehouse.rows<T>(sql)
      const rows = await within(WAREHOUSE_WAIT_MS_MAX, clock, () => reading)
      if (rows !== undefined) return rows
      isBusy = true
      const free = () => (isBusy = false)
      reading.then(free, free)
      return published.rows<T>(sql).catch(() => reading)
    },
  }
}

/** Opens the copy for each query, because each publication replaces the file. */
const publishedReader = (config: Config): BookReader => ({
  rows: async <T>(sql: string): Promise<T[]> => {
    await using copy = await openPublished(config)
    return await copy.rows<T>(sql)
  },
})

/** Several workers as real processes on one lake in PostgreSQL and one queue in Redis, in one folder. */
import { join } from 'node:path'
import { expect } from 'vitest'
import { openStore } from '../../jobs/stores/openStore.ts'
import type { QueueStore } from '../../jobs/stores/store.ts'
import { reportNames, type ReportName } from '../../schema/index.ts'
import { systemClock } from '../../src/clock.ts'
import { loadConfig } from '../../src/config/config.ts'
import type { WorldReport } from '../../src/sandbox/server.ts'
import { openLake } from '../../src/warehouse/database/lake.ts'
import type { Warehouse } from '../../src/warehouse/warehouse.ts'
import { type Running, SECRET_TEXT } from '../cli/support.ts'
import { aWorkshop, hasSaid, linesOf, OWNS, until, type Workshop, type WorkshopOptions } from '../jobs/support.ts'
import { extensionsFolder } from '../support/extensions.ts'
import type { PostgresServer } from '../support/postgresServer.ts'
import { differencesButAbsence } from '../sync/stories.ts'
import { untrueBooks, type Stage } from '../sync/kills.ts'

export interface Lakeside extends Workshop {
  /** The catalogue, as a connection string. */
  readonly at: string
  rows<T>(sql: string): Promise<T[]>
  /** Starts workers and waits until each of them has opened the lake. */
  workers(count: number): Promise<Running[]>
  /** Starts a worker that reaches the catalogue at another port. */
  workerAt(port: number): Running
  /** Runs work with the queue of all workers. */
  queue<T>(work: (store: QueueStore) => Promise<T>): Promise<T>
  /** Rows that the lake lacks, has twice or has in another version than the service, and marks ahead of their rows. */
  problems(...reports: WorldReport[]): Promise<string[]>
  /** The problems that the lake may never have, also while runs are busy: rows twice, and marks ahead of their rows. */
  disorder(...reports: WorldReport[]): Promise<string[]>
}

/** With three workers on a busy machine, a worker can be slow for seconds. It must not lose its locks meanwhile. */
const LOCK_MS = '10000'

export interface LakesideOptions extends Omit<WorkshopOptions, 'store'> {
  /** Default: a Redis of the test's own. */
  readonly queue?: 'redis' | 'postgres'
}

export async function aLakeside(postgres: PostgresServer, options: LakesideOptions = {}): Promise<Lakeside> {
  const at = await postgres.newDatabase()
  const queueUrl = options.queue === 'postgres' ? urlOf(await postgres.newDatabase()) : undefined
  const sandbox = { collections: true, ...options.sandbox }
  const shop = await aWorkshop({ ...options, sandbox, store: queueUrl ?? 'redis' })
  const data = join(shop.folder, 'files')
  const extensions = extensionsFolder()
  const lake = { warehouse: `ducklake:postgres:${at}`, lake_data: data, extensions }
  await shop.configure({ limits: { warehouse_threads: 1 }, ...options.settings, ...lake })
  const place = { catalogue: 'postgres', at, data: `${data}/`, extensions } as const
  const openToRead = () => openLake(place, { memory: '256MB', readOnly: true })
  const start = () => shop.worker('--lock', LOCK_MS)
  const onStage = async (work: (stage: Stage) => Promise<string[]>): Promise<string[]> => {
    const config = await loadConfig({ cwd: shop.folder, env: { REPORTING_CLIENT_SECRET: SECRET_TEXT } })
    await using lake = await openToRead()
    return await work({ sandbox: shop.sandbox, warehouse: lake as unknown as Warehouse, config })
  }
  return {
    ...shop,
    worker: start,
    at,
    rows: async <T>(sql: string) => {
      await using lake = await openToRead()
      return await lake.rows<T>(sql)
    },
    workers: async (count) => {
      const started = Array.from({ length: count }, start)
      await until(() => started.every((each) => hasSaid(each, OWNS)))
      return started
    },
    workerAt: (port) =>
      shop.start(['worker', '--lock', LOCK_MS], {
        env: { TIDEMARK_WAREHOUSE: `ducklake:postgres:${at.replace(/port=\d+/, `port=${port}`)}` },
        isTied: true,
      }),
    queue: async (work) => {
      const setting = queueUrl ?? shop.redis?.url ?? ''
      await using store = await openStore(setting, { directory: '', clock: systemClock })
      return await work(store)
    },
    problems: (...reports) =>
      onStage(async (stage) => [
        ...(await differencesButAbsence(stage, ...reports)),
        ...(await untrueBooks(stage, reports)),
      ]),
    disorder: (...reports) => onStage((stage) => untrueBooks(stage, reports)),
  }
}

/** Counts the runs of a report that ended in this worker with this state. */
export const ended = (worker: Running, report: ReportName, state = 'done'): number =>
  linesOf(worker).filter((line) => line.report === report && line.state === state).length

/** Waits until the report has ended one more time than now, in any of the workers. */
export async function untilRunEnds(workers: readonly Running[], report: ReportName): Promise<void> {
  const count = () => workers.reduce((sum, worker) => sum + ended(worker, report), 0)
  const before = count()
  await until(() => count() > before)
}

/** Returns the warnings and errors that workers have logged, with all details. */
export const complaints = (workers: readonly Running[]): string[] =>
  workers.flatMap((worker) => linesOf(worker).filter(({ level }) => level >= 40)).map((line) => JSON.stringify(line))

export const RARELY = { every: '1d', reconcile_every: 'never' }

export async function stopAll(workers: readonly Running[]): Promise<void> {
  for (const worker of workers) worker.kill('SIGTERM')
  const codes = await Promise.all(workers.map(async (worker) => (await worker.ended).code))
  expect(codes).toEqual(workers.map(() => 0))
}

export const pause = (ms: number): Promise<void> => systemClock.sleep(ms)
export const ALL = reportNames

/** Returns the URL form of a connection string such as `host=… port=… user=… dbname=…`. */
export function urlOf(connection: string): `postgres://${string}` {
  const { host, port, user, dbname } = Object.fromEntries(connection.split(' ').map((part) => part.split('=')))
  return `postgres://${user}@${host}:${port}/${dbname}`
}

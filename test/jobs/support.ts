/**
 * Starts workers in a folder of the test, with a queue and a sandbox. Locks are short, so that a death is noticed soon.
 */
import { reportNames } from '../../schema/index.ts'
import type { SandboxOptions } from '../../src/sandbox/server.ts'
import { systemClock } from '../../src/clock.ts'
import { type Config, loadConfig } from '../../src/config/config.ts'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import { aWorldWithoutCollections, type Ended, type Running, type World } from '../cli/support.ts'
import { type RedisServer, startRedis } from '../support/redisServer.ts'
import { copyEmbeddedStore } from '../support/templates.ts'
import { waitsFor, Witness } from './witness.ts'

export type Store = 'redis' | 'embedded'

export interface Workshop extends World {
  readonly redis: RedisServer | undefined
  /** Starts a worker without waiting for it. */
  worker(...args: string[]): Running
  configure(settings: Readonly<Record<string, unknown>>): Promise<void>
  status(): Promise<StatusDocument>
}

export interface StatusDocument {
  readonly from: string
  readonly reports: readonly { readonly report: string; readonly state: string; readonly rows: number }[]
  readonly running?: readonly { readonly runId: string; readonly report: string; readonly kind: string }[]
  readonly waiting?: readonly { readonly id: string }[]
  readonly queues?: Readonly<Record<string, Record<string, number>>>
}

export interface WorkshopOptions {
  /** The URL of a queue, or the store that the workshop starts. */
  readonly store: Store | `${'redis' | 'postgres'}://${string}`
  /** The collections are empty by default. */
  readonly sandbox?: SandboxOptions
  readonly settings?: Readonly<Record<string, unknown>>
  readonly env?: NodeJS.ProcessEnv
}

const LOCK_MS = '1500'

export async function aWorkshop({ store, sandbox, settings = {}, env = {} }: WorkshopOptions): Promise<Workshop> {
  const redis = store === 'redis' ? await startRedis() : undefined
  const queue = { queue: redis?.url ?? store }
  const world = await aWorldWithoutCollections({
    ...(sandbox && { sandbox }),
    settings: { ...ONLY_EVENTS, ...settings, ...queue },
    env,
  })
  if (store === 'embedded') await copyEmbeddedStore(`${world.folder}/data/warehouse.duckdb.queue`)
  const started: Running[] = []
  const witness = new Witness()
  const start: World['start'] = (args, options) => witness.sees(args, world.start(args, options))
  return {
    ...world,
    redis,
    start,
    worker: (...args) => {
      const running = start(['worker', '--lock', LOCK_MS, ...args], { isTied: true })
      started.push(running)
      return running
    },
    configure: (changed) => world.configure({ ...ONLY_EVENTS, ...changed, ...queue }),
    status: async () => JSON.parse((await world.run('status', '--json')).stdout) as StatusDocument,
    [Symbol.asyncDispose]: async () => {
      witness.leaves()
      for (const running of started) running.kill('SIGKILL')
      await Promise.all(started.map(({ ended }) => ended))
      await redis?.stop()
      await world[Symbol.asyncDispose]()
    },
  }
}

const ONLY_EVENTS = {
  currencies: [],
  defaults: { every: '1s', reconcile_every: 'never' },
  reports: Object.fromEntries(
    reportNames.filter((name) => name !== 'events').map((name) => [name, { enabled: false }]),
  ),
}

/** Returns the settings of these reports. All others are off. */
export const reportsOnly = (reports: Readonly<Record<string, object>>): Record<string, object> => ({
  ...ONLY_EVENTS.reports,
  ...(!('events' in reports) && { events: { enabled: false } }),
  ...reports,
})

const LOOK_MS_MIN = 50
/** The tested program needs the processor more than the polling does. */
const REST_PER_LOOK = 4

/** The time limit of the test ends this, and prints the condition. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  using _ = waitsFor(isSo)
  for (;;) {
    const beganMs = systemClock.monotonicMs()
    if (await isSo()) return
    await systemClock.sleep(Math.max(LOOK_MS_MIN, REST_PER_LOOK * (systemClock.monotonicMs() - beganMs)))
  }
}

/** Rejects if one of the workers ends first. */
export function whileAllRun<T>(workers: readonly Running[], waited: Promise<T>): Promise<T> {
  const ends = workers.map(async ({ pid, ended }) => {
    const { code, signal, stderr } = await ended
    throw new TypeError(`worker ${pid} ended with ${signal ?? code}: ${stderr}`)
  })
  return Promise.race([waited, ...ends])
}

/** Returns rows of the published copy, or none if there is no copy. */
export async function published<T>({ folder }: { folder: string }, sql: string): Promise<T[]> {
  const path = `${folder}/data/published.duckdb`
  try {
    await using copy = await Database.open(path, { readOnly: true, memory: '256MB', threads: 1 })
    return await copy.rows<T>(sql)
  } catch {
    return []
  }
}

/** Reads the warehouse, whose owner must have ended. */
export async function held<T>({ folder }: { folder: string }, sql: string): Promise<T[]> {
  await using warehouse = await Database.open(`${folder}/data/warehouse.duckdb`, {
    readOnly: true,
    memory: '256MB',
    threads: 1,
  })
  return await warehouse.rows<T>(sql)
}

export async function stop(running: Running): Promise<Ended> {
  running.kill('SIGTERM')
  return await running.ended
}

/** A worker logs this when it owns the warehouse. */
export const OWNS = 'this process owns the warehouse'
/** The new owner logs this after it has returned the jobs of a dead owner. */
export const TAKES_OVER = 'took over the jobs of an owner that has died'

export interface Line {
  readonly msg: string
  readonly level: number
  readonly report?: string
  readonly state?: string
  readonly code?: string
}

/** Returns the log lines so far. */
export const linesOf = (running: Running): Line[] =>
  running
    .said()
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Line)

export const hasSaid = (running: Running, text: string): boolean =>
  linesOf(running).some(({ msg }) => msg.includes(text))

/** Reads a configuration without a file. */
export const configOf = (env: Record<string, string> = {}): Promise<Config> =>
  loadConfig({
    cwd: '/',
    env: {
      REPORTING_BASE_URL: 'http://localhost',
      REPORTING_CLIENT_ID: 'a',
      REPORTING_CLIENT_SECRET: 'secret',
      TIDEMARK_CURRENCIES: 'EUR',
      ...env,
    },
  })

/** The stores for which a suite runs: Redis, the embedded store and, if it is installed, PostgreSQL. */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { inject } from 'vitest'
import { openStore, PREFIX } from '../../../jobs/stores/openStore.ts'
import type { OpenOptions, QueueStore, StoreKind } from '../../../jobs/stores/store.ts'
import { systemClock } from '../../../src/clock.ts'
import { COMPILED } from '../../support/compiled.ts'
import { findPostgres, startPostgres } from '../../support/postgresServer.ts'
import { copyEmbeddedStore } from '../../support/templates.ts'

export interface Ground extends AsyncDisposable {
  readonly kind: StoreKind
  readonly setting: string
  readonly directory: string
  readonly prefix: string
  /** Opens the store once more, as another process would. */
  open(options?: Partial<OpenOptions>): Promise<QueueStore>
}

/** With longer locks, each test of a death would wait for seconds. */
export const QUICK_LOCKS = { lockDuration: 1_500, stalledInterval: 500 }

export const LEASE_MS = 1_000

export const aPrefix = (): string => `t${randomBytes(6).toString('hex')}`

const postgres = findPostgres()

/** Without PostgreSQL, the title of the embedded store contains the reason. */
export const grounds: readonly { title: string; kind: StoreKind; lay: () => Promise<Ground> }[] = [
  { title: 'redis', kind: 'redis', lay: () => lay('redis', inject('redisUrl')) },
  {
    title: postgres === undefined ? 'embedded (no PostgreSQL on this machine)' : 'embedded',
    kind: 'embedded',
    lay: () => lay('embedded', 'embedded'),
  },
  ...(postgres === undefined
    ? []
    : [
        {
          title: 'postgres',
          kind: 'postgres' as const,
          lay: async () => {
            const server = await startPostgres(postgres)
            return lay('postgres', server.url, () => server.stop())
          },
        },
      ]),
]

export const aGround = (kind: StoreKind, setting: string): Promise<Ground> => lay(kind, setting)

async function lay(kind: StoreKind, setting: string, end: () => Promise<void> = async () => undefined) {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-store-'))
  const directory = join(folder, 'warehouse.duckdb.queue')
  // The template has the tables of the usual prefix.
  const prefix = kind === 'embedded' ? PREFIX : aPrefix()
  if (kind === 'embedded') await copyEmbeddedStore(directory)
  const options = { directory, prefix, clock: systemClock, leaseMs: LEASE_MS }
  const ground: Ground = {
    kind,
    setting,
    directory,
    prefix,
    open: (more = {}) => openStore(setting, { ...options, ...more }),
    [Symbol.asyncDispose]: async () => {
      await end()
      await rm(folder, { recursive: true, force: true })
    },
  }
  return ground
}

export interface Program extends AsyncDisposable {
  /** Returns the next line of the output. */
  line(): Promise<string>
  kill(signal: NodeJS.Signals): Promise<void>
  readonly exited: Promise<number | null>
}

/** Starts a program of the folder `programs` in its own process. */
export function startProgram(name: string, settings: Record<string, string>): Program {
  const path = new URL(`programs/${name}.ts`, import.meta.url).pathname
  const child = spawn(process.execPath, [path], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_COMPILE_CACHE: COMPILED, ...settings },
  })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const exited = once(child, 'exit').then(() => child.exitCode)
  const kill = async (signal: NodeJS.Signals) => {
    child.kill(signal)
    await exited
  }
  return {
    line: async () => {
      const { value, done } = await lines.next()
      if (done === true) throw new TypeError(`${name} ended without a word`)
      return value
    },
    kill,
    exited,
    [Symbol.asyncDispose]: () => kill('SIGKILL'),
  }
}

/** Returns the settings with which a program opens the same store. */
export const settingsOf = ({ setting, directory, prefix }: Ground): Record<string, string> => ({
  STORE: setting,
  STORE_DIRECTORY: directory,
  STORE_PREFIX: prefix,
})

export async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await systemClock.sleep(20)
}

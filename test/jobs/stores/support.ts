/**
 * The stores that one suite runs over: a real Redis, the embedded store, and PostgreSQL where its programs are on this
 * machine. Each test file gets a prefix of its own, each test a queue of its own.
 */
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
  /** Opens the store of this ground once more, as another process would; the embedded one is there only once. */
  open(options?: Partial<OpenOptions>): Promise<QueueStore>
}

/** Locks of seconds would make every test of a death wait for seconds. */
export const QUICK_LOCKS = { lockDuration: 1_500, stalledInterval: 500 }

/** Takes turns in no test's way: short leases. */
export const LEASE_MS = 1_000

export const aPrefix = (): string => `t${randomBytes(6).toString('hex')}`

const postgres = findPostgres()

/** Kind by kind; where there is no PostgreSQL the title of the other suites says so. */
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
  // The template has its tables under the usual prefix, and nobody else has this directory.
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
  /** The next line that it writes. */
  line(): Promise<string>
  kill(signal: NodeJS.Signals): Promise<void>
  readonly exited: Promise<number | null>
}

/** A program of programs/ in a process of its own. */
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

/** What a program needs to open the same store. */
export const settingsOf = ({ setting, directory, prefix }: Ground): Record<string, string> => ({
  STORE: setting,
  STORE_DIRECTORY: directory,
  STORE_PREFIX: prefix,
})

/** Waits for something to become true; the test's own time limit ends it. */
export async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await systemClock.sleep(20)
}

/**
 * Runs the program in a folder of the test, with a sandbox in the test's process. `run` uses the test's process, which
 * takes a tenth of the time of `start`.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { systemClock } from '../../src/clock.ts'
import { SCOPES } from '../../src/sandbox/reports/index.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/server.ts'
import { ROOT } from '../rules/source.ts'
import { copyWarehouse } from '../support/templates.ts'
import { COMPILED } from '../support/compiled.ts'
import { runHere } from './inProcess.ts'

export const LAUNCHER = path.join(ROOT, 'bin/tidemark.js')
export const SECRET_TEXT = 'marked-hunter2-"secret"'

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export interface Running {
  readonly pid: number
  readonly ended: Promise<Ended>
  /** Returns the text on standard output and standard error so far. */
  said(): string
  kill(signal: NodeJS.Signals): void
}

export interface Place extends AsyncDisposable {
  readonly folder: string
  start(args: readonly string[], options?: StartOptions): Running
  /** Runs a command in the test's process. */
  run(...args: string[]): Promise<Ended>
  /** Runs a command with these additional variables. */
  runWith(env: NodeJS.ProcessEnv, ...args: string[]): Promise<Ended>
}

export interface StartOptions {
  readonly env?: NodeJS.ProcessEnv
  readonly node?: string
  /** If true, the process ends with the process of the test. */
  readonly isTied?: boolean
}

export interface PlaceOptions {
  readonly files?: Readonly<Record<string, string>>
  readonly env?: NodeJS.ProcessEnv
}

/** Creates a folder with these files. Programs in it have only these variables. */
export async function aPlace({ files = {}, env = {} }: PlaceOptions = {}): Promise<Place> {
  const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-cli-'))
  for (const [name, content] of Object.entries(files)) await writeFile(path.join(folder, name), content)
  const start = (args: readonly string[], options: StartOptions = {}): Running =>
    startIn(folder, args, { ...options, env: { ...env, ...options.env } })
  const runWith: Place['runWith'] = (more, ...args) => runHere(folder, args, environmentOf(folder, { ...env, ...more }))
  return {
    folder,
    start,
    run: (...args) => runWith({}, ...args),
    runWith,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  }
}

const environmentOf = (cwd: string, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  HOME: cwd,
  TIDEMARK_CONSOLE_PORT: '0',
  ...env,
})

function startIn(
  cwd: string,
  args: readonly string[],
  { env, node = process.execPath, isTied = false }: StartOptions,
): Running {
  const child = spawn(node, [LAUNCHER, ...args], {
    cwd,
    env: environmentOf(cwd, { NODE_COMPILE_CACHE: COMPILED, ...env }),
    stdio: ['ignore', 'pipe', 'pipe', ...(isTied ? (['ipc'] as const) : [])],
  }) as ChildProcessByStdio<null, Readable, Readable>
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]).then(
    ([stdout, stderr, [code, signal]]): Ended => ({
      code: code as number | null,
      signal: signal as NodeJS.Signals | null,
      stdout,
      stderr,
    }),
  )
  return { pid: child.pid ?? 0, ended, said: () => said, kill: (signal) => void child.kill(signal) }
}

/** A start may take ten seconds on a busy machine. */
const UNTIL_MS_MAX = 250_000

export async function until(isSo: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const end = systemClock.monotonicMs() + UNTIL_MS_MAX
  while (!(await isSo())) {
    if (systemClock.monotonicMs() > end) throw new TypeError(`it never came to this: ${what}`)
    await systemClock.sleep(25)
  }
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

export interface World extends Place {
  readonly sandbox: Sandbox
  /** Writes `tidemark.yaml` with the service and these settings. */
  configure(settings: Readonly<Record<string, unknown>>): Promise<void>
}

export interface WorldOptions {
  readonly sandbox?: SandboxOptions
  readonly settings?: Readonly<Record<string, unknown>>
  readonly env?: NodeJS.ProcessEnv
  /** If true, no command has created a warehouse. */
  readonly isNew?: boolean
}

/** Starts a sandbox, and creates a folder whose `tidemark.yaml` names it. */
export async function aWorld({ sandbox: options, settings, env, isNew = false }: WorldOptions = {}): Promise<World> {
  const client = { clientId: 'acme', clientSecret: SECRET_TEXT, scopes: SCOPES, ...options?.clients?.[0] }
  const sandbox = await startSandbox({ rows: 40, ...options, clients: [client] })
  const yaml = { service: { base_url: sandbox.url, client_id: 'acme' }, ...SETTINGS, ...settings }
  const place = await aPlace({
    files: { 'tidemark.yaml': JSON.stringify(yaml) },
    env: { REPORTING_CLIENT_SECRET: SECRET_TEXT, ...env },
  })
  const configure = (changed: Readonly<Record<string, unknown>>) =>
    writeFile(path.join(place.folder, 'tidemark.yaml'), JSON.stringify({ ...yaml, ...changed }))
  if (!isNew) await copyWarehouse(path.join(place.folder, 'data/warehouse.duckdb'))
  return {
    ...place,
    sandbox,
    configure,
    [Symbol.asyncDispose]: async () => {
      await sandbox.close()
      await place[Symbol.asyncDispose]()
    },
  }
}

/** Creates a world whose collections are empty, for tests of other things. */
export const aWorldWithoutCollections = (options: WorldOptions = {}): Promise<World> =>
  aWorld({ ...options, sandbox: { collections: false, ...options.sandbox } })

/** Entity 3 of the sandbox's audit trail is events. */
const SETTINGS = {
  limits: { warehouse_threads: 1 },
  currencies: ['EUR'],
  reports: { audit_entries: { entities: [{ entity_id: 3, follows: 'events' }] } },
}

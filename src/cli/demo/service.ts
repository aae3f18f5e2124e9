/** The processes of the demo, `tidemark sandbox` and `tidemark worker`: each ends when its channel to the demo closes. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Clock } from '../../clock.ts'
import { SyncError } from '../../errors.ts'
import type { WorldChange } from '../../sandbox/server.ts'
import type { Shell } from '../shell.ts'
import { LAUNCHER } from '../../wiring/version.ts'
import { closeSync, openSync } from 'node:fs'
import type { Config } from '../../config/config.ts'
import { findWorker, type WorkerConnection } from '../../operations/worker.ts'

export interface DemoService extends AsyncDisposable {
  readonly url: string
  readonly clientId: string
  readonly clientSecret: string
  /** Changes a row of the service, as a user of the service would. */
  change(change: Change): Promise<WorldChange>
}

export interface Change {
  readonly action: 'edit' | 'addChild' | 'editChild' | 'softDelete' | 'insert' | 'tick'
  readonly report?: string
  readonly key?: number
  readonly field?: string
}

export type { WorldChange }

/** Milliseconds for which the demo waits for the service to end before it kills the service. */
const END_MS_MAX = 2_000

export async function startService(shell: Shell, rows: number): Promise<DemoService> {
  const child = spawn(process.execPath, [LAUNCHER, 'sandbox', '--json', '--rows', String(rows)], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: process.env,
  })
  const end = () => endChild(child, shell.clock, END_MS_MAX)
  try {
    const { url, client_id: clientId, client_secret: clientSecret, control } = await readAddress(child, shell)
    const change = (body: Change) => post<WorldChange>(`${control}/change`, body, shell.stop.signal)
    return { url, clientId, clientSecret, change, [Symbol.asyncDispose]: end }
  } catch (error) {
    await end()
    throw error
  }
}

interface ServiceAddress {
  readonly url: string
  readonly client_id: string
  readonly client_secret: string
  readonly control: string
}

/** Reads the service's address from the first line of its output. */
async function readAddress(child: ChildProcess, { stop }: Shell): Promise<ServiceAddress> {
  if (child.stdout !== null) {
    using _ = stop.signal.aborted ? undefined : killOnAbort(child, stop.signal)
    for await (const line of createInterface(child.stdout)) return JSON.parse(line) as ServiceAddress
  }
  stop.signal.throwIfAborted()
  throw new SyncError('SERVICE_UNREACHABLE', 'the demo service did not start', {
    cure: 'Run "tidemark sandbox" to see why.',
  })
}

/** Kills the service if the demo is stopped before the service has printed its address. */
function killOnAbort(child: ChildProcess, signal: AbortSignal): Disposable {
  const kill = () => child.kill()
  signal.addEventListener('abort', kill)
  return { [Symbol.dispose]: () => signal.removeEventListener('abort', kill) }
}

/** Ends a process of the demo by closing its channel. Kills a process that has not ended after `msMax`. */
export async function endChild(child: ChildProcess, clock: Clock, msMax: number): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  if (child.connected) child.disconnect()
  const cancelTimer = clock.after(msMax, () => child.kill('SIGKILL'))
  await exit
  cancelTimer()
}

async function post<T>(url: string, body: object, signal: AbortSignal): Promise<T> {
  const answer = await fetch(url, { method: 'POST', body: JSON.stringify(body), signal })
  const result: unknown = await answer.json()
  if (answer.ok) return result as T
  throw new SyncError('STATUS_UNEXPECTED', `the demo service refused a change: ${JSON.stringify(result)}`, {
    cure: 'This is a defect of the demo: please report it.',
  })
}

interface DemoWorker extends AsyncDisposable {
  readonly connection: WorkerConnection
  readonly console: string
}

const POLL_EVERY_MS = 100
/** Time limit (ms) for the worker's start. The first start takes longest, because it creates the queue's store. */
const START_MS_MAX = 120_000
const WORKER_END_MS_MAX = 5_000

/** Starts the worker. Resolves when the worker owns the warehouse and answers requests. */
export async function startWorker(shell: Shell, config: Config, folder: string): Promise<DemoWorker> {
  const log = openSync(`${folder}/worker.log`, 'w')
  const child = spawn(process.execPath, [LAUNCHER, 'worker'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', log, 'ipc'],
    // Passes only these two variables. Others, such as TIDEMARK_WAREHOUSE, would change the demo's configuration.
    env: { PATH: shell.env['PATH'], HOME: shell.env['HOME'] },
  })
  closeSync(log)
  const end = () => endChild(child, shell.clock, WORKER_END_MS_MAX)
  try {
    const connection = await awaitOwner(child, shell, config)
    const caller = { by: 'demo', tell: () => undefined, signal: shell.stop.signal }
    const { console = '' } = await connection.ask({ do: 'status' }, caller)
    return { connection, console, [Symbol.asyncDispose]: end }
  } catch (error) {
    await end()
    throw error
  }
}

async function awaitOwner(child: ChildProcess, shell: Shell, config: Config): Promise<WorkerConnection> {
  const { clock, stop } = shell
  const startedMs = clock.monotonicMs()
  while (child.exitCode === null && clock.monotonicMs() - startedMs < START_MS_MAX) {
    const connection = await findWorker(config, clock)
    if (connection !== undefined) return connection
    await clock.sleep(POLL_EVERY_MS, stop.signal)
  }
  throw new SyncError('WORKER_LOST', "the demo's worker did not start", {
    cure: 'Look at worker.log in the folder of the demo.',
  })
}

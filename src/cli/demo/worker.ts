/** Starts `tidemark worker` in its own process for the demo. The worker ends when its channel to the demo closes. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import type { Clock } from '../../clock.ts'
import type { Config } from '../../config/config.ts'
import { SyncError } from '../../errors.ts'
import { findWorker, type WorkerConnection } from '../../operations/worker.ts'
import { LAUNCHER } from '../../wiring/version.ts'
import type { Shell } from '../shell.ts'

interface DemoWorker extends AsyncDisposable {
  readonly connection: WorkerConnection
  readonly console: string
}

const POLL_EVERY_MS = 100
const START_MS_MAX = 120_000
const END_MS_MAX = 5_000

export async function startWorker(shell: Shell, config: Config, folder: string): Promise<DemoWorker> {
  const log = openSync(`${folder}/worker.log`, 'w')
  const child = spawn(process.execPath, [LAUNCHER, 'worker'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', log, 'ipc'],
    // Passes only these two variables. Others, such as TIDEMARK_WAREHOUSE, would change the configuration.
    env: { PATH: shell.env['PATH'], HOME: shell.env['HOME'] },
  })
  closeSync(log)
  const end = () => endChild(child, shell.clock)
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

async function endChild(child: ChildProcess, clock: Clock): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  if (child.connected) child.disconnect()
  const cancelTimer = clock.after(END_MS_MAX, () => child.kill('SIGKILL'))
  await exit
  cancelTimer()
}

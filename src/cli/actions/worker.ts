/** `tidemark worker` runs a worker until it is stopped. `tidemark health` checks the heartbeat that workers write. */
import { runWorker, type WorkerOptions } from '../../worker/worker.ts'
import type { ExitCode, Shell } from '../shell.ts'
import type { CommandOptions } from '../commandOutput.ts'
import { HEARTBEAT_AGE_MS_MAX, heartbeatAgeMs } from '../../worker/heartbeat.ts'

export async function worker(shell: Shell, { config, ...options }: CommandOptions & WorkerOptions): Promise<ExitCode> {
  await runWorker(shell, config, options)
  return 0
}

export async function health(shell: Shell, { config: { warehouse } }: CommandOptions): Promise<ExitCode> {
  const silent = await heartbeatAgeMs(warehouse, shell.clock)
  const isAlive = silent !== undefined && silent < HEARTBEAT_AGE_MS_MAX
  const said =
    silent === undefined
      ? 'no worker of this warehouse runs on this machine: start "tidemark worker"'
      : `a worker last showed that it lives ${Math.round(silent / 1_000)} s ago`
  shell.out.write(`${said}\n`)
  return isAlive ? 0 : 1
}

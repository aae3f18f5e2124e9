/** `tidemark worker` runs a worker until it is stopped. `tidemark health` checks the heartbeat that workers write. */
import { HEARTBEAT_AGE_MS_MAX, heartbeatAgeMs } from '../../worker/heartbeat.ts'
import { runWorker, type WorkerOptions } from '../../worker/worker.ts'
import type { Action, CommandOptions } from '../shell.ts'

export const worker: Action<CommandOptions & WorkerOptions> = async (shell, { config, ...options }) => {
  await runWorker(shell, config, options)
  return 0
}

export const health: Action = async ({ out, clock }, { config }) => {
  const silentMs = await heartbeatAgeMs(config.warehouse, clock)
  if (silentMs === undefined) out.write('no worker of this warehouse runs on this machine: start "tidemark worker"\n')
  else out.write(`a worker last showed that it lives ${Math.round(silentMs / 1_000)} s ago\n`)
  return silentMs !== undefined && silentMs < HEARTBEAT_AGE_MS_MAX ? 0 : 1
}

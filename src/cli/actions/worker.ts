/** `tidemark worker` runs a worker until it is stopped. `tidemark health` checks the heartbeat that workers write. */
import { HEARTBEAT_AGE_MS_MAX, heartbeatAgeMs } from '../../worker/heartbeat.ts'
import type { WorkerOptions } from '../../library/tidemark.ts'
import { createLog } from '../../log.ts'
import type { Host } from '../../operations/surroundings.ts'
import { logLevelOf } from '../../wiring/workLog.ts'
import type { Role } from '../../worker/roles.ts'
import type { Action, CommandOptions } from '../shell.ts'
import { tidemarkOf } from '../performAndPrint.ts'

type WorkerSettings = CommandOptions & Pick<WorkerOptions, 'lock'> & { readonly roles?: string }

export const worker: Action<WorkerSettings> = async (shell, { config, lock, ...options }) => {
  const { env, out, err, stop } = shell
  const openLog: Host['openLog'] = (keep) => createLog({ level: logLevelOf(env, 'info'), keep })
  await using tidemark = tidemarkOf(shell, { config }, openLog)
  stop.endsWell()
  if (stop.signal.aborted) return 0
  const roles = options.roles?.split(',') as Role[] | undefined
  const run = tidemark.startWorker({ roles, lock, signal: stop.signal })
  for await (const { text, hasToken } of run) (hasToken ? err : out).write(text)
  return 0
}

export const health: Action = async ({ out, clock }, { config }) => {
  const silentMs = await heartbeatAgeMs(config.warehouse, clock)
  if (silentMs === undefined) out.write('no worker of this warehouse runs on this machine: start "tidemark worker"\n')
  else out.write(`a worker last showed that it lives ${Math.round(silentMs / 1_000)} s ago\n`)
  return silentMs !== undefined && silentMs < HEARTBEAT_AGE_MS_MAX ? 0 : 1
}

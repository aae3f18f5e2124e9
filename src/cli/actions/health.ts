/** `tidemark health`: checks the heartbeat file that every worker writes. */
import { configOf } from '../configOf.ts'
import type { ExitCode, Shell } from '../shell.ts'
import { HEARTBEAT_AGE_MS_MAX, heartbeatAgeMs } from '../../worker/heartbeat.ts'

export interface HealthOptions {
  readonly config?: string
}

export async function health(shell: Shell, { config: file }: HealthOptions): Promise<ExitCode> {
  const { warehouse } = await configOf(shell, file)
  const silent = await heartbeatAgeMs(warehouse, shell.clock)
  const isAlive = silent !== undefined && silent < HEARTBEAT_AGE_MS_MAX
  const said =
    silent === undefined
      ? 'no worker of this warehouse runs on this machine: start "tidemark worker"'
      : `a worker last showed that it lives ${Math.round(silent / 1_000)} s ago`
  shell.out.write(`${said}\n`)
  return isAlive ? 0 : 1
}

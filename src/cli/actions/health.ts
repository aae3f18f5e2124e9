/** `tidemark health`: checks the heartbeat file that every worker writes. */
import type { ExitCode, Shell } from '../shell.ts'
import type { CommandOptions } from '../voices.ts'
import { HEARTBEAT_AGE_MS_MAX, heartbeatAgeMs } from '../../worker/heartbeat.ts'

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

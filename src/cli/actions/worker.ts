/** `tidemark worker`: runs a worker until it is stopped. */
import { runWorker, type WorkerOptions } from '../../worker/worker.ts'
import type { ExitCode, Shell } from '../shell.ts'
import type { CommandOptions } from '../voices.ts'

export async function worker(shell: Shell, { config, ...options }: CommandOptions & WorkerOptions): Promise<ExitCode> {
  await runWorker(shell, config, options)
  return 0
}

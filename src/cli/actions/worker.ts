/** What `tidemark worker` does: it reads the configuration and runs a worker until it is stopped. */
import { runWorker, type WorkerOptions as RunOptions } from '../../worker/worker.ts'
import { configOf } from '../configOf.ts'
import type { ExitCode, Shell } from '../shell.ts'

export interface WorkerOptions extends RunOptions {
  readonly config?: string
}

export async function worker(shell: Shell, { config, ...options }: WorkerOptions): Promise<ExitCode> {
  await runWorker(shell, await configOf(shell, config), options)
  return 0
}

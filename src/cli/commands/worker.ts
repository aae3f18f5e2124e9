/** `tidemark worker`, as it is typed. */
import { type Command, Option } from 'commander'
import type { WorkerOptions } from '../actions/worker.ts'
import { wholeNumber } from '../numbers.ts'
import type { Done, Shell } from '../shell.ts'

const EXAMPLES = `
Examples:
  $ tidemark worker                          everything, in this process
  $ tidemark worker --roles pull             another process on the same Redis that pulls windows of backfills

It works until it is stopped (Ctrl-C, SIGTERM) and then hands its jobs back. One process owns the warehouse; others with
the role load stand by. Other commands hand their work to it while it runs.`

export function workerCommand(program: Command, shell: Shell, done: Done): void {
  program
    .command('worker')
    .description('the long-running service: schedules, runs, publishes')
    .option('--config <file>', 'configuration file (default: tidemark.yaml)')
    .option('--roles <list>', 'pull, load, schedule, console, separated by commas (default: all)')
    .addOption(
      new Option('--lock <ms>', 'how long a job is held without a sign of life').argParser(wholeNumber).hideHelp(),
    )
    .addHelpText('after', EXAMPLES)
    .action(async (options: WorkerOptions) => {
      const { worker } = await import('../actions/worker.ts')
      done(await worker(shell, options))
    })
}

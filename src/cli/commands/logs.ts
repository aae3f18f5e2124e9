/** `tidemark logs`, as it is typed. */
import type { Command } from 'commander'
import type { LogsOptions } from '../actions/logs.ts'
import type { Done, Shell } from '../shell.ts'

const EXAMPLES = `
Examples:
  $ tidemark logs events                                 what the last run of events said
  $ tidemark logs 6a1f0e0c-1c5e-4d7c-9a53-0f4f2f6c1a77   a run, by its identifier (tidemark.runs, the console)

Kept are the lines of runs on this machine, by a worker or a command, beside the warehouse in <warehouse>.logs, as long
as the books.`

export function logsCommand(program: Command, shell: Shell, done: Done): void {
  program
    .command('logs')
    .description('what a run said, or the last run of a report')
    .argument('<run>', "the run's identifier, or a report")
    .option('--config <file>', 'configuration file (default: tidemark.yaml)')
    .option('--json', 'the lines as they were written, a JSON document each')
    .addHelpText('after', EXAMPLES)
    .action(async (run: string, options: LogsOptions) => {
      const { logs } = await import('../actions/logs.ts')
      done(await logs(shell, run, options))
    })
}

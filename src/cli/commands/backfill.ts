/** `tidemark backfill`, as it is typed. */
import type { Command } from 'commander'
import type { BackfillArguments } from '../actions/backfill.ts'
import { timeGiven } from '../numbers.ts'
import type { Done, Shell } from '../shell.ts'

const EXAMPLES = `
Examples:
  $ tidemark backfill events --from 2019-01-01 --to 2024-01-01
  $ tidemark backfill enquiries budgets --dry-run     windows and requests, no row is kept

It reads what was modified in the range again, newest first, and moves no mark. Stopped, the same command goes on with
the windows that are missing. Deleted rows that the service shows no sign of are for "tidemark reconcile" to find.`

export function backfillCommand(program: Command, shell: Shell, done: Done): void {
  program
    .command('backfill')
    .description('read a range of time again, in windows, behind the incremental runs')
    .argument('<report...>', 'reports to read again')
    .option('--config <file>', 'configuration file (default: tidemark.yaml)')
    .option('--from <time>', 'where the range begins (default: the start of the report)', timeGiven)
    .option('--to <time>', 'where it ends (default: now)', timeGiven)
    .option('--dry-run', 'show windows and requests; asks how many rows there are, writes nothing')
    .option('--json', 'print one JSON document at the end')
    .option('--quiet', 'print nothing unless something fails')
    .addHelpText('after', EXAMPLES)
    .action(async (names: string[], options: BackfillArguments) => {
      const { backfill } = await import('../actions/backfill.ts')
      done(await backfill(shell, { names, options }))
    })
}

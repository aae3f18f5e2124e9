/** `tidemark sync`, as it is typed. */
import type { Command } from 'commander'
import type { SyncOptions } from '../actions/sync.ts'
import type { Done, Shell } from '../shell.ts'

const EXAMPLES = `
Examples:
  $ tidemark sync                     every report that is switched on
  $ tidemark sync events budgets      only these
  $ tidemark sync --json > run.json   one document at the end, the log as JSON lines on standard error

A report that fails doesn't stop the others. Running it again is always safe: it goes on where it stopped.`

export function syncCommand(program: Command, shell: Shell, done: Done): void {
  program
    .command('sync')
    .description('pull what changed into the warehouse, then publish it')
    .argument('[report...]', 'reports to sync; all when none is named')
    .option('--config <file>', 'configuration file (default: tidemark.yaml)')
    .option('--json', 'print one JSON document at the end')
    .option('--quiet', 'print nothing unless something fails')
    .addHelpText('after', EXAMPLES)
    .action(async (names: string[], options: SyncOptions) => {
      const { sync } = await import('../actions/sync.ts')
      done(await sync(shell, names, options))
    })
}

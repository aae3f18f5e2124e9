/** `tidemark retry-rejected`, as it is typed. */
import type { Command } from 'commander'
import type { RetryOptions } from '../actions/retryRejected.ts'
import type { Done, Shell } from '../shell.ts'

const EXAMPLES = `
Examples:
  $ tidemark retry-rejected
  $ tidemark retry-rejected events
  $ tidemark query "SELECT report, reason, count(*) FROM tidemark.rejected_rows GROUP BY ALL"

Run it when the cause is mended, such as with a Tidemark that knows a wider type for a field. A newer version of a row
that is held stays; what can not be stored yet stays rejected, with the reason of today.`

export function retryRejectedCommand(program: Command, shell: Shell, done: Done): void {
  program
    .command('retry-rejected')
    .description('load rejected rows again, once the cause is mended')
    .argument('[report...]', 'reports whose rejected rows to load; all when none is named')
    .option('--config <file>', 'configuration file (default: tidemark.yaml)')
    .option('--json', 'print one JSON document at the end')
    .addHelpText('after', EXAMPLES)
    .action(async (names: string[], options: RetryOptions) => {
      const { retryRejectedRows } = await import('../actions/retryRejected.ts')
      done(await retryRejectedRows(shell, names, options))
    })
}

/** `tidemark reconcile`, as it is typed. */
import type { Command } from 'commander'
import type { ReconcileArguments } from '../actions/reconcile.ts'
import type { Done, Shell } from '../shell.ts'

const EXAMPLES = `
Examples:
  $ tidemark reconcile                      every report that has rows of its own
  $ tidemark reconcile enquiries
  $ tidemark reconcile merf_submissions --allow-mass-delete

It reads every row there is, so it takes as long as a first sync. Stopped, it goes on where it was. A row that two
reconciles in a row don't find is marked as deleted.`

export function reconcileCommand(program: Command, shell: Shell, done: Done): void {
  program
    .command('reconcile')
    .description('compare whole reports with the service, repair what differs, infer deletions')
    .argument('[report...]', 'reports to reconcile; all when none is named')
    .option('--config <file>', 'configuration file (default: tidemark.yaml)')
    .option('--allow-mass-delete', 'mark as deleted even if it is more than a tenth of a table')
    .option('--json', 'print one JSON document at the end')
    .option('--quiet', 'print nothing unless something fails')
    .addHelpText('after', EXAMPLES)
    .action(async (names: string[], options: ReconcileArguments) => {
      const { reconcile } = await import('../actions/reconcile.ts')
      done(await reconcile(shell, names, options))
    })
}

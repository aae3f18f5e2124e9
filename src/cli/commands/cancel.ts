/** `tidemark cancel`, as it is typed. */
import type { Command } from 'commander'
import type { CancelOptions } from '../actions/cancel.ts'
import type { Done, Shell } from '../shell.ts'

const EXAMPLES = `
Examples:
  $ tidemark status                                       shows what runs, with identifiers
  $ tidemark cancel 6a1f0e0c-1c5e-4d7c-9a53-0f4f2f6c1a77

What a run has committed stays. A backfill that was cancelled doesn't go on.`

export function cancelCommand(program: Command, shell: Shell, done: Done): void {
  program
    .command('cancel')
    .description('end a run or a backfill that runs or waits')
    .argument('<run>', 'its identifier')
    .option('--config <file>', 'configuration file (default: tidemark.yaml)')
    .addHelpText('after', EXAMPLES)
    .action(async (id: string, options: CancelOptions) => {
      const { cancel } = await import('../actions/cancel.ts')
      done(await cancel(shell, id, options))
    })
}

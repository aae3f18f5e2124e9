/** `tidemark status`, as it is typed. */
import type { Command } from 'commander'
import type { StatusOptions } from '../actions/status.ts'
import type { Done, Shell } from '../shell.ts'

const EXAMPLES = `
Examples:
  $ tidemark status
  $ tidemark status --json | jq '.reports[] | select(.lag_seconds > 3600) | .report'

Everything modified at or before a report's mark is here; lag is how long ago that was. Before the first sync it says so
and ends with 0. It asks the warehouse, or the published copy while another process writes the warehouse.`

export function statusCommand(program: Command, shell: Shell, done: Done): void {
  program
    .command('status')
    .description('show how fresh each report is, and what stands in the way')
    .option('--config <file>', 'configuration file (default: tidemark.yaml)')
    .option('--json', 'print one JSON document')
    .addHelpText('after', EXAMPLES)
    .action(async (options: StatusOptions) => {
      const { status } = await import('../actions/status.ts')
      done(await status(shell, options))
    })
}

/** `tidemark health`, as it is typed. */
import type { Command } from 'commander'
import type { HealthOptions } from '../actions/health.ts'
import type { Done, Shell } from '../shell.ts'

const EXAMPLES = `
Examples:
  $ tidemark health || systemctl restart tidemark

It says whether a worker of this warehouse lives on this machine, whatever its role; how the reports do, tidemark status
says.`

export function healthCommand(program: Command, shell: Shell, done: Done): void {
  program
    .command('health')
    .description('end with 0 when a worker lives on this machine, else with 1')
    .option('--config <file>', 'configuration file (default: tidemark.yaml)')
    .addHelpText('after', EXAMPLES)
    .action(async (options: HealthOptions) => {
      const { health } = await import('../actions/health.ts')
      done(await health(shell, options))
    })
}

/** `tidemark pause` and `tidemark resume`, as they are typed. */
import type { Command } from 'commander'
import type { PauseOptions } from '../actions/pauses.ts'
import type { Done, Shell } from '../shell.ts'

const EXAMPLES = {
  pause: `
Examples:
  $ tidemark pause budgets            sync skips it, and says so, until it is resumed`,
  resume: `
Examples:
  $ tidemark resume budgets events
  $ tidemark status                   shows what is paused and why`,
}

export function pauseCommands(program: Command, shell: Shell, done: Done): void {
  for (const verb of ['pause', 'resume'] as const) {
    program
      .command(verb)
      .description(verb === 'pause' ? 'let sync skip reports' : 'let sync run paused reports again')
      .argument('<report...>', `reports to ${verb}`)
      .option('--config <file>', 'configuration file (default: tidemark.yaml)')
      .addHelpText('after', EXAMPLES[verb])
      .action(async (names: string[], options: PauseOptions) => {
        const actions = await import('../actions/pauses.ts')
        done(await actions[verb](shell, names, options))
      })
  }
}

/** `tidemark demo`, as it is typed. */
import type { Command } from 'commander'
import type { Done, Shell } from '../shell.ts'

const EXAMPLES = `
Examples:
  $ tidemark demo          half a minute, no configuration; everything lies in ./data/demo
  $ tidemark demo --keep   on top of what the last demo left`

export function demoCommand(program: Command, shell: Shell, done: Done): void {
  program
    .command('demo')
    .description('show it at work on a local service, with nothing to set up')
    .option('--keep', 'keep what the last demo left in ./data/demo')
    .addHelpText('after', EXAMPLES)
    .action(async ({ keep = false }: { readonly keep?: boolean }) => {
      const { demo } = await import('../actions/demo.ts')
      done(await demo(shell, keep))
    })
}

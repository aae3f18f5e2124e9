/** `tidemark check`, as it is typed. */
import type { Command } from 'commander'
import type { CheckOptions } from '../actions/check.ts'
import type { Done, Shell } from '../shell.ts'

const EXAMPLES = `
Examples:
  $ tidemark check
  $ tidemark check --json | jq '.checks[] | select(.result == "fail")'

It asks the service for a token and for a page of each report, and writes nothing; but reports that
were paused because the service refused them run again when they pass. It ends with 1 when a check
fails; a warning is no failure.`

export function checkCommand(program: Command, shell: Shell, done: Done): void {
  program
    .command('check')
    .description('check configuration, permissions, clock and files, and say what to do')
    .option('--config <file>', 'configuration file (default: tidemark.yaml)')
    .option('--json', 'print one JSON document')
    .addHelpText('after', EXAMPLES)
    .action(async (options: CheckOptions) => {
      const { check } = await import('../actions/check.ts')
      done(await check(shell, options))
    })
}

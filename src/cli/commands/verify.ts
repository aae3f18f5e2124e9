/** `tidemark verify`, as it is typed. */
import type { Command } from 'commander'
import type { VerifyArguments } from '../actions/verify.ts'
import { timeGiven } from '../numbers.ts'
import type { Done, Shell } from '../shell.ts'

const EXAMPLES = `
Examples:
  $ tidemark verify                                             each report from its start to its mark
  $ tidemark verify events --from 2026-01-01 --to 2026-02-01
  $ tidemark verify budgets --json

It reads the window again and compares every key and every value with the published copy: missing, different, extra.
Nothing is written. Audit reports are left out: they are asked record by record, without windows of their own.
Exit code 1: something differs or could not be read, and what to do about it is said; 2: a report or a window that can't
be verified, or was never read.`

export function verifyCommand(program: Command, shell: Shell, done: Done): void {
  program
    .command('verify')
    .description('compare a past window with the service, without writing')
    .argument('[report...]', 'reports to verify; all but audit reports when none is named')
    .option('--config <file>', 'configuration file (default: tidemark.yaml)')
    .option('--from <time>', 'start of the window; where the report starts when left out', timeGiven)
    .option('--to <time>', 'end of the window; the mark when left out', timeGiven)
    .option('--json', 'print one JSON document at the end')
    .option('--quiet', 'print nothing unless something differs')
    .addHelpText('after', EXAMPLES)
    .action(async (names: string[], options: VerifyArguments) => {
      const { verify } = await import('../actions/verify.ts')
      done(await verify(shell, names, options))
    })
}

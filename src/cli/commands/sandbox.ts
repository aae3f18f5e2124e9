/** `tidemark sandbox`, as it is typed. */
import { type Command, Option } from 'commander'
import { COMPRESSIONS, EVENT_SHAPES, faultNames } from '../../sandbox/options.ts'
import type { ServeOptions } from '../actions/sandbox.ts'
import { anyNumber, portNumber, PORT_PREFERRED, wholeNumber } from '../numbers.ts'
import type { Done, Shell } from '../shell.ts'

export function sandboxCommand(program: Command, shell: Shell, done: Done): void {
  program
    .command('sandbox')
    .description('run a local reporting service to try things on')
    .option('--rows <n>', 'events in it; the other reports follow (default: 500)', wholeNumber)
    .option('--seed <n>', 'the same seed gives the same data (default: 1)', wholeNumber)
    .option('--port <n>', `port on 127.0.0.1; 0 takes any (default: ${PORT_PREFERRED}, or any)`, portNumber)
    .option('--changes-per-second <n>', 'change rows at this pace (default: 0)', anyNumber)
    .option('--fault <fault>', 'misbehave: name[*count][@report][:argument]; may be given again', collect, [])
    .addOption(new Option('--event-shape <shape>', 'row shape of events').choices(EVENT_SHAPES))
    .option('--page-size-max <n>', 'cut larger page sizes to this (default: 1000)', wholeNumber)
    .option('--token-lifetime <seconds>', 'how long a token lives (default: 3600)', wholeNumber)
    .addOption(new Option('--compress <how>', 'compress answers').choices(COMPRESSIONS))
    .option('--json', 'print its address as one line of JSON when it is ready')
    .addHelpText('after', EXAMPLES)
    .action(async (options: ServeOptions) => {
      const { sandbox } = await import('../actions/sandbox.ts')
      done(await sandbox(shell, options))
    })
}

const collect = (fault: string, before: readonly string[]): readonly string[] => [...before, fault]

const faultLines = faultNames.map(
  ({ name, argument, does }) => `  ${(argument === undefined ? name : `${name}:${argument}`).padEnd(48)} ${does}`,
)

const EXAMPLES = `
Examples:
  $ tidemark sandbox
  $ tidemark sandbox --rows 20000 --changes-per-second 5
  $ tidemark sandbox --fault '5xx*3@events' --fault slow:200

Faults (with their default arguments):
${faultLines.join('\n')}`

/** The command `sandbox`: syntax and help. */
import { COMPRESSIONS, EVENT_SHAPES, faultNames } from '../sandbox/options.ts'
import {
  anyNumber,
  collect,
  type CommandEntry,
  option,
  parsedOption,
  PORT_PREFERRED,
  portNumber,
  wholeNumber,
} from './commandEntry.ts'

const faultLines = faultNames.map(
  ({ name, argument, does }) => `  ${(argument === undefined ? name : `${name}:${argument}`).padEnd(48)} ${does}`,
)

export const SANDBOX: Omit<CommandEntry, 'action'> = {
  name: 'sandbox',
  summary: 'run a local reporting service to try things on',
  isConfigured: false,
  options: [
    parsedOption('--rows <n>', 'events in it; the other reports follow (default: 500)', wholeNumber),
    parsedOption('--seed <n>', 'the same seed gives the same data (default: 1)', wholeNumber),
    parsedOption('--port <n>', `port on 127.0.0.1; 0 takes any (default: ${PORT_PREFERRED}, or any)`, portNumber),
    parsedOption('--changes-per-second <n>', 'change rows at this pace (default: 0)', anyNumber),
    option('--fault <fault>', 'misbehave: name[*count][@report][:argument]; may be given again')
      .argParser(collect)
      .default([]),
    option('--reports-from <path>', 'also serve the declarations in this file or folder; may be given again')
      .argParser(collect)
      .default([]),
    option('--event-shape <shape>', 'row shape of events').choices(EVENT_SHAPES),
    parsedOption('--page-size-max <n>', 'cut larger page sizes to this (default: 1000)', wholeNumber),
    parsedOption('--token-lifetime <seconds>', 'how long a token lives (default: 3600)', wholeNumber),
    option('--compress <how>', 'compress answers').choices(COMPRESSIONS),
    option('--json', 'print its address as one line of JSON when it is ready'),
  ],
  examples: `  $ tidemark sandbox
  $ tidemark sandbox --rows 20000 --changes-per-second 5
  $ tidemark sandbox --fault '5xx*3@events' --fault slow:200

Faults (with their default arguments):
${faultLines.join('\n')}`,
}

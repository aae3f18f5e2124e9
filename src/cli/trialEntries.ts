/** The commands `certify` and `sandbox`: syntax and help. */
import { COMPRESSIONS, EVENT_SHAPES, faultNames } from '../sandbox/options.ts'
import {
  anyNumber,
  type CommandEntry,
  JSON_DOCUMENT,
  option,
  parsedOption,
  PORT_PREFERRED,
  portNumber,
  repeatedOption,
  wholeNumber,
} from './commandEntry.ts'

export const CERTIFY: Omit<CommandEntry, 'action'> = {
  name: 'certify',
  summary: 'try the declaration of a report on a local service, with faults',
  argument: ['[report...]', 'reports to certify; those of reports_from when none is named, or all if there are none'],
  isConfigured: 'later',
  options: [
    repeatedOption('--reports-from <path>', 'certify the declarations here, without a configuration'),
    option('--service', 'examine the configured service instead: reads only, at most 60 pages of a report'),
    option('--format <format>', 'how to print what the service showed').choices(['text', 'markdown']).default('text'),
    JSON_DOCUMENT,
  ],
  examples: `  $ tidemark certify                             the reports that reports_from adds
  $ tidemark certify --reports-from reports       without tidemark.yaml
  $ tidemark certify events --service --format markdown > events.md     a page for a ticket

It starts a local service that serves the declaration with generated rows, and syncs from it into a temporary folder.
It prints for each claim whether it is true: each row arrives once, edits and deletions arrive, faults lose nothing.
The local service follows the declaration, so it cannot know whether the real service does.
With --service it reads from the configured service: how it pages, whether totals, keys, windows and times are as
declared, what page_size, overlap and settle should be, and what stays unknown. It shows no values except keys.
Exit code 1: a claim is not true, or the report cannot be read.`,
}

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
    repeatedOption('--fault <fault>', 'misbehave: name[*count][@report][:argument]'),
    repeatedOption('--reports-from <path>', 'also serve the declarations in this file or folder'),
    option('--event-shape <shape>', 'row shape of events').choices(EVENT_SHAPES),
    parsedOption('--page-size-max <n>', 'cut larger page sizes to this (default: 1000)', wholeNumber),
    parsedOption('--token-lifetime <seconds>', 'how long a token lives (default: 3600)', wholeNumber),
    option('--compress <how>', 'compress answers').choices(COMPRESSIONS),
    option('--json', 'print its address as one line of JSON when it is ready'),
  ],
  examples: `  $ tidemark sandbox --rows 20000 --changes-per-second 5
  $ tidemark sandbox --fault '5xx*3@events' --fault slow:200

Faults (with their default arguments):
${faultLines.join('\n')}`,
}

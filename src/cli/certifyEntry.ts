/** The command `certify`: syntax and help. */
import { collect, type CommandEntry, JSON_DOCUMENT, option } from './commandEntry.ts'

export const CERTIFY: Omit<CommandEntry, 'action'> = {
  name: 'certify',
  summary: 'try the declaration of a report on a local service, with faults',
  argument: ['[report...]', 'reports to certify; those of reports_from when none is named, or all if there are none'],
  isConfigured: 'later',
  options: [
    option('--reports-from <path>', 'certify the declarations here, without a configuration; may be given again')
      .argParser(collect)
      .default([]),
    JSON_DOCUMENT,
  ],
  examples: `  $ tidemark certify                             the reports that reports_from adds
  $ tidemark certify --reports-from reports       without tidemark.yaml
  $ tidemark certify events

It starts a local service that serves the declaration with generated rows, and syncs from it into a temporary folder.
It prints for each claim whether it is true: each row arrives once, edits and deletions arrive, faults lose nothing.
The local service follows the declaration, so it cannot know whether the real service does.
Exit code 1: a claim is not true.`,
}

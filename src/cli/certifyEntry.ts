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
    option('--service', 'examine the configured service instead: reads only, at most 60 pages of a report'),
    option('--format <format>', 'how to print what the service showed').choices(['text', 'markdown']).default('text'),
    JSON_DOCUMENT,
  ],
  examples: `  $ tidemark certify                             the reports that reports_from adds
  $ tidemark certify --reports-from reports       without tidemark.yaml
  $ tidemark certify events
  $ tidemark certify events --service --format markdown > events.md     a page for a ticket

It starts a local service that serves the declaration with generated rows, and syncs from it into a temporary folder.
It prints for each claim whether it is true: each row arrives once, edits and deletions arrive, faults lose nothing.
The local service follows the declaration, so it cannot know whether the real service does.
With --service it reads from the configured service: how it pages, whether totals, keys, windows and times are as
declared, what page_size and overlap should be, and what could not be found out. The page has no values except keys.
Exit code 1: a claim is not true, or the report cannot be read.`,
}

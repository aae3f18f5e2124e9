/** All commands: syntax, help and actions. An action is imported only when its command runs. */
import type { Command } from 'commander'
import type { Config } from '../config/config.ts'
import type { Override } from '../config/environment.ts'
import type { ConfigSources } from '../config/sources.ts'
import { HOUR_MS } from '../instant.ts'
import type { SchemaOptions } from './actions/schema.ts'
import {
  type CommandEntry,
  JSON_AT_END,
  JSON_DOCUMENT,
  option,
  parseAge,
  parsedOption,
  parseTime,
  QUIET,
  wholeNumber,
} from './commandEntry.ts'
import { FORMATS } from './results.ts'
import { LAKE, MOVE } from './lakeEntry.ts'
import type { Done, Shell } from './shell.ts'
import { CERTIFY, SANDBOX } from './trialEntries.ts'

export function addCommands(program: Command, shell: Shell, done: Done): void {
  for (const { name, summary, argument, options = [], isConfigured = true, examples, action } of COMMANDS) {
    const command = program.command(name).description(summary)
    if (argument !== undefined) command.argument(...argument)
    for (const option of options) command.addOption(option)
    if (isConfigured !== false) command.option('--config <file>', 'configuration file (default: tidemark.yaml)')
    command.addHelpText('after', `\nExamples:\n${examples}`)
    command.action(async (given: unknown) => {
      const { config: file, ...own } = command.opts<{ config?: string }>()
      const isReading = READING_COMMANDS.includes(name)
      const load = (override?: Override) => configOf(shell, { override, isReading, ...(file && { file }) })
      const configured = isConfigured === 'later' ? { load } : isConfigured && { config: await load() }
      const run = await action()
      done(await run(shell, { ...own, ...configured } as never, given as never))
    })
  }
}

/** These commands send no request to the service, so they need no client secret. */
const READING_COMMANDS = ['status', 'logs', 'wait', 'query', 'changes', 'mcp', 'export']

async function configOf({ env, cwd }: Shell, more: Omit<ConfigSources, 'env' | 'cwd'>): Promise<Config> {
  const { loadConfig } = await import('../config/config.ts')
  return loadConfig({ env, cwd, ...more })
}

/** The default of `--limit`, the number of rows in a table. CSV and JSON have no limit. */
const ROWS_SHOWN = 200

const SCHEMA_FORMATS: readonly SchemaOptions['format'][] = ['sql', 'markdown', 'dbt', 'typescript', 'json-schema']

const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'demo',
    summary: 'show it at work on a local service, with nothing to set up',
    isConfigured: false,
    options: [option('--keep', 'keep what the last demo left in ./data/demo')],
    examples: `  $ tidemark demo          half a minute, no configuration; all of its files are in ./data/demo`,
    action: async () => (await import('./actions/demo.ts')).demo,
  },
  {
    name: 'init',
    summary: 'ask for the few settings, try them, and write tidemark.yaml and .env',
    isConfigured: false,
    options: [
      option('--base-url <url>', 'address of the reporting service (REPORTING_BASE_URL)'),
      option('--client-id <id>', 'client identifier (REPORTING_CLIENT_ID)'),
      option('--currencies <list>', 'currencies to ask for, such as EUR,USD (TIDEMARK_CURRENCIES)'),
      option('--warehouse <file>', 'path of the warehouse file (TIDEMARK_WAREHOUSE)'),
      option('--force', 'replace existing files without a question'),
      option('--no-try', 'write without trying the settings against the service'),
    ],
    examples: `  $ tidemark init
  $ REPORTING_CLIENT_SECRET_FILE=/run/secrets/reporting tidemark init --base-url https://reports.example.com \\
      --client-id acme --currencies EUR,USD

It asks for the settings that neither an option nor the environment has, tries them against the service, then writes
tidemark.yaml and .env (mode 600, named in .gitignore). The secret is never an option: it is asked for, or read from
REPORTING_CLIENT_SECRET or REPORTING_CLIENT_SECRET_FILE. Existing files are replaced only after a question, or with
--force.`,
    action: async () => (await import('./actions/init.ts')).init,
  },
  {
    name: 'check',
    summary: 'check configuration, permissions, clock and files, and say what to do',
    options: [JSON_DOCUMENT, option('--notify', 'post a test message to each receiver (settings notify.*)')],
    examples: `  $ tidemark check

It requests a token and a page of each report. It changes two things only: a report that was paused because the service
refused it is resumed when it passes, and on PostgreSQL the tables of the queue are created. The exit code is 1 when a
check fails; a warning is no failure.`,
    action: async () => (await import('./actions/check.ts')).check,
  },
  {
    name: 'sync',
    summary: 'pull what changed into the warehouse, then publish it',
    argument: ['[report...]', 'reports to sync; all when none is named'],
    options: [JSON_AT_END, QUIET],
    examples: `  $ tidemark sync                     every report that is switched on
  $ tidemark sync events budgets      only these
  $ tidemark sync --json > run.json   one document at the end, the log as JSON lines on standard error

A report that fails doesn't stop the others. Running it again is always safe: it goes on where it stopped.`,
    action: async () => (await import('./actions/sync.ts')).sync,
  },
  {
    name: 'worker',
    summary: 'the long-running service: schedules, runs, publishes',
    options: [
      option('--roles <list>', 'pull, load, schedule, console, separated by commas (default: all)'),
      parsedOption('--lock <ms>', 'how long a job is locked without a renewal', wholeNumber).hideHelp(),
    ],
    examples: `  $ tidemark worker                          everything, in this process
  $ tidemark worker --roles pull             another process on the same Redis that pulls windows of backfills

It works until it is stopped (Ctrl-C, SIGTERM) and then hands its jobs back. One process owns the warehouse; others with
the role load wait to take over. Other commands hand their work to the owner while it runs.`,
    action: async () => (await import('./actions/worker.ts')).worker,
  },
  {
    name: 'backfill',
    summary: 'read a range of time again, in windows, behind the incremental runs',
    argument: ['<report...>', 'reports to read again'],
    options: [
      parsedOption('--from <time>', 'start of the range (default: the start of the report)', parseTime),
      parsedOption('--to <time>', 'end of the range (default: now)', parseTime),
      option('--dry-run', 'show windows and requests; asks how many rows there are, writes nothing'),
      JSON_AT_END,
      QUIET,
    ],
    examples: `  $ tidemark backfill events --from 2019-01-01 --to 2024-01-01
  $ tidemark backfill enquiries budgets --dry-run     windows and requests, no row is kept

It reads again what was modified in the range, newest first, and moves no mark. After a stop, the same command goes on
with the windows that are missing. Deleted rows that the service doesn't mark as deleted are found by "tidemark
reconcile".`,
    action: async () => (await import('./actions/backfill.ts')).backfill,
  },
  {
    name: 'reconcile',
    summary: 'compare whole reports with the service, repair what differs, infer deletions',
    argument: ['[report...]', 'reports to reconcile; all when none is named'],
    options: [option('--allow-mass-delete', 'mark as deleted even more than a tenth of a table'), JSON_AT_END, QUIET],
    examples: `  $ tidemark reconcile                      every report that has rows of its own

It reads every row, so it takes as long as a first sync. After a stop, the same command goes on where it was. A row that
two reconciles in a row don't find is marked as deleted.`,
    action: async () => (await import('./actions/reconcile.ts')).reconcile,
  },
  {
    name: 'verify',
    summary: 'compare a past window with the service, and change nothing',
    argument: ['[report...]', 'reports to verify; all but audit reports when none is named'],
    options: [
      parsedOption('--from <time>', 'start of the window (default: the start of the report)', parseTime),
      parsedOption('--to <time>', 'end of the window (default: the mark)', parseTime),
      JSON_AT_END,
      option('--quiet', 'print nothing unless something differs'),
    ],
    examples: `  $ tidemark verify                                             each report from its start to its mark
  $ tidemark verify events --from 2026-01-01 --to 2026-02-01

It reads the window again and compares every key and every value with the published copy: missing, different, extra.
Rows that match no window, since they were never edited, are counted: a reconcile compares them.
The window is read into a temporary folder; warehouse and copy do not change. Audit reports are left out: they are read
record by record, without windows of their own.
Exit code 1: something differs or could not be read, and what to do about it is printed; 2: a report or a window that
can't be verified, or was never read.`,
    action: async () => (await import('./actions/verify.ts')).verify,
  },
  {
    name: 'status',
    summary: 'show how fresh each report is, and what prevents new runs',
    options: [JSON_DOCUMENT],
    examples: `  $ tidemark status
  $ tidemark status --json | jq '.reports[] | select(.lag_seconds > 3600) | .report'

Everything that the service showed as modified at or before a report's mark is in the warehouse; lag is the age of the
mark. While a worker runs, it answers; else the warehouse is read, or the published copy while another process writes
the warehouse. Before the first sync the command says so and ends with 0.`,
    action: async () => (await import('./actions/status.ts')).status,
  },
  {
    name: 'logs',
    summary: 'the log of a run, or of the last run of a report',
    argument: ['<run>', "the run's identifier, or a report"],
    options: [option('--json', 'the lines as they were written, a JSON document each')],
    examples: `  $ tidemark logs events                                 the log of the last run of events
  $ tidemark logs 6a1f0e0c-1c5e-4d7c-9a53-0f4f2f6c1a77   a run, by its identifier (tidemark.runs, the console)

The lines of runs on this machine, by a worker or a command, are kept beside the warehouse in <warehouse>.logs, as long
as the books.`,
    action: async () => (await import('./actions/logs.ts')).logs,
  },
  {
    name: 'health',
    summary: 'end with 0 when a worker lives on this machine, else with 1',
    examples: `  $ tidemark health; [ $? = 1 ] && systemctl restart tidemark

It checks whether a worker of this warehouse, with any role, is alive on this machine, and ends with 2 if the settings
are wrong: a restarted worker would end. Whether the reports are well is shown by "tidemark status".`,
    action: async () => (await import('./actions/worker.ts')).health,
  },
  {
    name: 'wait',
    summary: 'wait until the published copy is complete, for the job that comes next',
    argument: ['[report...]', 'reports to wait for; all that are switched on when none is named'],
    options: [
      parsedOption('--until <time>', 'rows modified up to this time must be there', parseTime),
      parsedOption('--fresh <age>', 'rows must be complete up to this long ago, such as 10m', parseAge),
      parsedOption('--timeout <duration>', 'how long to wait', parseAge).default(HOUR_MS, '1h'),
      JSON_AT_END,
      QUIET,
    ],
    examples: `  $ tidemark wait events --fresh 10m && dbt build
  $ tidemark wait --until 2026-01-31T06:00:00Z --timeout 2h

It reads the published copy, by mark and coverage, and asks nothing of the service. The exit code is 0 when all reports
are complete, 1 when the time is over, and 3 as soon as a report that is not complete is paused or off.`,
    action: async () => (await import('./actions/wait.ts')).wait,
  },
  {
    name: 'pause',
    summary: 'let sync skip reports',
    argument: ['<report...>', 'reports to pause'],
    examples: '  $ tidemark pause budgets            sync skips it, and says so, until it is resumed',
    action: async () => (await import('./actions/pauses.ts')).pause,
  },
  {
    name: 'resume',
    summary: 'let sync run paused reports again',
    argument: ['<report...>', 'reports to resume'],
    examples: `  $ tidemark resume budgets events`,
    action: async () => (await import('./actions/pauses.ts')).resume,
  },
  {
    name: 'reset',
    summary: 'start over with one report',
    argument: ['<report>', 'the report'],
    options: [
      option('--empty', 'delete its rows at once'),
      option('--yes', 'do not ask for a confirmation (needed without a terminal)'),
    ],
    examples: `  $ tidemark reset events                   on a terminal, it asks for the name once more
  $ tidemark reset budgets --empty --yes

The next runs read all rows of the report again. Readers keep the old rows meanwhile. At the end, rows that the service
did not return are marked as deleted: they were deleted, or are outside of the present filters and start.
With --empty, all rows are deleted at once. Schema history keeps the versions that it has.`,
    action: async () => (await import('./actions/reset.ts')).reset,
  },
  {
    name: 'retry-rejected',
    summary: 'load rejected rows again, once the cause is fixed',
    argument: ['[report...]', 'reports whose rejected rows to load; all when none is named'],
    options: [JSON_AT_END],
    examples: `  $ tidemark retry-rejected
  $ tidemark query "SELECT report, reason, count(*) FROM tidemark.rejected_rows GROUP BY ALL"

Run it when the cause is fixed, for example by a Tidemark that accepts a wider type for a field. A newer version of a
row that is already in the warehouse stays. A row that still can't be stored stays rejected, with its new reason.`,
    action: async () => (await import('./actions/retryRejected.ts')).retryRejectedRows,
  },
  {
    name: 'rejected',
    summary: 'dismiss rejected rows, so that they are listed no longer',
    argument: ['<dismiss...>', '"dismiss", a report and keys of its rows; all rows when none is named'],
    examples: `  $ tidemark rejected dismiss                  those of all reports
  $ tidemark rejected dismiss events           those of one report, also rows without a key
  $ tidemark rejected dismiss events 17 18     two rows

Dismissed rows stay in tidemark.rejected_rows, and tidemark.freshness counts them. retry-rejected skips them.`,
    action: async () => (await import('./actions/retryRejected.ts')).dismissRejectedRows,
  },
  {
    name: 'cancel',
    summary: 'end a run or a backfill that runs or waits',
    argument: ['<run>', 'its identifier'],
    examples: `  $ tidemark status                                       shows what runs, with identifiers
  $ tidemark cancel 6a1f0e0c-1c5e-4d7c-9a53-0f4f2f6c1a77

What a run has committed stays. A backfill that was cancelled doesn't go on.`,
    action: async () => (await import('./actions/pauses.ts')).cancel,
  },
  {
    name: 'query',
    summary: 'ask the published copy in SQL',
    argument: ['<sql>', 'one reading statement'],
    options: [
      option('--format <format>', 'how to print it')
        .choices([...FORMATS, 'parquet'])
        .default('table'),
      option('--output <file>', 'the file to write parquet to'),
      parsedOption('--limit <n>', 'rows that a table shows at most', wholeNumber).default(ROWS_SHOWN),
      option('--json', 'print one JSON document: the rows, and how complete the reports that were read are'),
    ],
    examples: `  $ tidemark query "SELECT * FROM tidemark.freshness"
  $ tidemark query "SELECT status, count(*) FROM current.events GROUP BY ALL"
  $ tidemark query --format csv "FROM current.events" > events.csv

It reads the published copy, also while a sync runs, and refuses statements that write. Schema current has the rows that
are not deleted, main has all of them, tidemark has the books. Times are UTC; csv and json print every digit.`,
    action: async () => (await import('./actions/query.ts')).query,
  },
  {
    name: 'changes',
    summary: 'print the rows that changed since the last time, each once, and the next cursor',
    argument: ['<report...>', 'reports whose changes to print'],
    options: [
      option('--since <cursor>', 'the last cursor, "start" for all rows, or "now" for none (default: start)'),
      option('--cursor-file <file>', 'read the cursor from this file if it is there, and write the next one to it'),
      option('--children', 'also the changes of child tables'),
      option('--follow', 'go on with each publication, until it is stopped'),
      option('--format <format>', 'how to print them').choices(['json', 'csv', 'parquet']).default('json'),
      option('--output <file>', 'the file to write parquet to'),
    ],
    examples: `  $ tidemark changes events --cursor-file events.cursor > changes.jsonl
  $ tidemark changes events enquiries --children --since 184-9f3a2c11d0b7
  $ tidemark changes events --since now --follow

json prints one line for each change: {"table", "change", "row"}. change is insert, update, delete or undelete. The last
line is {"cursor"}: pass it to --since when the rows are used. csv and parquet have the column _change, and the next
cursor is printed on standard error. If a cursor is too old, the command ends with 1 and the code CURSOR_EXPIRED.`,
    action: async () => (await import('./actions/changes.ts')).changes,
  },
  {
    name: 'mcp',
    summary: 'serve the published copy to an assistant (Model Context Protocol, over stdio)',
    examples: `  $ tidemark mcp --config tidemark.yaml      the command that an assistant's configuration names

Tools: list_tables, describe_table, query (one reading statement, at most 1000 rows), freshness, runs. It reads only the
published copy, in a process without access to files and network.`,
    action: async () => (await import('./actions/mcp.ts')).mcp,
  },
  {
    name: 'schema',
    summary: 'print the tables: as DDL, data dictionary, dbt sources or types of programs; change the type of a column',
    argument: ['[type]', 'the new type of the column that --retype names'],
    options: [
      option('--format <format>', 'how to print them').choices(SCHEMA_FORMATS).default('sql'),
      option('--retype <table.column>', 'change the type of a column that was added for an undocumented field'),
      option('--json', 'print the result of --retype as one JSON document'),
    ],
    examples: `  $ tidemark schema > tables.sql
  $ tidemark schema --format dbt > models/sources.yml
  $ tidemark schema --retype events.custom_code BIGINT

It prints the published copy's tables, with the columns that were added for new fields; before the first sync, the
tables and columns that are declared. The dbt sources (dbt 1.10 or newer) have descriptions, tests and freshness;
docs/READING-TOOLS.md shows how to attach the copy.
With --retype, all values are read again as they were sent. Values that fit the new type are stored. Others are listed
in tidemark.misfits and stay in _extra or _payload. The column keeps the new type. docs/TABLES.md has the types.`,
    action: async () => (await import('./actions/schema.ts')).schema,
  },
  {
    name: 'export',
    summary: 'write the tables as Parquet files with a manifest',
    argument: ['[report...]', 'reports to export (default: all)'],
    options: [option('--to <folder>', 'an empty folder, or an earlier export').makeOptionMandatory(), JSON_DOCUMENT],
    examples: `  $ tidemark export --to ./export

It writes the published copy's tables as Parquet, deleted rows included (is_deleted), and a manifest.json that names the
files that belong together. The next export writes only what changed; readers of the last manifest keep their files.`,
    action: async () => (await import('./actions/export.ts')).exportTables,
  },
  { ...CERTIFY, action: async () => (await import('./actions/certify.ts')).certify },
  {
    name: 'new-report',
    summary: 'write the declaration of a report of your own from a saved answer; it sends no request',
    isConfigured: false,
    options: [
      option('--from <file...>', 'files with the JSON of answers: pages of one report').makeOptionMandatory(),
      option('--name <name>', 'name of the report and its table (default: that of the first file)'),
      option('--path <path>', 'path of the report, after {base_url}/reportingapi'),
      option('--out <file>', 'file to write, which must not exist (default: print the declaration)'),
    ],
    examples: '  $ tidemark new-report --from answer.json --name orders --path /v1/Orders/GetOrders --out orders.ts',
    action: async () => (await import('./actions/newReport.ts')).newReport,
  },
  { ...LAKE, action: async () => (await import('./actions/lake.ts')).lake },
  { ...MOVE, action: async () => (await import('./actions/move.ts')).move },
  { ...SANDBOX, action: async () => (await import('./actions/sandbox.ts')).sandbox },
]

/** `tidemark export`, as it is typed. */
import type { Command } from 'commander'
import type { ExportOptions } from '../actions/export.ts'
import type { Done, Shell } from '../shell.ts'

const EXAMPLES = `
Examples:
  $ tidemark export --to ./export
  $ tidemark export --to /srv/lake/events events merf_submissions
  $ tidemark export --to ./export --json | jq .written

It writes the published copy's tables as Parquet, deleted rows included (is_deleted), and a manifest.json that names the
files that belong together. The next export writes only what changed; readers of the last manifest keep their files.`

export function exportCommand(program: Command, shell: Shell, done: Done): void {
  program
    .command('export')
    .description('write the tables as Parquet files with a manifest')
    .argument('[report...]', 'reports to export (default: all)')
    .requiredOption('--to <folder>', 'an empty folder, or one of an earlier export')
    .option('--config <file>', 'configuration file (default: tidemark.yaml)')
    .option('--json', 'print one JSON document')
    .addHelpText('after', EXAMPLES)
    .action(async (reports: string[], options: ExportOptions) => {
      const { exportTables } = await import('../actions/export.ts')
      done(await exportTables(shell, reports, options))
    })
}

/** `tidemark query`, as it is typed. */
import { type Command, Option } from 'commander'
import type { QueryOptions } from '../actions/query.ts'
import { wholeNumber } from '../numbers.ts'
import { FORMATS } from '../results.ts'
import type { Done, Shell } from '../shell.ts'

/** What a person looks through; programs get everything. */
const ROWS_SHOWN = 200

const EXAMPLES = `
Examples:
  $ tidemark query "SELECT * FROM tidemark.freshness"
  $ tidemark query "SELECT status, count(*) FROM current.events GROUP BY ALL"
  $ tidemark query --format csv "FROM current.events" > events.csv
  $ tidemark query --format parquet --output events.parquet "FROM current.events"
  $ tidemark query "SHOW ALL TABLES"

It reads the published copy, also while a sync runs, and refuses statements that write. Schema current has the rows that
are not deleted, main has all of them, tidemark has the books. Times are UTC; csv and json carry every digit.`

export function queryCommand(program: Command, shell: Shell, done: Done): void {
  program
    .command('query')
    .description('ask the published copy in SQL')
    .argument('<sql>', 'one reading statement')
    .addOption(new Option('--format <format>', 'how to print it').choices([...FORMATS, 'parquet']).default('table'))
    .option('--output <file>', 'where parquet goes')
    .option('--limit <n>', 'rows that a table shows at most', wholeNumber, ROWS_SHOWN)
    .option('--config <file>', 'configuration file (default: tidemark.yaml)')
    .addHelpText('after', EXAMPLES)
    .action(async (sql: string, options: QueryOptions) => {
      const { query } = await import('../actions/query.ts')
      done(await query(shell, sql, options))
    })
}

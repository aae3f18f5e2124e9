/** `tidemark schema`, as it is typed. */
import { type Command, Option } from 'commander'
import type { SchemaOptions } from '../actions/schema.ts'
import type { Done, Shell } from '../shell.ts'

const FORMATS: readonly SchemaOptions['format'][] = ['sql', 'markdown', 'dbt']

const EXAMPLES = `
Examples:
  $ tidemark schema > tables.sql
  $ tidemark schema --format markdown > TABLES.md
  $ tidemark schema --format dbt > models/sources.yml

It shows the published copy's tables, with the columns that the data brought; before the first sync those that are known
beforehand. The dbt sources (dbt 1.10 or newer) have descriptions, tests and freshness; docs/READING.md says how to
attach the copy.`

export function schemaCommand(program: Command, shell: Shell, done: Done): void {
  program
    .command('schema')
    .description('print the tables: as DDL, data dictionary or dbt sources')
    .addOption(new Option('--format <format>', 'how to print them').choices(FORMATS).default('sql'))
    .option('--config <file>', 'configuration file (default: tidemark.yaml)')
    .addHelpText('after', EXAMPLES)
    .action(async (options: SchemaOptions) => {
      const { schema } = await import('../actions/schema.ts')
      done(await schema(shell, options))
    })
}

/** The commands `lake` and `move`: syntax and help. */
import { type CommandEntry, JSON_DOCUMENT, option } from './commandEntry.ts'

export const LAKE: Omit<CommandEntry, 'action'> = {
  name: 'lake',
  summary: 'keep a lake small now, or upgrade its catalogue',
  argument: ['<what>', '"upkeep" or "upgrade"'],
  options: [JSON_DOCUMENT],
  examples: `  $ tidemark lake upkeep      what a worker does each hour, beside loads and readers
  $ tidemark lake upgrade     copy the catalogue, then upgrade it to the format of this DuckLake (docs/LAKE.md)`,
}

export const MOVE: Omit<CommandEntry, 'action'> = {
  name: 'move',
  summary: 'copy the warehouse into a new file or lake, with books and history, and compare all rows',
  isConfigured: 'later',
  options: [
    option('--to <warehouse>', 'the new warehouse, as the setting "warehouse" names it').makeOptionMandatory(),
    option('--data <place>', 'its files, as the setting lake_data names them (needed with PostgreSQL)'),
    option('--endpoint <url>', 'its storage, as the setting lake_endpoint names it'),
    option('--region <region>', 'the region of that storage'),
    JSON_DOCUMENT,
  ],
  examples: `  $ tidemark move --to ducklake:sqlite:./data/lake.sqlite
  $ tidemark move --to 'ducklake:postgres:host=db dbname=lake' --data /srv/lake

Stop all workers first. The old warehouse does not change, and nothing is read from the service. After a stop, the same
command continues; until it has ended, no other command opens the new warehouse. At the end it prints the settings to
write into tidemark.yaml.`,
}

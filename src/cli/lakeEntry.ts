/** The command `lake`: syntax and help. */
import { type CommandEntry, JSON_DOCUMENT } from './commandEntry.ts'

export const LAKE: Omit<CommandEntry, 'action'> = {
  name: 'lake',
  summary: 'keep a lake small now, or upgrade its catalogue',
  argument: ['<what>', '"upkeep" or "upgrade"'],
  options: [JSON_DOCUMENT],
  examples: `  $ tidemark lake upkeep      what a worker does each hour, beside loads and readers
  $ tidemark lake upgrade     copy the catalogue, then upgrade it to the format of this DuckLake (docs/LAKE.md)`,
}

/** The command `lake`: syntax and help. */
import { type CommandEntry, JSON_DOCUMENT } from './commandEntry.ts'

export const LAKE: Omit<CommandEntry, 'action'> = {
  name: 'lake',
  summary: 'keep a lake small now',
  argument: ['<what>', '"upkeep"'],
  options: [JSON_DOCUMENT],
  examples: '  $ tidemark lake upkeep      what a worker does each hour, beside loads and readers (docs/LAKE.md)',
}

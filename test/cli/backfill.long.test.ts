/**
 * The estimates of `tidemark backfill --dry-run` for the reports that backfill.test.ts leaves out.
 * @module-tag long
 */
import { it } from 'vitest'
import { compareEstimate } from './backfillEstimate.ts'

it.each([
  ['merf_submissions', 1],
  ['budgets', 2],
] as const)(
  'tidemark backfill says in a dry run about how many requests it takes, and writes nothing: %s',
  compareEstimate,
)

it.each(['summary', 'mixed'] as const)(
  'a dry run counts the second read of events without a deletion flag: shape %s',
  (shape) => compareEstimate('events', 2, shape),
)

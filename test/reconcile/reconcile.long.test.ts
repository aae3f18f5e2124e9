/**
 * Deletions as in reconcile.test.ts, of the other reports that say nothing of them.
 * @module-tag long
 */
import { describe, it } from 'vitest'
import { deletionsOf } from './stories.ts'

describe.each(['office_reservations', 'merf_submissions'] as const)('deletions of %s', (report) => {
  it('are marked when two reconciles in a row miss the row, and undone when it comes back', () => deletionsOf(report))
})

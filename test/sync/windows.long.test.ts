/**
 * The claims of windows.test.ts for more reports and styles of time.
 * @module-tag long
 */
import { describe, it } from 'vitest'
import { neverEditedByCreation, neverEditedByWalking, neverEditedInOne, stampsOfStyle } from './windowStories.ts'

describe.each(['office_reservations', 'merf_submissions'] as const)(
  'rows that no modification filter matches',
  (report) => {
    it(`are found by the first run of ${report}, in one response`, () => neverEditedInOne(report))

    it(`are found by the first run of ${report} by their time of creation, where one response is too small`, () =>
      neverEditedByCreation(report))

    it(`are found by the first run of ${report} by walking everything, where creation is not asked for`, () =>
      neverEditedByWalking(report))
  },
)

describe('a window', () => {
  it.each(['zulu', 'offset', 'bare'] as const)('takes stamps written in the style %s exactly', stampsOfStyle)
})

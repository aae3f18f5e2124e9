/**
 * The claims of beyond.test.ts for more reports and sizes.
 * @module-tag long
 */
import { describe, it } from 'vitest'
import {
  capOfTwoPageSizes,
  moreAtOneInstantThanCap,
  refusedAtOneInstant,
  refusedBehindCap,
  refusedBehindLast,
} from './beyondStories.ts'

describe.each([
  ['events', [3, 19, 21, 40, 243]],
  ['budgets', [3, 19, 20, 40, 243]],
  ['enquiries', [3, 19, 20, 21, 243]],
  // Their answers are of the same kind as those of enquiries or budgets.
  ['automated_bookings', [40]],
  ['office_reservations', [20]],
  ['merf_submissions', [21]],
] as const)('%s, from a service that refuses the page behind the last one,', (report, sizes) => {
  it.each(sizes)('arrive whole: %i rows at first, more later', (rows) => refusedBehindLast(report, rows))
})

describe.each(['events', 'budgets', 'enquiries'] as const)(
  '%s, from a service that refuses the page behind the last one,',
  (report) => {
    it.each([20, 30])('arrive whole where %i rows stand at one instant', (rows) => refusedAtOneInstant(report, rows))

    it.each([20, 100])('arrive whole where it pages to %i of 243 rows and refuses pages that go beyond', (cap) =>
      refusedBehindCap(report, cap),
    )
  },
)

describe('budgets, from a service that refuses the page behind the last one,', () => {
  it('arrive whole where it pages to 50 of 243 rows and refuses pages that go beyond', () =>
    refusedBehindCap('budgets', 50))

  it('fail with what is refused where rows at one instant are more than it pages to', () =>
    moreAtOneInstantThanCap('budgets'))

  it('at one instant are not taken for whole because those that a service gives fill pages of 20 rows as well as of 19', () =>
    capOfTwoPageSizes('budgets'))
})

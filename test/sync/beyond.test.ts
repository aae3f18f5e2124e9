/**
 * Many services refuse page numbers behind the last page, or behind what they page to. No row is missed for it, and no
 * run fails where the end can be found. One report for each kind of answer.
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
  ['events', 20],
  ['budgets', 21],
  ['enquiries', 40],
] as const)('%s, from a service that refuses the page behind the last one,', (report, rows) => {
  it(`arrive whole: ${rows} rows at first, more later`, { tags: 'long' }, () => refusedBehindLast(report, rows))

  it('arrive whole where 40 rows stand at one instant', { tags: 'long' }, () => refusedAtOneInstant(report, 40))
})

describe.each(['events', 'enquiries'] as const)(
  '%s, from a service that refuses the page behind the last one,',
  (report) => {
    it('arrive whole where it pages to 50 of 243 rows and refuses pages that go beyond', { tags: 'long' }, () =>
      refusedBehindCap(report, 50),
    )

    it('fail with what is refused where rows at one instant are more than it pages to', { tags: 'long' }, () =>
      moreAtOneInstantThanCap(report),
    )
  },
)

it(
  'events of one instant are not taken for whole because those that a service gives fill pages of 20 rows as well as of 19',
  { tags: 'long' },
  () => capOfTwoPageSizes('events'),
)

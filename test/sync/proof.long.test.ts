/**
 * The claims of proof.test.ts with larger worlds, more reports, more faults and more runs.
 * @module-tag long
 */
import { describe, it } from 'vitest'
import {
  cappedService,
  firstPageThatLosesRows,
  firstSyncOfArray,
  firstSyncOfEnvelope,
  firstSyncOfManyPages,
  manyLoads,
  oneInstantAgreed,
  oneInstantInLargerPage,
  oneInstantUnstable,
  underFault,
  youngWindow,
} from './proofStories.ts'

describe('on a quiet service', () => {
  it.each([
    [50, 100],
    [300, 40],
  ])(
    'a first sync of an envelope report costs at most a tenth more than its pages (%i rows, %i pages)',
    (pageSize, pages) => firstSyncOfEnvelope({ pageSize, pages }),
  )

  it.each([
    ['events', 500, 40],
    ['budgets', 300, 30],
    ['events', 50, 60],
    ['budgets', 50, 60],
  ] as const)(
    'a first sync of a bare array costs at most 1.4 times its pages (%s, %i rows, %i pages)',
    (report, pageSize, pages) => firstSyncOfArray(report, { pageSize, pages }),
  )

  it.each([50, 200])(
    'a first sync of events costs at most 1.15 times its pages where they are many, each row once (%i)',
    firstSyncOfManyPages,
  )

  it.each([
    ['events', 50, 60],
    ['events', 300, 40],
    ['budgets', 300, 20],
    ['merf_submissions', 300, 40],
  ] as const)(
    'a young window of %s costs at most 1.4 times its pages (%i rows a page, %i pages)',
    (report, pageSize, pages) => youngWindow(report, { pageSize, pages }),
  )
})

const FAULTS = [
  'unordered',
  'clamp:15',
  'clamp-silent:15',
  'ignore-page',
  'ignore-page:echo',
  'short-page',
  'duplicate-row',
]

describe.each([
  ['events', ['drift:3', ...FAULTS]],
  ['budgets', ['drift:1', ...FAULTS]],
  // A bare array has no total that could lie.
  ['enquiries', ['drift:3', 'total-lies:3', 'total-lies:-3', ...FAULTS]],
] as const)('%s', (report, faults) => {
  it.each(faults)('with the fault %s arrive whole through three runs, or the run reports an error', (fault) =>
    underFault(report, fault, 3),
  )
})

it.each([
  ['events', 100],
  ['events', 230],
  ['budgets', 100],
  ['budgets', 110],
  ['budgets', 230],
] as const)('%s arrive whole from a service that pages to %i of 243 rows and then is silent', cappedService)

it('budgets arrive whole when rows leave the first page while the last one is looked for', () =>
  firstPageThatLosesRows('budgets'))

describe('more rows at one instant than a page holds', () => {
  it('arrive by walks that agree (budgets)', () => oneInstantAgreed('budgets'))

  it('arrive in one larger page with the fault ignore-page', () => oneInstantInLargerPage('ignore-page'))

  it('end in WALK_UNSTABLE with the fault unordered where no larger page is to be had, and arrive afterwards', () =>
    oneInstantUnstable('unordered'))
})

describe('a load smaller than a window', () => {
  it.each([
    // Events match by either of two stamps, so some stand in two parts.
    ['events', 1.6],
    ['budgets', 1.3],
  ] as const)(
    'is cut off at the stamp of the page behind it, so that a first sync of %s in many loads costs at most %f times its pages',
    manyLoads,
  )
})

/**
 * What is concluded from the first pages of a bare array, for services that page in any way: a part is never taken for
 * all there is, whatever was learnt from the answers before.
 */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  afterTwoPages,
  asksForPage2,
  claimOf,
  type FirstPage,
  isAll,
  isCutAtOnce,
  learntOfAll,
  learntOfLook,
  type SecondPage,
} from '../../src/plan/bareArray.ts'
import { NO_PAGE_SIZES, type PageSizes, sawFullPage } from '../../src/plan/pageSizes.ts'

/** How a service answers for a page behind the last one. */
type Behind = 'empty' | 'last again' | 'refused'

interface Service {
  /** Rows at which it cuts a page, whatever was asked for. */
  readonly cutsAt: number
  readonly behind: Behind
}

interface Asked {
  readonly rows: number
  readonly rowsAsked: number
  readonly doubts: boolean
  readonly mayCut: boolean
}

type Concluded = 'all' | ReturnType<typeof afterTwoPages>['step']

function firstOf({ cutsAt }: Service, { rows, rowsAsked }: Asked): FirstPage {
  const sent = Math.min(rows, cutsAt)
  return { rows: sent, rowsSent: sent, rowsAsked, rowsLongest: sent }
}

function secondOf({ cutsAt, behind }: Service, { rows }: Asked): SecondPage {
  const fresh = Math.min(Math.max(0, rows - cutsAt), cutsAt)
  if (fresh > 0) return { isRefused: false, rowsSent: fresh, fresh, repeats: 0 }
  const rowsSent = behind === 'last again' ? Math.min(rows, cutsAt) : 0
  return { isRefused: behind === 'refused', rowsSent, fresh: 0, repeats: 0 }
}

/** One span read as prove.ts does it, without counting; gives what was concluded and learnt. */
function read(service: Service, asked: Asked, sizes: PageSizes): { concluded: Concluded; sizes: PageSizes } {
  const first = firstOf(service, asked)
  const second = secondOf(service, asked)
  const claim = claimOf(sizes, first, asked.doubts)
  const looked = asksForPage2(claim) ? second : undefined
  if (isAll(claim, first, looked)) return { concluded: 'all', sizes: learntOfAll(sizes, first) }
  const known = looked === undefined ? sizes : learntOfLook(sizes, claim, { first, second: looked })
  if (asked.mayCut && isCutAtOnce(known, claim, first)) return { concluded: 'cut', sizes: known }
  const next = afterTwoPages(known, { first, second, claim, mayCut: asked.mayCut })
  return { concluded: next.step, sizes: next.sizes }
}

const services = fc.record({
  cutsAt: fc.integer({ min: 1, max: 60 }),
  behind: fc.constantFrom<Behind>('empty', 'last again', 'refused'),
})
const questions = fc.record({
  rows: fc.integer({ min: 0, max: 150 }),
  rowsAsked: fc.constant(40),
  doubts: fc.boolean(),
  mayCut: fc.boolean(),
})

const afterAll = (service: Service, asked: readonly Asked[]): PageSizes =>
  asked.reduce<PageSizes>((sizes, each) => read(service, each, sizes).sizes, NO_PAGE_SIZES)

describe('the first page of a bare array', () => {
  it('is taken for all there is only where it is, whatever was learnt before from pages cut at the same length', () => {
    fc.assert(
      fc.property(services, fc.array(questions, { maxLength: 12 }), questions, (service, before, asked) => {
        const { concluded } = read(service, asked, afterAll(service, before))
        if (concluded === 'all') expect(asked.rows).toBeLessThanOrEqual(service.cutsAt)
      }),
    )
  })

  it('is not taken for all there is where the service cuts shorter than before, and what was learnt goes', () => {
    fc.assert(
      fc.property(services, fc.array(questions, { maxLength: 12 }), questions, (service, before, asked) => {
        const known = afterAll(service, before)
        const lowered = { ...service, cutsAt: Math.max(2, Math.floor(service.cutsAt / 2)) }
        const more = { ...asked, doubts: true, rows: lowered.cutsAt + 1 + asked.rows }
        const { concluded, sizes } = read(lowered, more, known)
        expect(concluded).not.toBe('all')
        const isDoubted = claimOf(known, firstOf(lowered, more), true) === 'all unless clamped'
        if (isDoubted) expect(sizes).toEqual({ fullMin: lowered.cutsAt, seenMax: lowered.cutsAt })
      }),
    )
  })

  it('is all there is where it is longer than any before, than was asked for, and comes again as page 2', () => {
    fc.assert(
      fc.property(fc.integer({ min: 41, max: 500 }), questions, (rows, asked) => {
        const unpaged = { cutsAt: Infinity, behind: 'last again' } as const
        expect(read(unpaged, { ...asked, rows }, NO_PAGE_SIZES)).toMatchObject({ concluded: 'all' })
      }),
    )
  })

  it('costs no second request where it is shorter than every page that was followed, and not doubted', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 39 }), fc.integer({ min: 1, max: 40 }), (rows, more) => {
        const first = { rows, rowsSent: rows, rowsAsked: 40, rowsLongest: rows + more }
        const known = sawFullPage(NO_PAGE_SIZES, rows + more)
        expect([claimOf(known, first, true), claimOf(known, first, false)]).toEqual(['all', 'all'])
      }),
    )
  })
})

describe('two pages of a bare array that prove nothing', () => {
  it('are never followed by a cut where nothing may be cut, and by a walk to the end where rows go on', () => {
    fc.assert(
      fc.property(services, fc.array(questions, { maxLength: 12 }), questions, (service, before, asked) => {
        const { concluded } = read(service, { ...asked, mayCut: false }, afterAll(service, before))
        const goesOn = asked.rows > service.cutsAt
        expect(goesOn ? ['walk on'] : ['all', 'walk again']).toContain(concluded)
      }),
    )
  })

  it('are cut into what fits one response where a full page comes again, since page numbers are ignored then', () => {
    const first = { rows: 40, rowsSent: 40, rowsAsked: 40, rowsLongest: 40 }
    const second = { isRefused: false, rowsSent: 40, fresh: 0, repeats: 0 }
    const given = { first, second, claim: 'unknown', mayCut: true } as const
    expect(afterTwoPages(NO_PAGE_SIZES, given)).toEqual({
      step: 'cut blindly',
      sizes: { fullMin: 40, seenMax: 40 },
    })
  })

  it.each([
    ['is full', { fullMin: undefined, seenMax: 0 }, 40, 'cut blindly'],
    ['is as long as pages that were followed', { fullMin: 30, seenMax: 30 }, 30, 'cut blindly'],
    ['has room left', { fullMin: 30, seenMax: 30 }, 29, 'walk again'],
  ] as const)('and of which the second is refused hide more where the first %s', (_, sizes, rows, step) => {
    const first = { rows, rowsSent: rows, rowsAsked: 40, rowsLongest: rows }
    const second = { isRefused: true, rowsSent: 0, fresh: 0, repeats: 0 }
    const given = { first, second, claim: 'unknown' } as const
    expect(afterTwoPages(sizes, { ...given, mayCut: true }).step).toBe(step)
    expect(afterTwoPages(sizes, { ...given, mayCut: false }).step).toBe('walk again')
  })

  it('say nothing of page sizes where page 2 holds all rows of page 1 and more: rows came meanwhile', () => {
    const first = { rows: 10, rowsSent: 10, rowsAsked: 40, rowsLongest: 10 }
    const second = { isRefused: false, rowsSent: 12, fresh: 2, repeats: 10 }
    const given = { first, second, claim: 'unknown', mayCut: true } as const
    expect(afterTwoPages(NO_PAGE_SIZES, given)).toEqual({ step: 'cut', sizes: NO_PAGE_SIZES })
  })
})

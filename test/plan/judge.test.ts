/**
 * The rules by which a slice is judged. For bare arrays: whatever way a service pages, a part is never taken for all there is,
 * whatever was learnt from the answers before.
 */
import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Instant } from '../../src/instant.ts'
import { SyncError } from '../../src/errors.ts'
import { judge, RULES } from '../../src/plan/judge.ts'
import type { SliceState, SliceProgress } from '../../src/plan/slice.ts'
import {
  type Page1Completeness,
  completenessOfPage1,
  type PagingProfile,
  withFullPage,
  withPage,
  UNKNOWN_PAGING,
} from '../../src/plan/pagingProfile.ts'
import { afterPage, beginWalk } from '../../src/plan/walk.ts'

/** How a service answers for a page behind the last one. `first again`: for every page, whatever is behind. */
type Behind = 'empty' | 'last again' | 'refused' | 'first again'

interface Service {
  /** Rows at which it cuts a page, whatever was asked for. */
  readonly cutsAt: number
  readonly behind: Behind
}

interface Question {
  readonly rows: number
  readonly rowsAsked: number
  readonly doubts: boolean
  readonly mayCut: boolean
}

interface Pages {
  readonly first: readonly number[]
  readonly second: readonly number[] | 'refused'
  /** Whether narrower requests bring other rows. */
  readonly hides?: boolean
}

const REFUSAL = new SyncError('REQUEST_INVALID', 'no such page', { cure: 'None.' })
const keysFrom = (from: number, count: number): number[] => Array.from({ length: count }, (_, n) => from + n)
/** The profile where nothing but page sizes is unknown. */
const NUMBERED: PagingProfile = { ...UNKNOWN_PAGING, firstNumber: 1 }

function pagesOf({ cutsAt, behind }: Service, { rows }: Question): Pages {
  const first = keysFrom(0, Math.min(rows, cutsAt))
  const fresh = keysFrom(cutsAt, Math.min(Math.max(0, rows - cutsAt), cutsAt))
  if (behind === 'first again') return { first, second: first, hides: fresh.length > 0 }
  if (fresh.length > 0) return { first, second: fresh }
  return { first, second: behind === 'refused' ? behind : behind === 'last again' ? first : [] }
}

/** One span of a bare array that is judged by its first pages, without counting. */
function read(pages: Pages, { rowsAsked, doubts, mayCut }: Omit<Question, 'rows'>, known: PagingProfile) {
  let profile = withPage(known, pages.first.length)
  let walk = afterPage(beginWalk(rowsAsked), { pageNumber: 1, rowCount: pages.first.length, keys: pages.first })
  const rows = pages.first.length
  const page1Complete: Page1Completeness = completenessOfPage1(profile, { rows, rowsSent: rows, rowsAsked }, doubts)
  let progress: SliceProgress = {
    readUpTo: 'page 1',
    attempt: 1,
    page1Complete,
    firstNumberRequested: 1,
    probes: {},
  }
  for (;;) {
    const judged = judge({
      profile,
      slice: { span: { since: 0 as Instant, until: 1_000 as Instant } },
      policy: { cuts: mayCut ? 'freely' : 'never', checksProfile: doubts },
      settings: {
        answer: 'array',
        keyed: true,
        pageSize: rowsAsked,
        youngFrom: 0 as Instant,
        start: 0 as Instant,
        loadRowsMax: 1e6,
        walkAttemptsMax: 4,
      },
      walk,
      ...progress,
    } satisfies SliceState)
    ;({ profile } = judged)
    const { verdict } = judged
    if (verdict.kind === 'learn again') progress = { ...progress, page1Complete: 'unknown' }
    else if (verdict.kind === 'probe')
      progress = { ...progress, probes: { narrower: pages.hides === true ? 'hidden' : 'nothing new' } }
    else if (verdict.kind === 'read' && verdict.what === 'page 2') {
      const { second } = pages
      const isRepeat = second === pages.first && rows > 0
      const page2 = second === 'refused' ? { keys: [], refusal: REFUSAL } : { keys: second, isRepeat }
      walk = afterPage(walk, { pageNumber: 2, rowCount: page2.keys.length, ...page2 })
      progress = { ...progress, readUpTo: 'page 2' }
    } else return { page1Complete, concluded: conclusions[verdict.kind] ?? verdict.kind, verdict, profile }
  }
}

const conclusions: Partial<Record<string, string>> = { proven: 'all', read: 'walk on', 'read again': 'walk again' }

const services = fc.record({
  cutsAt: fc.integer({ min: 2, max: 60 }),
  behind: fc.constantFrom<Behind>('empty', 'last again', 'refused', 'first again'),
})
const questions = fc.record({
  rows: fc.integer({ min: 0, max: 150 }),
  rowsAsked: fc.constant(40),
  doubts: fc.boolean(),
  mayCut: fc.boolean(),
})

const afterAll = (service: Service, asked: readonly Question[]): PagingProfile =>
  asked.reduce<PagingProfile>(
    (profile, each) => ({ ...read(pagesOf(service, each), each, profile).profile, longestPageRowsOfRun: 0 }),
    NUMBERED,
  )

describe('the first page of a bare array', () => {
  it('is taken for all there is only where it is, whatever was learnt before from pages cut at the same length', () => {
    fc.assert(
      fc.property(services, fc.array(questions, { maxLength: 12 }), questions, (service, before, asked) => {
        const { concluded } = read(pagesOf(service, asked), asked, afterAll(service, before))
        // Only what may be cut is narrowed. What may not be cut is an envelope, whose total counts its rows.
        const isNarrowed = asked.mayCut || service.behind !== 'first again'
        if (concluded === 'all' && isNarrowed) expect(asked.rows).toBeLessThanOrEqual(service.cutsAt)
      }),
    )
  })

  it('is not taken for all there is where the service cuts shorter than before, and what was learnt goes', () => {
    fc.assert(
      fc.property(services, fc.array(questions, { maxLength: 12 }), questions, (service, before, asked) => {
        const known = afterAll(service, before)
        const lowered = { ...service, cutsAt: Math.max(2, Math.floor(service.cutsAt / 2)) }
        // A service that ignores page numbers is found out by narrower requests, so only by spans that may be cut.
        const isUnpaged = service.behind === 'first again'
        const mayCut = asked.mayCut || isUnpaged
        const more = { ...asked, mayCut, doubts: true, rows: lowered.cutsAt + 1 + asked.rows }
        const { concluded, page1Complete, profile } = read(pagesOf(lowered, more), more, known)
        expect(concluded).not.toBe('all')
        const learnt = { fullPageRows: lowered.cutsAt, longestPageRows: lowered.cutsAt }
        if (page1Complete === 'unless clamped' && !isUnpaged) expect(profile).toMatchObject(learnt)
      }),
    )
  })

  it('is all there is where it is longer than any before, than was asked for, and comes again as page 2', () => {
    fc.assert(
      fc.property(fc.integer({ min: 41, max: 500 }), questions, (rows, asked) => {
        const unpaged = { cutsAt: Infinity, behind: 'last again' } as const
        const all = { ...asked, rows, mayCut: true }
        expect(read(pagesOf(unpaged, all), all, NUMBERED)).toMatchObject({ concluded: 'all' })
      }),
    )
  })

  it('costs no second request where it is shorter than every page that was followed, and not doubted', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 39 }), fc.integer({ min: 1, max: 40 }), (rows, more) => {
        const first = { rows, rowsSent: rows, rowsAsked: 40 }
        const known = withPage(withFullPage(UNKNOWN_PAGING, rows + more), rows + more)
        expect([completenessOfPage1(known, first, true), completenessOfPage1(known, first, false)]).toEqual([
          'certain',
          'certain',
        ])
      }),
    )
  })
})

describe('two pages of a bare array that prove nothing', () => {
  it('are never followed by a cut where nothing may be cut, and by a walk to the end where rows go on', () => {
    fc.assert(
      fc.property(services, fc.array(questions, { maxLength: 12 }), questions, (service, before, asked) => {
        const { concluded } = read(pagesOf(service, asked), { ...asked, mayCut: false }, afterAll(service, before))
        const goesOn = asked.rows > service.cutsAt && service.behind !== 'first again'
        expect(goesOn ? ['walk on'] : ['all', 'walk again']).toContain(concluded)
      }),
    )
  })

  const usual = { rowsAsked: 40, doubts: false, mayCut: true }

  it('are cut into what fits one response where a full page comes again, since page numbers are ignored then', () => {
    const first = keysFrom(0, 40)
    const { verdict, profile } = read({ first, second: first, hides: true }, usual, NUMBERED)
    expect(verdict).toEqual({ kind: 'cut', how: {}, samples: 1 })
    expect(profile).toMatchObject({ fullPageRows: 40, longestPageRows: 40 })
  })

  it.each([
    ['is full', undefined, 40, 'cut'],
    ['is as long as pages that were followed', 30, 30, 'cut'],
  ] as const)('and of which the second is refused hide more where the first %s', (_, fullPageRows, rows, concluded) => {
    const known = { ...NUMBERED, fullPageRows, longestPageRows: fullPageRows === undefined ? 0 : fullPageRows + 1 }
    const pages = { first: keysFrom(0, rows), second: 'refused', hides: true } as const
    expect(read(pages, usual, known).concluded).toBe(concluded)
    expect(read(pages, { ...usual, mayCut: false }, known).concluded).toBe('walk again')
  })

  it('and of which the second is refused hide nothing where the first has room left', () => {
    const pages = { first: keysFrom(0, 29), second: 'refused' } as const
    expect(read(pages, usual, NUMBERED).concluded).toBe('all')
    expect(read(pages, { ...usual, mayCut: false }, NUMBERED).concluded).toBe('walk again')
  })

  it('say nothing of page sizes where page 2 holds all rows of page 1 and more: rows came meanwhile', () => {
    const { verdict, profile } = read({ first: keysFrom(0, 10), second: keysFrom(0, 12) }, usual, NUMBERED)
    expect(verdict).toMatchObject({ kind: 'cut', samples: 2 })
    expect(profile).toMatchObject({ fullPageRows: undefined, longestPageRows: 0 })
  })
})

describe('a first walk over old rows of an envelope', () => {
  const span = { since: 0 as Instant, until: 1_000 as Instant }
  const settings = { answer: 'envelope', keyed: true, pageSize: 10, loadRowsMax: 1e6, walkAttemptsMax: 4 } as const

  /** Judges a walk that has read the pages; each page has its keys and the total at its moment. */
  function judgeWalk(
    pages: readonly { keys: readonly number[]; totalCount: number }[],
    slice: Partial<SliceState['slice']>,
  ) {
    let walk = beginWalk(10)
    for (const [n, page] of pages.entries())
      walk = afterPage(walk, { pageNumber: n + 1, rowCount: page.keys.length, ...page })
    const progress: SliceProgress = {
      readUpTo: 'the end',
      attempt: 1,
      page1Complete: 'unknown',
      firstNumberRequested: 1,
      probes: {},
    }
    const policy = { cuts: 'freely', checksProfile: true } as const
    const times = { youngFrom: 2_000 as Instant, start: 0 as Instant }
    return judge({
      profile: NUMBERED,
      slice: { span, ...slice },
      policy,
      settings: { ...settings, ...times },
      walk,
      ...progress,
    }).verdict
  }

  it('is never proven if its total changes: its span is cut, and all parts are read again', () => {
    const totals = fc.array(fc.integer({ min: 10, max: 400 }), { minLength: 2, maxLength: 30 })
    fc.assert(
      fc.property(totals, fc.boolean(), (each, hasFloor) => {
        fc.pre(new Set(each).size > 1)
        const pages = each.map((totalCount, n) => ({ keys: keysFrom(10 * n, 10), totalCount }))
        const bounds = hasFloor ? span : { since: undefined, until: span.until }
        const verdict = judgeWalk(pages, { span: bounds })
        expect(verdict.kind).toBe('cut')
        const { parts = [bounds] } = verdict.kind === 'cut' ? verdict.how : {}
        expect([parts[0]?.since, parts.at(-1)?.until]).toEqual([bounds.since, bounds.until])
        for (const [n, { since }] of parts.slice(1).entries()) expect(since).toBe(parts[n]?.until)
      }),
    )
  })

  it('is cut if a key is returned twice, but is read again if it has a crowded instant or every page is page 1', () => {
    const moved = [
      { keys: keysFrom(0, 10), totalCount: 25 },
      { keys: keysFrom(9, 10), totalCount: 25 },
    ]
    const unpaged = moved.map((page) => ({ ...page, keys: keysFrom(0, 10) }))
    expect(judgeWalk(moved, {}).kind).toBe('cut')
    expect(judgeWalk(moved, { crowdedInstant: 'somewhere' }).kind).toBe('read again')
    expect(judgeWalk(unpaged, {}).kind).toBe('read again')
  })

  it('is not proven by two walks if both pages have the same rows in another order, and the total counts both', () => {
    const page = { rowCount: 10, totalCount: 20, pageSize: 50 }
    const first = afterPage(beginWalk(50), { ...page, pageNumber: 1, keys: keysFrom(0, 10) })
    const walk = afterPage(first, { ...page, pageNumber: 2, keys: keysFrom(0, 10).toReversed() })
    const { verdict } = judge({
      profile: NUMBERED,
      slice: { span },
      policy: { cuts: 'freely', checksProfile: true },
      settings: { ...settings, pageSize: 50, youngFrom: 2_000 as Instant, start: 0 as Instant },
      readUpTo: 'the end',
      attempt: 2,
      walk,
      previous: walk,
      page1Complete: 'unknown',
      firstNumberRequested: 1,
      probes: {},
    })
    expect(verdict).toEqual({ kind: 'probe', what: 'narrower spans' })
  })
})

const anchor = (heading: string): string => heading.toLowerCase().replaceAll(/[`:]/g, '').replaceAll(' ', '-')

describe('the rules', () => {
  const proofs = readFileSync('docs/PROOFS.md', 'utf8')

  it('are printed in docs/PROOFS.md as they are tried, each with the section that argues it', () => {
    const lines = RULES.map(
      ({ name, verdict, argued }, n) =>
        `| ${n + 1} | ${name} | ${verdict} | [${argued.split(':')[0]}](#${anchor(argued)}) |`,
    )
    expect(proofs.split('\n').filter((line) => /^\| \d+ \| .* \[.*\]\(#.*\) \|$/.test(line))).toEqual(lines)
  })

  it('name sections that exist', () => {
    const headings = [...proofs.matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading)
    for (const { argued } of RULES) expect(headings).toContain(argued)
  })
})

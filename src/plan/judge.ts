/** Judges the responses for a slice by the first rule that applies. Appendix D of docs/PROOFS.md explains the terms. */
import * as learn from './learning.ts'
import * as facts from './sliceFacts.ts'
import { isFullPage, type PagingProfile, withLastPage, withLoweredClamp } from './pagingProfile.ts'
import type { CutPlan, SliceState, PageOrder, ProbeName, Verdict } from './slice.ts'
import type { Span } from './spans.ts'
import { type Proof, totalOf, type Walk } from './walk.ts'
import { endsFull, leastTotalOf, meetsTotal, refusalOfNeededPage } from './walkFacts.ts'

export interface Rule {
  readonly name: string
  readonly verdict: string
  /** Heading of the section in docs/PROOFS.md that proves the rule. */
  readonly argued: string
  readonly apply: (state: SliceState) => Verdict | false
  readonly learns?: (state: SliceState) => PagingProfile
}

const SINGLE = '`single`: one response contains everything'
const TOTAL = '`total`: as many rows as there can be'
const AGREED = '`agreed`: two walks returned the same rows'
const ODD = 'Appendix A: odd services'
const COST = 'Appendix C: what it costs'

const read = (what: PageOrder): Verdict => ({ kind: 'read', what })
const probe = (what: ProbeName): Verdict => ({ kind: 'probe', what })
const proven = (by: Proof, walk: Walk): Verdict => ({ kind: 'proven', by, walk })
const cut = (how: Omit<CutPlan, 'stamps' | 'pageRows'> = {}, samples: 1 | 2 = 1): Verdict => ({
  kind: 'cut',
  how,
  samples,
})
const cutInto = (parts: readonly Span[] | undefined, total?: number): Verdict | false =>
  parts !== undefined && cut({ total, parts })
const cutIntoLoads = (state: SliceState, total: number): Verdict | false =>
  cutInto(facts.splitIntoLoads(state, total), total)

const readAgain = (state: SliceState): Verdict => ({
  kind: 'read again',
  attempt: state.attempt + 1,
  rowsAsked: facts.nextPageSize(state),
})

const giveUp = (state: SliceState): Verdict => ({ kind: 'give up', why: whyIncomplete(state) })

function whyIncomplete(state: SliceState): string | undefined {
  const { walk, profile } = state
  const refusal = refusalOfNeededPage(walk, profile)
  if (refusal !== undefined) return `the next page is refused: ${refusal.message}`
  if (facts.agreesBelowTotals(state))
    return `the service counts ${leastTotalOf(walk)} rows, but its pages have ${walk.distinct}`
  const why = 'the service ignores pageNumber, and one instant has as many rows as a response'
  return facts.hidesAtOneInstant(state) ? why : undefined
}

const NUMBERING: readonly Rule[] = [
  {
    name: 'The service counts pages from 0, and page 1 was requested first',
    verdict: 'read again from page 0',
    argued: ODD,
    apply: (state) =>
      state.profile.firstNumber === 0 &&
      state.firstNumberRequested > 0 && { kind: 'read again', attempt: 1, rowsAsked: state.settings.pageSize },
  },
  {
    name: 'A bare array, and the number of the first page is not known',
    verdict: 'probe the first number',
    argued: ODD,
    apply: (state) => {
      const isUnknown = state.profile.firstNumber === undefined && state.probes.firstNumber === undefined
      return facts.isArrayUpToPage2(state) && state.settings.answer === 'array' && isUnknown && probe('first number')
    },
  },
]

/** Rules for page 1 if it has a total (an envelope). */
const ENVELOPE: readonly Rule[] = [
  {
    name: 'Page 1 has as many keys as its total and has room left',
    verdict: 'proven by `single`',
    argued: SINGLE,
    apply: ({ profile, walk }) => meetsTotal(walk) && !endsFull(walk, profile) && proven('single', walk),
  },
  {
    name: 'The total counts more rows than page 1, and only one response is wanted',
    verdict: 'cut',
    argued: 'The first run of reports without a required bound',
    apply: ({ policy, walk }) => {
      const total = totalOf(walk) ?? 0
      return policy.cuts === 'only one response is wanted' && total > walk.first.rows && cut({ total })
    },
  },
  {
    name: 'More pages in a span that is partly old. Its old part has no lower bound, or probably more than a page',
    verdict: 'cut between the old and the young part',
    argued: TOTAL,
    apply: (state) => facts.hasMorePages(state) && cutInto(facts.splitByAge(state), totalOf(state.walk)),
  },
  {
    name: 'More pages in an old span with more than a load and no lower bound',
    verdict: 'cut at `start`',
    argued: COST,
    apply: (state) => facts.isOldOverOneLoad(state) && cutInto(facts.splitAtStart(state), totalOf(state.walk)),
  },
  {
    name: 'More pages in a divisible span without a crowded instant. It is young, or has more than 16 pages after a move. No page was ever longer than page 1',
    verdict: 'cut by the total',
    argued: TOTAL,
    apply: (state) => facts.isCutByTotal(state) && cut({ total: totalOf(state.walk) }),
  },
  {
    name: 'More pages in an old divisible span with more than a load, and no page was ever longer than page 1',
    verdict: 'cut into loads',
    argued: COST,
    apply: (state) =>
      facts.isOldOverOneLoad(state) && facts.isTotalTrusted(state) && cutIntoLoads(state, totalOf(state.walk) ?? 0),
  },
  {
    name: 'Page 1 of any other envelope',
    verdict: 'read the pages of the total, in an old span until a row moves',
    argued: TOTAL,
    apply: (state) => read(facts.orderOfTotal(state)),
  },
]

/** Rules for page 1 and page 2 of a bare array (a response without a total), in the first walk. */
const BARE_ARRAY: readonly Rule[] = [
  {
    name: 'Page 1 is empty; or it is below the limit, and the limit is confirmed',
    verdict: 'proven by `single`',
    argued: SINGLE,
    apply: (state) => state.page1Complete === 'certain' && proven('single', state.walk),
    learns: learn.singlePage,
  },
  {
    name: 'Page 1 is below a limit that is not confirmed; or it is longer than requested and than any page before',
    verdict: 'read page 2',
    argued: ODD,
    apply: (state) => state.readUpTo === 'page 1' && state.page1Complete !== 'unknown' && read('page 2'),
  },
  {
    name: 'Page 1 has several rows and seems to be the only page of a divisible span. Page 2 was read, or no complete response was ever longer',
    verdict: 'probe narrower spans',
    argued: SINGLE,
    apply: (state) => facts.mayHideRows(state) && state.probes.narrower === undefined && probe('narrower spans'),
  },
  {
    name: 'The narrower spans have no other row',
    verdict: 'proven by `single`',
    argued: SINGLE,
    apply: (state) => state.probes.narrower === 'nothing new' && proven('single', state.walk),
    learns: learn.provenPage,
  },
  {
    name: 'The narrower spans have another row',
    verdict: 'cut by the stamps of page 1',
    argued: SINGLE,
    apply: (state) => state.probes.narrower === 'hidden' && cut({ parts: facts.hiddenParts(state) }),
    learns: learn.fullPage,
  },
  {
    name: 'The narrower spans have rows that were added later, or need too many requests',
    verdict: 'cut by the stamps of page 1',
    argued: SINGLE,
    apply: (state) => state.probes.narrower === 'moved' && cut({ parts: facts.hiddenParts(state) }),
  },
  {
    name: 'Page 2 was read to confirm page 1, and repeats it; or page 1 is below a limit that is not confirmed, and page 2 is empty or refused',
    verdict: 'proven by `single`',
    argued: ODD,
    apply: (state) => state.readUpTo === 'page 2' && facts.page2ConfirmsPage1(state) && proven('single', state.walk),
    learns: learn.singlePage,
  },
  {
    name: 'Page 1 is below a limit that is not confirmed, and page 2 has new rows and not all of page 1',
    verdict: 'learn again the length of a full page',
    argued: ODD,
    apply: (state) =>
      state.readUpTo === 'page 2' &&
      state.page1Complete === 'unless clamped' &&
      facts.continuesOnPage2(state) && { kind: 'learn again' },
    learns: (state) => withLoweredClamp(state.profile, state.walk.first.rows),
  },
  {
    name: 'An old span of different rows with keys, which may be counted, and the last page was not searched yet',
    verdict: 'probe the place of the last page',
    argued: TOTAL,
    apply: (state) => facts.isCountable(state) && state.probes.lastPage === undefined && probe('last page'),
  },
  {
    name: 'The search for the last page met a page after more than a load, and pages are sorted by time',
    verdict: 'cut where that page begins',
    argued: COST,
    apply: ({ probes }) => probes.loadParts !== undefined && cut(probes.loadParts),
  },
  {
    name: 'The last page is found, the pages up to it have room for more than a load, and the span is divisible',
    verdict: 'cut into loads',
    argued: COST,
    apply: (state) => {
      const total = facts.lastPageFound(state)?.total ?? 0
      return facts.mustWalkBack(state) && total > facts.countMax(state) && cutIntoLoads(state, total)
    },
    learns: learn.countedPages,
  },
  {
    name: 'The last page is found, and the pages before it were not read back yet',
    verdict: 'read from the last page to the first',
    argued: TOTAL,
    apply: (state) => facts.mustWalkBack(state) && read('last page to first'),
    learns: learn.countedPages,
  },
  {
    name: 'The walk back has as many rows as its pages have room for, and no page was longer than page 1',
    verdict: 'probe rows that were not counted',
    argued: TOTAL,
    apply: (state) =>
      facts.completeBackwardWalk(state) !== undefined &&
      state.probes.hasMissedRows === undefined &&
      probe('rows that were not counted'),
  },
  {
    name: 'The same walk back, and the probe for rows that were not counted found none',
    verdict: 'proven by `total`',
    argued: TOTAL,
    apply: (state) => {
      const walk = facts.completeBackwardWalk(state)
      return walk !== undefined && state.probes.hasMissedRows === false && proven('total', walk)
    },
  },
  {
    name: 'Page 1 is as long as the longest page, full pages are known, and the span can be cut',
    verdict: 'cut by its stamps; first between an old part and a shorter young one',
    argued: COST,
    apply: (state) =>
      state.readUpTo === 'page 1' &&
      facts.canBeCut(state) &&
      isFullPage(state.profile, state.walk.first.rows) &&
      cut({ parts: facts.splitOffOld(state) }),
  },
  {
    name: 'Page 1 of any other bare array',
    verdict: 'read page 2',
    argued: SINGLE,
    apply: (state) => state.readUpTo === 'page 1' && read('page 2'),
  },
]

const ARRAY_PAGE_2: readonly Rule[] = [
  {
    name: 'Page 2 has new rows, and the span can be cut',
    verdict: 'cut by the stamps of both pages; first between an old part and a shorter young one',
    argued: COST,
    apply: (state) =>
      facts.canBeCut(state) && state.walk.latest.newRows > 0 && cut({ parts: facts.splitOffOld(state) }, 2),
    learns: learn.followedPage,
  },
  {
    name: 'Page 2 repeats a full page 1 or is refused after it, and the span can be cut',
    verdict: 'cut by the stamps of page 1',
    argued: ODD,
    apply: (state) => facts.canBeCut(state) && facts.mayHideRowsBehindPage1(state) && cut(),
    learns: learn.fullPage,
  },
  {
    name: 'Page 2 has new rows, and the span cannot be cut',
    verdict: 'read to the end',
    argued: AGREED,
    apply: (state) => state.walk.latest.newRows > 0 && read('to the end'),
    learns: learn.followedPage,
  },
  {
    name: 'Page 2 has no new rows',
    verdict: 'read again, as a second walk',
    argued: AGREED,
    apply: readAgain,
    learns: (state) => withLastPage(state.profile, state.walk.first.rows),
  },
]

const ENDED_WALK: readonly Rule[] = [
  {
    name: 'The service refuses a page that would contain all rows',
    verdict: 'give up',
    argued: ODD,
    apply: (state) => state.isLargePageRefused === true && giveUp(state),
  },
  {
    name: 'The walk has as many keys as the total, the total is the same on all pages, and the span is old or has one page',
    verdict: 'proven by `total`',
    argued: TOTAL,
    apply: (state) => {
      const { walk, attempt } = state
      const isMet = walk.first.totalCount !== undefined && meetsTotal(walk) && !walk.page2Repeats
      return attempt === 1 && isMet && (facts.isOld(state) || walk.pages === 1) && proven('total', walk)
    },
    learns: learn.walkedPages,
  },
  {
    name: 'Rows moved during the first walk over an old span of an envelope, which has no crowded instant and can be cut finer',
    verdict: 'cut into slices of 8 pages, or in two if it has at most 16 pages',
    argued: COST,
    apply: (state) => facts.hasMovedInFirstWalk(state) && cut(facts.cutAfterMove(state)),
  },
  {
    name: 'Any other first walk',
    verdict: 'read again, as a second walk',
    argued: AGREED,
    apply: (state) => state.attempt === 1 && readAgain({ ...state, profile: learn.walkedPages(state) }),
    learns: learn.walkedPages,
  },
  {
    name: 'Two walks return equally many rows, each total counts more, and page 0 was never read',
    verdict: 'probe page 0',
    argued: ODD,
    apply: (state) => facts.mayHavePageZero(state) && probe('page 0'),
  },
  {
    name: 'Two walks of a trail agree, and each total counts more',
    verdict: 'probe entries before and after the returned ones',
    argued: AGREED,
    apply: (state) =>
      facts.agreesBelowTotals(state) &&
      !state.settings.keyed &&
      state.probes.hasMissedRows === undefined &&
      probe('entries outside'),
  },
  {
    name: 'One of three: a trail has entries before or after the returned ones; each page repeats page 1, and the span cannot be cut finer; page 2 of a bare array has no new row, also with one row less per page',
    verdict: 'give up',
    argued: AGREED,
    apply: (state) => facts.mustGiveUp(state) && giveUp(state),
  },
  {
    name: 'Two walks agree, each total counts more, and the parts of the span were not requested yet',
    verdict: 'probe narrower spans if each page repeats page 1, otherwise the totals of parts',
    argued: AGREED,
    apply: (state) => {
      const what = facts.probeOfParts(state)
      return what !== undefined && probe(what)
    },
  },
  {
    name: 'Two walks agree, each total counts more, and the totals of the parts add up',
    verdict: 'cut, so that each part can be paged to',
    argued: ODD,
    apply: (state) =>
      facts.agreesBelowTotals(state) && state.probes.partTotals === 'add up' && cutInto(facts.finerParts(state)),
  },
  {
    name: 'Two walks agree, and no page that may have rows is refused. If each page repeats page 1, narrower spans have no other row',
    verdict: 'proven by `agreed`',
    argued: AGREED,
    apply: (state) =>
      facts.isAgreed(state) &&
      refusalOfNeededPage(state.walk, state.profile) === undefined &&
      proven('agreed', state.walk),
    learns: learn.agreedPages,
  },
  {
    name: 'Two walks do not agree, or the last walk over a bare array ended at a refused full page; and the span can be cut finer',
    verdict: 'cut finer',
    argued: AGREED,
    apply: (state) => (!facts.isAgreed(state) || facts.endsAtRefusedPage(state)) && cutInto(facts.finerParts(state)),
  },
  {
    name: '`walk_attempts_max` walks were read',
    verdict: 'give up',
    argued: AGREED,
    apply: (state) => state.attempt >= state.settings.walkAttemptsMax && giveUp(state),
  },
  {
    name: 'Anything else',
    verdict: 'read again',
    argued: AGREED,
    apply: readAgain,
  },
]

const onlyIf = (isMet: (state: SliceState) => boolean, rules: readonly Rule[]): Rule[] =>
  rules.map((rule) => ({ ...rule, apply: (state) => isMet(state) && rule.apply(state) }))

export const RULES: readonly Rule[] = [
  ...NUMBERING,
  ...onlyIf(facts.isEnvelopePage1, ENVELOPE),
  ...onlyIf(facts.isArrayUpToPage2, [...BARE_ARRAY, ...ARRAY_PAGE_2]),
  ...ENDED_WALK,
]

export function judge(state: SliceState): { readonly verdict: Verdict; readonly profile: PagingProfile } {
  for (const rule of RULES) {
    const verdict = rule.apply(state)
    if (verdict !== false) return { verdict, profile: rule.learns?.(state) ?? state.profile }
  }
  throw new RangeError('no rule fits')
}

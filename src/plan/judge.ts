/** Judges the responses for a slice: the first rule of `RULES` that fits decides. docs/PROOFS.md proves each rule. */
import {
  splitByAge,
  alwaysFills,
  splitAtFloor,
  countMax,
  cutByMove,
  lastPageFound,
  deepParts,
  finerParts,
  hiddenParts,
  isAgreed,
  isAllByPage2,
  isCountMet,
  isCutByTotal,
  isCuttable,
  continuesOnPage2,
  isHiddenBehindPage1,
  isLacking,
  isMovedWalk,
  isOld,
  isPage2,
  isShort,
  isEnvelopePage1,
  isOverfull,
  isTotalBelieved,
  isUncounted,
  isArrayUpToPage2,
  learnAgreed,
  learnCounted,
  learnFollowed,
  learnFull,
  learnSingle,
  learnWalked,
  learnWhole,
  splitIntoLoads,
  mayHideRows,
  mayLackPageZero,
  orderOfTotal,
  probeOfParts,
  splitOffOld,
} from './caseFacts.ts'
import {
  SINGLE,
  TOTAL,
  AGREED,
  ODD,
  COST,
  READ_PAGE_2,
  READ_TO_THE_END,
  cut,
  proven,
  probe,
  readAgain,
  giveUp,
  type Rule,
} from './rule.ts'
import type { Case, Verdict } from './slice.ts'
import { isFullPage, type PagingProfile, sawLastPage, sawLoweredClamp } from './pagingProfile.ts'

const NUMBERING: readonly Rule[] = [
  {
    name: 'The service counts pages from 0, and page 1 was requested first',
    verdict: 'read again from page 0',
    argued: ODD,
    apply: (c) =>
      c.profile.firstNumber === 0 &&
      c.seen.sentNumber > 0 && { kind: 'read again', attempt: 1, rowsAsked: c.terms.pageSize },
  },
  {
    name: 'A bare array, and the number of the first page is not known',
    verdict: 'probe the first number',
    argued: ODD,
    apply: (c) => {
      const isUnknown = c.profile.firstNumber === undefined && c.seen.found.firstNumber === undefined
      return isArrayUpToPage2(c) && c.terms.answer === 'array' && isUnknown && probe('first number')
    },
  },
]

const ENVELOPE: readonly Rule[] = [
  {
    name: 'Page 1 has as many keys as its total and has room left',
    verdict: 'proven by `single`',
    argued: SINGLE,
    apply: (c) =>
      isEnvelopePage1(c) && c.seen.walk.meetsTotal && !c.seen.walk.endsFull(c.profile) && proven('single', c.seen.walk),
  },
  {
    name: 'The total counts more rows than page 1, and only one response is wanted',
    verdict: 'cut',
    argued: 'The first run of reports without a required bound',
    apply: (c) => {
      const { totalCount: total = 0, firstRows } = c.seen.walk
      return (
        isEnvelopePage1(c) && c.policy.cuts === 'only one response is wanted' && total > firstRows && cut({ total })
      )
    },
  },
  {
    name: 'More pages in a span that is partly old, whose old part has no lower bound or probably more than a page',
    verdict: 'cut between the old and the young part',
    argued: TOTAL,
    apply: (c) =>
      isOverfull(c) && splitByAge(c) !== undefined && cut({ total: c.seen.walk.totalCount, parts: splitByAge(c) }),
  },
  {
    name: 'More pages in an old span with more than a load and no lower bound',
    verdict: 'cut at `start`',
    argued: COST,
    apply: (c) => {
      const { totalCount: total = 0 } = c.seen.walk
      const parts = isOverfull(c) && isOld(c) && total > c.terms.loadRowsMax && splitAtFloor(c)
      return parts !== undefined && parts !== false && cut({ total, parts })
    },
  },
  {
    name: 'More pages in a divisible span without a heap, young or with more than 16 pages after a move, and no page was ever longer than page 1',
    verdict: 'cut by the total',
    argued: TOTAL,
    apply: (c) => isCutByTotal(c) && cut({ total: c.seen.walk.totalCount }),
  },
  {
    name: 'More pages in an old divisible span with more than a load, and no page was ever longer than page 1',
    verdict: 'cut into loads',
    argued: COST,
    apply: (c) => {
      const { totalCount: total = 0 } = c.seen.walk
      const isOldLoad = isOverfull(c) && isTotalBelieved(c) && isOld(c) && total > c.terms.loadRowsMax
      return isOldLoad && cut({ total, parts: splitIntoLoads(c, total) })
    },
  },
  {
    name: 'Page 1 of any other envelope',
    verdict: 'read the pages of the total, in an old span until a row moves',
    argued: TOTAL,
    apply: (c) => isEnvelopePage1(c) && { kind: 'read', what: orderOfTotal(c) },
  },
]

const BARE_ARRAY: readonly Rule[] = [
  {
    name: 'Page 1 is empty; or it is below the limit, and the limit is confirmed',
    verdict: 'proven by `single`',
    argued: SINGLE,
    apply: (c) => isArrayUpToPage2(c) && c.seen.claim === 'all' && proven('single', c.seen.walk),
    learns: learnSingle,
  },
  {
    name: 'Page 1 is below a limit that is not confirmed; or it is longer than requested and than any page before',
    verdict: 'read page 2',
    argued: ODD,
    apply: (c) => isArrayUpToPage2(c) && c.seen.stage === 'page 1' && c.seen.claim !== 'unknown' && READ_PAGE_2,
  },
  {
    name: 'Page 1 of several rows seems to be the only page, page 2 was read or no whole response was longer, and the span is divisible',
    verdict: 'probe narrower spans',
    argued: SINGLE,
    apply: (c) => mayHideRows(c) && c.seen.found.narrower === undefined && probe('narrower spans'),
  },
  {
    name: 'The narrower spans have no other row',
    verdict: 'proven by `single`',
    argued: SINGLE,
    apply: (c) => isArrayUpToPage2(c) && c.seen.found.narrower === 'nothing new' && proven('single', c.seen.walk),
    learns: learnWhole,
  },
  {
    name: 'The narrower spans have another row',
    verdict: 'cut by the stamps of page 1',
    argued: SINGLE,
    apply: (c) => isArrayUpToPage2(c) && c.seen.found.narrower === 'hidden' && cut({ parts: hiddenParts(c) }),
    learns: learnFull,
  },
  {
    name: 'The narrower spans have rows that were added later, or need too many requests',
    verdict: 'cut by the stamps of page 1',
    argued: SINGLE,
    apply: (c) => isArrayUpToPage2(c) && c.seen.found.narrower === 'moved' && cut({ parts: hiddenParts(c) }),
  },
  {
    name: 'Page 2 was read by rule 11, and is page 1 again; or the limit is not confirmed, and it is empty or refused',
    verdict: 'proven by `single`',
    argued: ODD,
    apply: (c) => isPage2(c) && isAllByPage2(c) && proven('single', c.seen.walk),
    learns: learnSingle,
  },
  {
    name: 'Page 1 is below a limit that is not confirmed, and page 2 has new rows and not all of page 1',
    verdict: 'learn again the length of a full page',
    argued: ODD,
    apply: (c) => isPage2(c) && c.seen.claim === 'all unless clamped' && continuesOnPage2(c) && { kind: 'learn again' },
    learns: (c) => sawLoweredClamp(c.profile, c.seen.walk.firstRows),
  },
  {
    name: 'An old span of different rows with keys, which may be counted, and the last page was not searched yet',
    verdict: 'probe the place of the last page',
    argued: TOTAL,
    apply: (c) => {
      const mayCount = isArrayUpToPage2(c) && c.terms.keyed && isOld(c) && c.slice.mayCount === true
      return mayCount && c.seen.walk.repeats === 0 && c.seen.found.lastPage === undefined && probe('last page')
    },
  },
  {
    name: 'The search for the last page met a page after more than a load, and pages are sorted by time',
    verdict: 'cut where that page begins',
    argued: COST,
    apply: ({ seen: { found } }) =>
      typeof found.lastPage === 'object' && 'parts' in found.lastPage && cut(found.lastPage),
  },
  {
    name: 'The last page is found, the pages up to it have room for more than a load, and the span is divisible',
    verdict: 'cut into loads',
    argued: COST,
    apply: (c) => {
      const total = lastPageFound(c)?.total ?? 0
      const parts = splitIntoLoads(c, total)
      return isUncounted(c) && total > countMax(c) && parts !== undefined && cut({ total, parts })
    },
    learns: learnCounted,
  },
  {
    name: 'The last page is found, and the pages before it were not read back yet',
    verdict: 'read from the last page to the first',
    argued: TOTAL,
    apply: (c) => isUncounted(c) && { kind: 'read', what: 'last page to first' },
    learns: learnCounted,
  },
  {
    name: 'The walk back has as many rows as its pages have room for, and no page was longer than page 1',
    verdict: 'probe rows that were not counted',
    argued: TOTAL,
    apply: (c) =>
      isArrayUpToPage2(c) && isCountMet(c) && c.seen.found.hidden === undefined && probe('rows that were not counted'),
  },
  {
    name: 'As rule 22, and its probe found no other row',
    verdict: 'proven by `total`',
    argued: TOTAL,
    apply: (c) => {
      const { counted, hidden } = c.seen.found
      return (
        isArrayUpToPage2(c) && isCountMet(c) && hidden === false && counted !== undefined && proven('total', counted)
      )
    },
  },
  {
    name: 'Page 1 is as long as the longest page, full pages are known, and the span can be cut',
    verdict: 'cut by its stamps',
    argued: COST,
    apply: (c) => {
      const isUnread = isArrayUpToPage2(c) && c.seen.stage === 'page 1' && c.seen.claim === 'unknown'
      return isUnread && isCuttable(c) && isFullPage(c.profile, c.seen.walk.firstRows) && cut({ parts: splitOffOld(c) })
    },
  },
  {
    name: 'Page 1 of any other bare array',
    verdict: 'read page 2',
    argued: SINGLE,
    apply: (c) => isArrayUpToPage2(c) && c.seen.stage === 'page 1' && READ_PAGE_2,
  },
  {
    name: 'Page 2 has new rows, and the span can be cut',
    verdict: 'cut by the stamps of both pages',
    argued: COST,
    apply: (c) => isPage2(c) && isCuttable(c) && c.seen.walk.freshOnLastPage > 0 && cut({ parts: splitOffOld(c) }, 2),
    learns: learnFollowed,
  },
  {
    name: 'Page 2 repeats a full page 1 or is refused after it, and the span can be cut',
    verdict: 'cut by the stamps of page 1',
    argued: ODD,
    apply: (c) => isPage2(c) && isCuttable(c) && isHiddenBehindPage1(c) && cut(),
    learns: learnFull,
  },
  {
    name: 'Page 2 has new rows, and the span cannot be cut',
    verdict: 'read to the end',
    argued: AGREED,
    apply: (c) => isPage2(c) && c.seen.walk.freshOnLastPage > 0 && READ_TO_THE_END,
    learns: learnFollowed,
  },
  {
    name: 'Page 2 has no new rows',
    verdict: 'read again, as a second walk',
    argued: AGREED,
    apply: (c) => isPage2(c) && readAgain(c),
    learns: (c) => sawLastPage(c.profile, c.seen.walk.firstRows),
  },
]

const ENDED_WALK: readonly Rule[] = [
  {
    name: 'The service refuses a page that would contain all rows',
    verdict: 'give up',
    argued: ODD,
    apply: (c) => c.seen.isRefused === true && giveUp(c),
  },
  {
    name: 'As many keys as the total, which is the same on all pages, and the span is old or has one page',
    verdict: 'proven by `total`',
    argued: TOTAL,
    apply: (c) => {
      const { walk, attempt } = c.seen
      const isMet = walk.firstTotal !== undefined && walk.meetsTotal && !walk.page2Repeats
      return attempt === 1 && isMet && (isOld(c) || walk.pages === 1) && proven('total', walk)
    },
    learns: learnWalked,
  },
  {
    name: 'Rows moved during the first walk over an old span of an envelope, and the span has no heap and can be cut finer',
    verdict: 'cut into slices of 8 pages, or in two if it has at most 16 pages',
    argued: COST,
    apply: (c) => isMovedWalk(c) && cut(cutByMove(c)),
  },
  {
    name: 'Any other first walk',
    verdict: 'read again, as a second walk',
    argued: AGREED,
    apply: (c) => c.seen.attempt === 1 && readAgain({ ...c, profile: learnWalked(c) }),
    learns: learnWalked,
  },
  {
    name: 'Two walks return equally many rows, each total counts more, and page 0 was never read',
    verdict: 'probe page 0',
    argued: ODD,
    apply: (c) => mayLackPageZero(c) && probe('page 0'),
  },
  {
    name: 'Two walks of a trail agree, and each total counts more',
    verdict: 'probe entries before and after the returned ones',
    argued: AGREED,
    apply: (c) => isShort(c) && !c.terms.keyed && c.seen.found.hidden === undefined && probe('entries outside'),
  },
  {
    name: 'An entry is outside (rule 35); or every page is page 1 in a span that cannot be cut finer; or a bare array does not continue on page 2 also with fewer rows a page',
    verdict: 'give up',
    argued: AGREED,
    apply: (c) => isLacking(c) && giveUp(c),
  },
  {
    name: 'Two walks agree, each total counts more, and the parts of the span were not requested yet',
    verdict: 'probe narrower spans if every page is page 1, and the totals of parts if not',
    argued: AGREED,
    apply: (c) => {
      const what = probeOfParts(c)
      return what !== undefined && probe(what)
    },
  },
  {
    name: 'Two walks agree, each total counts more, and the totals of the parts add up',
    verdict: 'cut, so that each part can be paged to',
    argued: ODD,
    apply: (c) => isShort(c) && c.seen.found.partTotals === 'add up' && cut({ parts: deepParts(c) }),
  },
  {
    name: 'Two walks agree, narrower spans have no other row if every page is page 1, and no page that may have rows is refused',
    verdict: 'proven by `agreed`',
    argued: AGREED,
    apply: (c) => isAgreed(c) && c.seen.walk.cutOff(c.profile) === undefined && proven('agreed', c.seen.walk),
    learns: learnAgreed,
  },
  {
    name: 'Two walks do not agree, or the last walk over a bare array ended at a refused full page; and the span can be cut finer',
    verdict: 'cut finer',
    argued: AGREED,
    apply: (c) => {
      const parts = finerParts(c)
      return (!isAgreed(c) || alwaysFills(c)) && parts !== undefined && cut({ parts })
    },
  },
  {
    name: '`walk_attempts_max` walks were read',
    verdict: 'give up',
    argued: AGREED,
    apply: (c) => c.seen.attempt >= c.terms.walkAttemptsMax && giveUp(c),
  },
  {
    name: 'Anything else',
    verdict: 'read again',
    argued: AGREED,
    apply: readAgain,
  },
]

export const RULES: readonly Rule[] = [...NUMBERING, ...ENVELOPE, ...BARE_ARRAY, ...ENDED_WALK]

export interface Judgement {
  readonly verdict: Verdict
  readonly profile: PagingProfile
}

export function judge(given: Case): Judgement {
  for (const rule of RULES) {
    const verdict = rule.apply(given)
    if (verdict !== false) return { verdict, profile: rule.learns?.(given) ?? given.profile }
  }
  throw new RangeError('no rule fits')
}

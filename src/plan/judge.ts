/**
 * Judges the responses for a slice: the first rule of `RULES` that fits decides. docs/PROOFS.md proves each rule in the
 * section that the rule names. For a new kind of service, add a fact to the paging profile and a rule here.
 */
import {
  splitByAge,
  alwaysFills,
  atFloor,
  countMax,
  countOf,
  deepParts,
  finer,
  hiddenParts,
  isAgreed,
  isAllByPage2,
  isCountMet,
  isCuttable,
  continuesOnPage2,
  isHiddenBehindPage1,
  isLacking,
  isOld,
  isPage2,
  isShort,
  isEnvelopePage1,
  isTooMuch,
  isTotalBelieved,
  isUncounted,
  isArrayStart,
  learnAgreed,
  learnCounted,
  learnFollowed,
  learnFull,
  learnSingle,
  learnWalked,
  learnWhole,
  loadsOf,
  mayHideRows,
  mayLackPageZero,
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

/** Rules that find the number of the first page (0 or 1). */
const NUMBERING: readonly Rule[] = [
  {
    name: 'The service counts pages from 0, and page 1 was requested first',
    verdict: 'read again from page 0',
    argued: ODD,
    gives: (c) =>
      c.profile.firstNumber === 0 &&
      c.seen.sentNumber > 0 && { kind: 'read again', attempt: 1, rowsAsked: c.terms.pageSize },
  },
  {
    name: 'A bare array, and the number of the first page is not known',
    verdict: 'probe the first number',
    argued: ODD,
    gives: (c) => {
      const isUnknown = c.profile.firstNumber === undefined && c.seen.found.firstNumber === undefined
      return isArrayStart(c) && c.terms.answer === 'array' && isUnknown && probe('first number')
    },
  },
]

/** Rules for the first page of an envelope. */
const ENVELOPE: readonly Rule[] = [
  {
    name: 'Page 1 has as many keys as its total and has room left',
    verdict: 'proven by `single`',
    argued: SINGLE,
    gives: (c) =>
      isEnvelopePage1(c) && c.seen.walk.meetsTotal && !c.seen.walk.endsFull(c.profile) && proven('single', c.seen.walk),
  },
  {
    name: 'The total counts more rows than page 1, and only one response is wanted',
    verdict: 'cut',
    argued: 'The first run of reports without a required bound',
    gives: (c) => {
      const { totalCount: total = 0, firstRows } = c.seen.walk
      return (
        isEnvelopePage1(c) && c.policy.cuts === 'only one response is wanted' && total > firstRows && cut({ total })
      )
    },
  },
  {
    name: 'The old part of the span probably holds more than a page',
    verdict: 'cut between the old and the young part',
    argued: TOTAL,
    gives: (c) =>
      isTooMuch(c) && splitByAge(c) !== undefined && cut({ total: c.seen.walk.totalCount, parts: splitByAge(c) }),
  },
  {
    name: 'More than a load, and no lower bound',
    verdict: 'cut at `start`',
    argued: COST,
    gives: (c) => {
      const { totalCount: total = 0 } = c.seen.walk
      const parts = isTooMuch(c) && isOld(c) && total > c.terms.loadRowsMax && atFloor(c)
      return parts !== undefined && parts !== false && cut({ total, parts })
    },
  },
  {
    name: 'A young span without a heap, and no page was longer than page 1',
    verdict: 'cut by the total',
    argued: TOTAL,
    gives: (c) => {
      const isYoung = isTooMuch(c) && isTotalBelieved(c) && !isOld(c)
      return isYoung && c.slice.heap === undefined && cut({ total: c.seen.walk.totalCount })
    },
  },
  {
    name: 'An old span with more than a load',
    verdict: 'cut into loads',
    argued: COST,
    gives: (c) => {
      const { totalCount: total = 0 } = c.seen.walk
      const isOldLoad = isTooMuch(c) && isTotalBelieved(c) && isOld(c) && total > c.terms.loadRowsMax
      return isOldLoad && cut({ total, parts: loadsOf(c, total) })
    },
  },
  {
    name: 'Page 1 of any other envelope',
    verdict: 'read the pages of the total',
    argued: TOTAL,
    gives: (c) => isEnvelopePage1(c) && { kind: 'read', what: 'the pages of the total' },
  },
]

/** Rules for the first two pages of a bare array. */
const BARE_ARRAY: readonly Rule[] = [
  {
    name: 'Page 1 is empty, or shorter than requested and than every page that another followed',
    verdict: 'proven by `single`',
    argued: SINGLE,
    gives: (c) => isArrayStart(c) && c.seen.claim === 'all' && proven('single', c.seen.walk),
    learns: learnSingle,
  },
  {
    name: 'As rule 10, and no page of this run was longer; or page 1 is longer than requested',
    verdict: 'read page 2',
    argued: ODD,
    gives: (c) => isArrayStart(c) && c.seen.stage === 'page 1' && c.seen.claim !== 'unknown' && READ_PAGE_2,
  },
  {
    name: 'Page 1 seems to be the only page, and no whole response was longer',
    verdict: 'probe narrower spans',
    argued: SINGLE,
    gives: (c) => mayHideRows(c) && c.seen.found.narrower === undefined && probe('narrower spans'),
  },
  {
    name: 'The narrower spans have no other row',
    verdict: 'proven by `single`',
    argued: SINGLE,
    gives: (c) => isArrayStart(c) && c.seen.found.narrower === 'nothing new' && proven('single', c.seen.walk),
    learns: learnWhole,
  },
  {
    name: 'The narrower spans have another row',
    verdict: 'cut by the stamps of page 1',
    argued: SINGLE,
    gives: (c) => isArrayStart(c) && c.seen.found.narrower === 'hidden' && cut({ parts: hiddenParts(c) }),
    learns: learnFull,
  },
  {
    name: 'The narrower spans have a row that came after page 1 was read',
    verdict: 'cut by the stamps of page 1',
    argued: SINGLE,
    gives: (c) => isArrayStart(c) && c.seen.found.narrower === 'moved' && cut({ parts: hiddenParts(c) }),
  },
  {
    name: 'Page 2 was read for rule 11 and has no new row',
    verdict: 'proven by `single`',
    argued: ODD,
    gives: (c) => isPage2(c) && isAllByPage2(c) && proven('single', c.seen.walk),
    learns: learnSingle,
  },
  {
    name: 'Page 2 follows a page that the profile takes for the last one',
    verdict: 'learn again the length of a full page',
    argued: ODD,
    gives: (c) => isPage2(c) && c.seen.claim === 'all unless clamped' && continuesOnPage2(c) && { kind: 'learn again' },
    learns: (c) => sawLoweredClamp(c.profile, c.seen.walk.firstRows),
  },
  {
    name: 'An old span of rows with keys that may be counted',
    verdict: 'probe the place of the last page',
    argued: TOTAL,
    gives: (c) => {
      const mayCount = isArrayStart(c) && c.terms.keyed && isOld(c) && c.slice.mayCount === true
      return mayCount && c.seen.walk.repeats === 0 && c.seen.found.lastPage === undefined && probe('last page')
    },
  },
  {
    name: 'More than a load is before the page that was probed, and pages follow time',
    verdict: 'cut where that page begins',
    argued: COST,
    gives: ({ seen: { found } }) =>
      typeof found.lastPage === 'object' && 'parts' in found.lastPage && cut(found.lastPage),
  },
  {
    name: 'The pages up to the last one have room for more than a load',
    verdict: 'cut into loads',
    argued: COST,
    gives: (c) => {
      const total = countOf(c)?.total ?? 0
      const parts = loadsOf(c, total)
      return isUncounted(c) && total > countMax(c) && parts !== undefined && cut({ total, parts })
    },
    learns: learnCounted,
  },
  {
    name: 'The last page is found',
    verdict: 'read from the last page to the first',
    argued: TOTAL,
    gives: (c) => isUncounted(c) && { kind: 'read', what: 'last page to first' },
    learns: learnCounted,
  },
  {
    name: 'As many rows came as the pages have room for',
    verdict: 'probe rows that were not counted',
    argued: TOTAL,
    gives: (c) =>
      isArrayStart(c) && isCountMet(c) && c.seen.found.hidden === undefined && probe('rows that were not counted'),
  },
  {
    name: 'As rule 22, and no other row is there',
    verdict: 'proven by `total`',
    argued: TOTAL,
    gives: (c) => {
      const { counted, hidden } = c.seen.found
      return isArrayStart(c) && isCountMet(c) && hidden === false && counted !== undefined && proven('total', counted)
    },
  },
  {
    name: 'Page 1 is as long as pages that others follow',
    verdict: 'cut by its stamps',
    argued: COST,
    gives: (c) => {
      const isUnread = isArrayStart(c) && c.seen.stage === 'page 1' && c.seen.claim === 'unknown'
      return isUnread && isCuttable(c) && isFullPage(c.profile, c.seen.walk.firstRows) && cut({ parts: splitOffOld(c) })
    },
  },
  {
    name: 'No other rule decides by page 1 alone',
    verdict: 'read page 2',
    argued: SINGLE,
    gives: (c) => isArrayStart(c) && c.seen.stage === 'page 1' && READ_PAGE_2,
  },
  {
    name: 'Page 2 has new rows, and the span can be cut',
    verdict: 'cut by the stamps of both pages',
    argued: COST,
    gives: (c) => isPage2(c) && isCuttable(c) && c.seen.walk.freshOnLastPage > 0 && cut({ parts: splitOffOld(c) }, 2),
    learns: learnFollowed,
  },
  {
    name: 'A full page 1 comes again as page 2, or page 2 is refused behind it, and the span can be cut',
    verdict: 'cut by the stamps of page 1',
    argued: ODD,
    gives: (c) => isPage2(c) && isCuttable(c) && isHiddenBehindPage1(c) && cut(),
    learns: learnFull,
  },
  {
    name: 'Page 2 has new rows, and the span is not cut',
    verdict: 'read to the end',
    argued: AGREED,
    gives: (c) => isPage2(c) && c.seen.walk.freshOnLastPage > 0 && READ_TO_THE_END,
    learns: learnFollowed,
  },
  {
    name: 'Page 2 has no new rows',
    verdict: 'read again, as a second walk',
    argued: AGREED,
    gives: (c) => isPage2(c) && readAgain(c),
    learns: (c) => sawLastPage(c.profile, c.seen.walk.firstRows),
  },
]

/** Rules for walks that were read to their end. */
const ENDED_WALK: readonly Rule[] = [
  {
    name: 'A page that would have to hold everything is refused',
    verdict: 'give up',
    argued: ODD,
    gives: (c) => c.seen.isRefused === true && giveUp(c),
  },
  {
    name: 'All pages of an old span have the same total, and as many keys came',
    verdict: 'proven by `total`',
    argued: TOTAL,
    gives: (c) => {
      const { walk, attempt } = c.seen
      const isMet = walk.firstTotal !== undefined && walk.meetsTotal && !walk.page2Repeats
      return attempt === 1 && isMet && (isOld(c) || walk.pages === 1) && proven('total', walk)
    },
    learns: learnWalked,
  },
  {
    name: 'Any other first walk',
    verdict: 'read again, as a second walk',
    argued: AGREED,
    gives: (c) => c.seen.attempt === 1 && readAgain({ ...c, profile: learnWalked(c) }),
    learns: learnWalked,
  },
  {
    name: 'Two walks bring equally many rows, the total counts more, and page 0 was never read',
    verdict: 'probe page 0',
    argued: ODD,
    gives: (c) => mayLackPageZero(c) && probe('page 0'),
  },
  {
    name: 'Two walks of a trail agree, and the total counts more',
    verdict: 'probe entries outside of what came',
    argued: AGREED,
    gives: (c) => isShort(c) && !c.terms.keyed && c.seen.found.hidden === undefined && probe('entries outside'),
  },
  {
    name: 'As rule 34, and an entry is outside of what came; or every page is page 1, and no narrower span can be read',
    verdict: 'give up',
    argued: AGREED,
    gives: (c) => isLacking(c) && giveUp(c),
  },
  {
    name: 'Two walks agree, and the total counts more',
    verdict: 'probe narrower spans if every page is page 1, and the totals of parts if not',
    argued: AGREED,
    gives: (c) => {
      const what = probeOfParts(c)
      return what !== undefined && probe(what)
    },
  },
  {
    name: 'The totals of the parts add up',
    verdict: 'cut, so that each part can be paged to',
    argued: ODD,
    gives: (c) => isShort(c) && c.seen.found.partTotals === 'add up' && cut({ parts: deepParts(c) }),
  },
  {
    name: 'Two walks agree, no page was refused that may have rows, and page 0 is not unclear',
    verdict: 'proven by `agreed`',
    argued: AGREED,
    gives: (c) => isAgreed(c) && c.seen.walk.cutOff(c.profile) === undefined && proven('agreed', c.seen.walk),
    learns: learnAgreed,
  },
  {
    name: 'Rows moved or may be hidden, and the span can be cut',
    verdict: 'cut finer',
    argued: AGREED,
    gives: (c) => {
      const parts = finer(c)
      return (!isAgreed(c) || alwaysFills(c)) && parts !== undefined && cut({ parts })
    },
  },
  {
    name: '`walk_attempts_max` walks were read',
    verdict: 'give up',
    argued: AGREED,
    gives: (c) => c.seen.attempt >= c.terms.walkAttemptsMax && giveUp(c),
  },
  {
    name: 'Anything else',
    verdict: 'read again',
    argued: AGREED,
    gives: readAgain,
  },
]

export const RULES: readonly Rule[] = [...NUMBERING, ...ENVELOPE, ...BARE_ARRAY, ...ENDED_WALK]

export interface Judgement {
  readonly verdict: Verdict
  /** The paging profile with everything that the responses for this slice have shown. */
  readonly profile: PagingProfile
}

/** Returns the verdict of the first rule that fits. The last rule fits every case. */
export function judge(given: Case): Judgement {
  for (const rule of RULES) {
    const verdict = rule.gives(given)
    if (verdict !== false) return { verdict, profile: rule.learns?.(given) ?? given.profile }
  }
  throw new RangeError('no rule fits')
}

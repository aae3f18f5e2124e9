/** Judges the responses for a slice: the first rule of `RULES` that applies decides. docs/PROOFS.md proves them all. */
import * as facts from './caseFacts.ts'
import { isFullPage, type PagingProfile, sawLastPage, sawLoweredClamp } from './pagingProfile.ts'
import type { Case, PageOrder, ProbeName, Verdict } from './slice.ts'
import type { Overfull } from './spanQueue.ts'
import type { Span } from './spans.ts'
import type { Proof, Walk } from './walk.ts'

export interface Rule {
  readonly name: string
  readonly verdict: string
  /** Heading of the section in docs/PROOFS.md that proves the rule. */
  readonly argued: string
  readonly apply: (given: Case) => Verdict | false
  readonly learns?: (given: Case) => PagingProfile
}

const SINGLE = '`single`: one response contains everything'
const TOTAL = '`total`: as many rows as there can be'
const AGREED = '`agreed`: two walks returned the same rows'
const ODD = 'Appendix A: odd services'
const COST = 'Appendix C: what it costs'

const read = (what: PageOrder): Verdict => ({ kind: 'read', what })
const probe = (what: ProbeName): Verdict => ({ kind: 'probe', what })
const proven = (by: Proof, walk: Walk): Verdict => ({ kind: 'proven', by, walk })
const cut = (how: Omit<Overfull, 'stamps' | 'pageRows'> = {}, samples: 1 | 2 = 1): Verdict => ({
  kind: 'cut',
  how,
  samples,
})
const cutInto = (parts: readonly Span[] | undefined, total?: number): Verdict | false =>
  parts !== undefined && cut({ total, parts })

const readAgain = (given: Case): Verdict => ({
  kind: 'read again',
  attempt: given.seen.attempt + 1,
  rowsAsked: facts.nextSize(given),
})

function giveUp(given: Case): Verdict {
  const { walk } = given.seen
  const refusal = walk.cutOff(given.profile)
  if (refusal !== undefined) return { kind: 'give up', why: `the next page is refused: ${refusal.message}` }
  if (facts.isShort(given))
    return { kind: 'give up', why: `the service counts ${walk.leastTotal} rows, but its pages have ${walk.distinct}` }
  const why = 'the service ignores pageNumber, and one instant has as many rows as a response'
  return { kind: 'give up', why: facts.hidesAtOneInstant(given) ? why : undefined }
}

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
      return facts.isArrayUpToPage2(c) && c.terms.answer === 'array' && isUnknown && probe('first number')
    },
  },
]

/** Rules for page 1 of an envelope (a response with a total). */
const ENVELOPE: readonly Rule[] = [
  {
    name: 'Page 1 has as many keys as its total and has room left',
    verdict: 'proven by `single`',
    argued: SINGLE,
    apply: ({ profile, seen: { walk } }) => walk.meetsTotal && !walk.endsFull(profile) && proven('single', walk),
  },
  {
    name: 'The total counts more rows than page 1, and only one response is wanted',
    verdict: 'cut',
    argued: 'The first run of reports without a required bound',
    apply: ({ policy, seen: { walk } }) => {
      const { totalCount: total = 0, firstRows } = walk
      return policy.cuts === 'only one response is wanted' && total > firstRows && cut({ total })
    },
  },
  {
    name: 'More pages in a span that is partly old, whose old part has no lower bound or probably more than a page',
    verdict: 'cut between the old and the young part',
    argued: TOTAL,
    apply: (c) => facts.isOverfull(c) && cutInto(facts.splitByAge(c), c.seen.walk.totalCount),
  },
  {
    name: 'More pages in an old span with more than a load and no lower bound',
    verdict: 'cut at `start`',
    argued: COST,
    apply: (c) => facts.isOldOverOneLoad(c) && cutInto(facts.splitAtFloor(c), c.seen.walk.totalCount),
  },
  {
    name: 'More pages in a divisible span without a heap, young or with more than 16 pages after a move, and no page was ever longer than page 1',
    verdict: 'cut by the total',
    argued: TOTAL,
    apply: (c) => facts.isCutByTotal(c) && cut({ total: c.seen.walk.totalCount }),
  },
  {
    name: 'More pages in an old divisible span with more than a load, and no page was ever longer than page 1',
    verdict: 'cut into loads',
    argued: COST,
    apply: (c) => {
      const { totalCount: total = 0 } = c.seen.walk
      return facts.isOldOverOneLoad(c) && facts.isTotalTrusted(c) && cutInto(facts.splitIntoLoads(c, total), total)
    },
  },
  {
    name: 'Page 1 of any other envelope',
    verdict: 'read the pages of the total, in an old span until a row moves',
    argued: TOTAL,
    apply: (c) => read(facts.orderOfTotal(c)),
  },
]

/** Rules for page 1 and page 2 of a bare array (a response without a total), in the first walk. */
const BARE_ARRAY: readonly Rule[] = [
  {
    name: 'Page 1 is empty; or it is below the limit, and the limit is confirmed',
    verdict: 'proven by `single`',
    argued: SINGLE,
    apply: ({ seen }) => seen.claim === 'all' && proven('single', seen.walk),
    learns: facts.learnSingle,
  },
  {
    name: 'Page 1 is below a limit that is not confirmed; or it is longer than requested and than any page before',
    verdict: 'read page 2',
    argued: ODD,
    apply: ({ seen }) => seen.stage === 'page 1' && seen.claim !== 'unknown' && read('page 2'),
  },
  {
    name: 'Page 1 of several rows seems to be the only page, page 2 was read or no whole response was longer, and the span is divisible',
    verdict: 'probe narrower spans',
    argued: SINGLE,
    apply: (c) => facts.mayHideRows(c) && c.seen.found.narrower === undefined && probe('narrower spans'),
  },
  {
    name: 'The narrower spans have no other row',
    verdict: 'proven by `single`',
    argued: SINGLE,
    apply: (c) => c.seen.found.narrower === 'nothing new' && proven('single', c.seen.walk),
    learns: facts.learnWhole,
  },
  {
    name: 'The narrower spans have another row',
    verdict: 'cut by the stamps of page 1',
    argued: SINGLE,
    apply: (c) => c.seen.found.narrower === 'hidden' && cut({ parts: facts.hiddenParts(c) }),
    learns: facts.learnFull,
  },
  {
    name: 'The narrower spans have rows that were added later, or need too many requests',
    verdict: 'cut by the stamps of page 1',
    argued: SINGLE,
    apply: (c) => c.seen.found.narrower === 'moved' && cut({ parts: facts.hiddenParts(c) }),
  },
  {
    name: 'Page 2 was read by rule 11, and is page 1 again; or the limit is not confirmed, and it is empty or refused',
    verdict: 'proven by `single`',
    argued: ODD,
    apply: (c) => c.seen.stage === 'page 2' && facts.isAllByPage2(c) && proven('single', c.seen.walk),
    learns: facts.learnSingle,
  },
  {
    name: 'Page 1 is below a limit that is not confirmed, and page 2 has new rows and not all of page 1',
    verdict: 'learn again the length of a full page',
    argued: ODD,
    apply: (c) =>
      c.seen.stage === 'page 2' &&
      c.seen.claim === 'all unless clamped' &&
      facts.continuesOnPage2(c) && { kind: 'learn again' },
    learns: (c) => sawLoweredClamp(c.profile, c.seen.walk.firstRows),
  },
  {
    name: 'An old span of different rows with keys, which may be counted, and the last page was not searched yet',
    verdict: 'probe the place of the last page',
    argued: TOTAL,
    apply: (c) => {
      const mayCount = c.terms.keyed && facts.isOld(c) && c.slice.mayCount === true
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
      const total = facts.lastPageFound(c)?.total ?? 0
      return facts.isUncounted(c) && total > facts.countMax(c) && cutInto(facts.splitIntoLoads(c, total), total)
    },
    learns: facts.learnCounted,
  },
  {
    name: 'The last page is found, and the pages before it were not read back yet',
    verdict: 'read from the last page to the first',
    argued: TOTAL,
    apply: (c) => facts.isUncounted(c) && read('last page to first'),
    learns: facts.learnCounted,
  },
  {
    name: 'The walk back has as many rows as its pages have room for, and no page was longer than page 1',
    verdict: 'probe rows that were not counted',
    argued: TOTAL,
    apply: (c) => facts.isCountMet(c) && c.seen.found.hidden === undefined && probe('rows that were not counted'),
  },
  {
    name: 'As rule 22, and its probe found no other row',
    verdict: 'proven by `total`',
    argued: TOTAL,
    apply: (c) => {
      const { counted, hidden } = c.seen.found
      return facts.isCountMet(c) && hidden === false && counted !== undefined && proven('total', counted)
    },
  },
  {
    name: 'Page 1 is as long as the longest page, full pages are known, and the span can be cut',
    verdict: 'cut by its stamps',
    argued: COST,
    apply: (c) => {
      const isUnread = c.seen.stage === 'page 1' && c.seen.claim === 'unknown'
      return (
        isUnread &&
        facts.isCuttable(c) &&
        isFullPage(c.profile, c.seen.walk.firstRows) &&
        cut({ parts: facts.splitOffOld(c) })
      )
    },
  },
  {
    name: 'Page 1 of any other bare array',
    verdict: 'read page 2',
    argued: SINGLE,
    apply: ({ seen }) => seen.stage === 'page 1' && read('page 2'),
  },
  {
    name: 'Page 2 has new rows, and the span can be cut',
    verdict: 'cut by the stamps of both pages',
    argued: COST,
    apply: (c) =>
      c.seen.stage === 'page 2' &&
      facts.isCuttable(c) &&
      c.seen.walk.freshOnLastPage > 0 &&
      cut({ parts: facts.splitOffOld(c) }, 2),
    learns: facts.learnFollowed,
  },
  {
    name: 'Page 2 repeats a full page 1 or is refused after it, and the span can be cut',
    verdict: 'cut by the stamps of page 1',
    argued: ODD,
    apply: (c) => c.seen.stage === 'page 2' && facts.isCuttable(c) && facts.isHiddenBehindPage1(c) && cut(),
    learns: facts.learnFull,
  },
  {
    name: 'Page 2 has new rows, and the span cannot be cut',
    verdict: 'read to the end',
    argued: AGREED,
    apply: (c) => c.seen.stage === 'page 2' && c.seen.walk.freshOnLastPage > 0 && read('to the end'),
    learns: facts.learnFollowed,
  },
  {
    name: 'Page 2 has no new rows',
    verdict: 'read again, as a second walk',
    argued: AGREED,
    apply: (c) => c.seen.stage === 'page 2' && readAgain(c),
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
      return attempt === 1 && isMet && (facts.isOld(c) || walk.pages === 1) && proven('total', walk)
    },
    learns: facts.learnWalked,
  },
  {
    name: 'Rows moved during the first walk over an old span of an envelope, and the span has no heap and can be cut finer',
    verdict: 'cut into slices of 8 pages, or in two if it has at most 16 pages',
    argued: COST,
    apply: (c) => facts.isMovedWalk(c) && cut(facts.cutByMove(c)),
  },
  {
    name: 'Any other first walk',
    verdict: 'read again, as a second walk',
    argued: AGREED,
    apply: (c) => c.seen.attempt === 1 && readAgain({ ...c, profile: facts.learnWalked(c) }),
    learns: facts.learnWalked,
  },
  {
    name: 'Two walks return equally many rows, each total counts more, and page 0 was never read',
    verdict: 'probe page 0',
    argued: ODD,
    apply: (c) => facts.mayLackPageZero(c) && probe('page 0'),
  },
  {
    name: 'Two walks of a trail agree, and each total counts more',
    verdict: 'probe entries before and after the returned ones',
    argued: AGREED,
    apply: (c) => facts.isShort(c) && !c.terms.keyed && c.seen.found.hidden === undefined && probe('entries outside'),
  },
  {
    name: 'An entry is outside (rule 35); or every page is page 1 in a span that cannot be cut finer; or a bare array does not continue on page 2 also with fewer rows a page',
    verdict: 'give up',
    argued: AGREED,
    apply: (c) => facts.isLacking(c) && giveUp(c),
  },
  {
    name: 'Two walks agree, each total counts more, and the parts of the span were not requested yet',
    verdict: 'probe narrower spans if every page is page 1, and the totals of parts if not',
    argued: AGREED,
    apply: (c) => {
      const what = facts.probeOfParts(c)
      return what !== undefined && probe(what)
    },
  },
  {
    name: 'Two walks agree, each total counts more, and the totals of the parts add up',
    verdict: 'cut, so that each part can be paged to',
    argued: ODD,
    apply: (c) => facts.isShort(c) && c.seen.found.partTotals === 'add up' && cutInto(facts.finerParts(c)),
  },
  {
    name: 'Two walks agree, narrower spans have no other row if every page is page 1, and no page that may have rows is refused',
    verdict: 'proven by `agreed`',
    argued: AGREED,
    apply: (c) => facts.isAgreed(c) && c.seen.walk.cutOff(c.profile) === undefined && proven('agreed', c.seen.walk),
    learns: facts.learnAgreed,
  },
  {
    name: 'Two walks do not agree, or the last walk over a bare array ended at a refused full page; and the span can be cut finer',
    verdict: 'cut finer',
    argued: AGREED,
    apply: (c) => (!facts.isAgreed(c) || facts.alwaysFills(c)) && cutInto(facts.finerParts(c)),
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

const onlyIf = (isMet: (given: Case) => boolean, rules: readonly Rule[]): Rule[] =>
  rules.map((rule) => ({ ...rule, apply: (c) => isMet(c) && rule.apply(c) }))

export const RULES: readonly Rule[] = [
  ...NUMBERING,
  ...onlyIf(facts.isEnvelopePage1, ENVELOPE),
  ...onlyIf(facts.isArrayUpToPage2, BARE_ARRAY),
  ...ENDED_WALK,
]

export function judge(given: Case): { readonly verdict: Verdict; readonly profile: PagingProfile } {
  for (const rule of RULES) {
    const verdict = rule.apply(given)
    if (verdict !== false) return { verdict, profile: rule.learns?.(given) ?? given.profile }
  }
  throw new RangeError('no rule fits')
}

/** Reads a slice's pages until src/plan/judge.ts decides: no row is missing, or the slice must be cut in parts. */
import { SyncError } from '../../errors.ts'
import { formatInstant } from '../../instant.ts'
import { unobserved } from '../../observe.ts'
import { countedParts } from '../../plan/sliceFacts.ts'
import { judge } from '../../plan/judge.ts'
import type { CutPlan, SliceState, SliceProgress, ProbeResults, PageOrder } from '../../plan/slice.ts'
import type { ProbeName, Slice, Verdict } from '../../plan/slice.ts'
import { completenessOfPage1 } from '../../plan/pagingProfile.ts'
import type { KeySet } from '../../plan/keySet.ts'
import type { Span } from '../../plan/spans.ts'
import { type Proof, totalOf, type Walk } from '../../plan/walk.ts'
import { leastTotalOf, pageRowsOf } from '../../plan/walkFacts.ts'
import type { ScannedPage } from '../../staging/scanPage.ts'
import { type FetchedPage, undefinedIfRefused } from './pageSource.ts'
import { probeFirstNumber, probePageZero } from './probes/firstNumber.ts'
import { type FoundPage, probeLastPage, probeUncounted } from './probes/lastPage.ts'
import { probeNarrower, probeOutside, probePartTotals } from './probes/missingRows.ts'
import { PageWalk, type SliceSource } from './walkPages.ts'
import { counted } from '../../words.ts'

export interface ProvenRows {
  readonly kind: 'proven'
  readonly proof: Proof
  readonly rows: number
  readonly totalCount: number | undefined
  readonly keys: KeySet
}

export interface CutSlice {
  readonly kind: 'cut'
  readonly plan: Omit<CutPlan, 'stamps'>
  readonly pages: readonly ScannedPage[]
}

/** Returns the proven rows, or how to cut the slice. Throws WALK_UNSTABLE, WALK_TOO_LONG and the client's errors. */
export function proveSlice(source: SliceSource, slice: Slice): Promise<ProvenRows | CutSlice> {
  const { observe = unobserved, pages } = source
  const { span } = slice
  const facts =
    span === undefined ? {} : { since: span.since && formatInstant(span.since), until: formatInstant(span.until) }
  return observe({ what: 'walk', report: pages.report.name, facts }, async (note) => {
    const outcome = await followVerdicts(source, slice)
    note(outcome.kind === 'cut' ? { outcome: 'split' } : { outcome: outcome.proof, rows: outcome.rows })
    return outcome
  })
}

/** One slice while it is read. Its first pages stay in memory while the slice may still be cut. */
interface SliceReading {
  readonly source: SliceSource
  readonly slice: Slice
  readonly walk: PageWalk
  readonly firstPages: readonly [FetchedPage, ...FetchedPage[]]
  readonly progress: SliceProgress
}

const stateOf = ({ source, slice, walk, progress }: SliceReading): SliceState => {
  const { pages, policy, settings } = source
  return { profile: pages.profile, slice, policy, settings, walk: walk.seen, ...progress }
}

async function followVerdicts(source: SliceSource, slice: Slice): Promise<ProvenRows | CutSlice> {
  const { pages, rows } = source
  await rows?.begin?.()
  const walk = new PageWalk(source, slice.span)
  let reading = begun({ source, slice, walk }, await walk.readPage(1))
  for (;;) {
    const state = stateOf(reading)
    const { verdict, profile } = judge(state)
    pages.profile = profile
    switch (verdict.kind) {
      case 'proven': {
        const { walk: complete, by: proof } = verdict
        // Until a walk is read to the end, its page 1 is only in memory.
        if (complete === state.walk && state.readUpTo !== 'the end') await rows?.add(reading.firstPages[0])
        return { kind: 'proven', proof, rows: complete.rows, totalCount: totalOf(complete), keys: complete.keys }
      }
      case 'cut': {
        await rows?.drop?.()
        const samples = reading.firstPages.slice(0, verdict.samples).map(({ page }) => page)
        return { kind: 'cut', plan: { ...verdict.how, pageRows: pageRowsOf(state.walk) }, pages: samples }
      }
      case 'read':
        reading = await readOn(reading, verdict.what)
        break
      case 'read again':
        await rows?.drop?.()
        reading = await readAgain(reading, verdict)
        break
      case 'probe':
        reading = withProgress(reading, { probes: { ...state.probes, ...(await probe(reading, verdict.what)) } })
        break
      case 'learn again':
        reading = withProgress(reading, { page1Complete: 'unknown' })
        break
      case 'give up':
        throw unstableError(state, pages.report.name, verdict.why)
    }
  }
}

function begun(reading: Pick<SliceReading, 'source' | 'slice' | 'walk'>, first: FetchedPage): SliceReading {
  const { pages, policy, settings } = reading.source
  const page = { rows: reading.walk.seen.first.rows, rowsSent: first.page.rowCount, rowsAsked: settings.pageSize }
  const progress = {
    readUpTo: 'page 1',
    attempt: 1,
    page1Complete: completenessOfPage1(pages.profile, page, policy.checksProfile),
    firstNumberRequested: first.requestedNumber,
    probes: {},
  } as const
  return { ...reading, firstPages: [first], progress }
}

const withProgress = (reading: SliceReading, progress: Partial<SliceProgress>): SliceReading => ({
  ...reading,
  progress: { ...reading.progress, ...progress },
})

async function readOn(reading: SliceReading, order: PageOrder): Promise<SliceReading> {
  const { source, walk, firstPages } = reading
  if (order === 'last page to first') return withProgress(reading, { backwardWalk: await walkBack(reading) })
  if (order === 'page 2') {
    const second = await walk.readPage(2)
    return withProgress({ ...reading, firstPages: [...firstPages, second] }, { readUpTo: 'page 2' })
  }
  // Drops rows that an earlier backward walk may have added.
  await source.rows?.drop?.()
  for (const page of firstPages) await source.rows?.add(page)
  await (order === 'to the end' ? walk.readToTheEnd(3) : walk.readPagesOfTotal(order === 'until a row moves'))
  return withProgress(reading, { readUpTo: 'the end' })
}

async function walkBack(reading: SliceReading): Promise<Walk> {
  const { source, slice } = reading
  const last = reading.progress.probes.lastPage as FoundPage
  const walk = new PageWalk(source, slice.span)
  if (last.isComplete) {
    walk.record(last.page)
    await source.rows?.add(last.page)
  }
  await walk.readBackwards(last.isComplete ? last.number - 1 : last.number)
  return walk.seen
}

type ReadAgain = Extract<Verdict, { kind: 'read again' }>

/** Begins another walk. Reads all its pages, except for a first walk that begins again at another page number. */
async function readAgain(reading: SliceReading, { attempt, rowsAsked }: ReadAgain): Promise<SliceReading> {
  const { source, slice, walk: previous } = reading
  const walk = new PageWalk(source, slice.span, rowsAsked)
  const isLarger = rowsAsked > source.settings.pageSize
  const first = await (isLarger ? walk.readPage(1).catch(undefinedIfRefused) : walk.readPage(1))
  if (first === undefined) return withProgress(reading, { readUpTo: 'the end', isLargePageRefused: true })
  const next = begun({ source, slice, walk }, first)
  if (attempt === 1) return next
  await source.rows?.add(first)
  await walk.readToTheEnd(2)
  return withProgress(next, { readUpTo: 'the end', attempt, previous: previous.seen })
}

async function probe(reading: SliceReading, what: ProbeName): Promise<ProbeResults> {
  const { source, slice, walk, firstPages } = reading
  const { probes, backwardWalk } = reading.progress
  const [first] = firstPages
  const { seen, lastWithRows = first } = walk
  const probed = { source, slice: { ...slice, span: slice.span as Span }, first }
  switch (what) {
    case 'first number':
      learnNumber(source, await probeFirstNumber(source, slice.span, first))
      return { firstNumber: 'requested' }
    case 'page 0': {
      const number = await probePageZero(source, slice.span, seen)
      learnNumber(source, number)
      return { pageZero: number === undefined ? 'unclear' : 'requested' }
    }
    case 'last page': {
      const lastPage = await probeLastPage(probed, walk)
      if (lastPage === undefined) return { lastPage: 'not found' }
      return 'parts' in lastPage ? { lastPage: 'not found', loadParts: lastPage } : { lastPage }
    }
    case 'rows that were not counted':
      return { hasMissedRows: await probeUncounted(probed, probes.lastPage as FoundPage, backwardWalk as Walk) }
    case 'narrower spans':
      return { narrower: await probeNarrower(probed, seen) }
    case 'entries outside':
      return { hasMissedRows: await probeOutside(source, probed.slice.span, [first, lastWithRows]) }
    default:
      return { partTotals: await probePartTotals(probed, countedParts(stateOf(reading)), leastTotalOf(seen)) }
  }
}

function learnNumber({ pages }: SliceSource, firstNumber: 0 | 1 | undefined): void {
  if (firstNumber !== undefined) pages.profile = { ...pages.profile, firstNumber }
}

function unstableError({ slice: { span }, settings, walk }: SliceState, report: string, reason?: string): SyncError {
  const { repeats, rows } = walk
  const where =
    span === undefined
      ? 'everything'
      : `${span.since === undefined ? '…' : formatInstant(span.since)} to ${formatInstant(span.until)}`
  const moved = repeats > 0 ? `the pages repeat ${counted(repeats, 'row')}` : 'each walk returned other rows'
  const what =
    reason === undefined
      ? `${settings.walkAttemptsMax} walks over ${where} did not agree: ${moved}`
      : `a walk over ${where} is incomplete: ${reason}`
  return new SyncError('WALK_UNSTABLE', what, {
    report,
    cure: 'Rows move faster than they can be read, or the service ignores pageNumber, or it ends its pages too early. The next run tries again. With a larger page_size, more rows fit into one response.',
    data: { walks: settings.walkAttemptsMax, rows, total: totalOf(walk), repeats },
  })
}

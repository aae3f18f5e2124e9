/** Reads a slice's pages until src/plan/judge.ts decides: no row is missing, or the slice must be cut in parts. */
import { SyncError } from '../../errors.ts'
import { formatInstant } from '../../instant.ts'
import { unobserved } from '../../observe.ts'
import { countedParts } from '../../plan/sliceFacts.ts'
import { judge } from '../../plan/judge.ts'
import type { CutPlan, SliceState, SliceProgress, ProbeResults, PageOrder } from '../../plan/slice.ts'
import type { ProbeName, Slice } from '../../plan/slice.ts'
import { completenessOfPage1 } from '../../plan/pagingProfile.ts'
import type { KeySet } from '../../plan/keySet.ts'
import type { Span } from '../../plan/spans.ts'
import type { Proof, Walk } from '../../plan/walk.ts'
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
    const outcome = await followVerdicts(await SliceReading.begin(source, slice))
    note(outcome.kind === 'cut' ? { outcome: 'split' } : { outcome: outcome.proof, rows: outcome.rows })
    return outcome
  })
}

async function followVerdicts(reading: SliceReading): Promise<ProvenRows | CutSlice> {
  const { pages } = reading.source
  for (;;) {
    const { verdict, profile } = judge(reading.state)
    pages.profile = profile
    switch (verdict.kind) {
      case 'proven': {
        await reading.keepPage1(verdict.walk)
        const { rows, totalCount, keys } = verdict.walk
        return { kind: 'proven', proof: verdict.by, rows, totalCount, keys }
      }
      case 'cut': {
        await reading.drop()
        const samples = reading.firstPages.slice(0, verdict.samples).map(({ page }) => page)
        return { kind: 'cut', plan: { ...verdict.how, pageRows: reading.progress.walk.pageRows }, pages: samples }
      }
      case 'read':
        await reading.read(verdict.what)
        break
      case 'read again':
        await reading.readAgain(verdict)
        break
      case 'probe':
        await reading.probe(verdict.what)
        break
      case 'learn again':
        reading.progress = { ...reading.progress, page1Complete: 'unknown' }
        break
      case 'give up':
        throw unstableError(reading.state, pages.report.name, verdict.why)
    }
  }
}

/** Reads one slice. Its first pages stay in memory while the slice may still be cut. */
class SliceReading {
  readonly source: SliceSource
  readonly slice: Slice
  progress: SliceProgress
  firstPages: FetchedPage[]
  #walk: PageWalk
  #isInMemory = true
  #last: FoundPage | undefined

  static async begin(source: SliceSource, slice: Slice): Promise<SliceReading> {
    await source.rows?.begin?.()
    const walk = new PageWalk(source, slice.span)
    return new SliceReading(source, slice, { walk, first: await walk.readPage(1) })
  }

  constructor(source: SliceSource, slice: Slice, { walk, first }: BegunWalk) {
    this.source = source
    this.slice = slice
    this.firstPages = [first]
    this.#walk = walk
    this.progress = this.#begun({ walk, first })
  }

  get state(): SliceState {
    const { source, slice, progress } = this
    const { pages, policy, settings } = source
    return { profile: pages.profile, slice, policy, settings, ...progress }
  }

  async keepPage1(walk: Walk): Promise<void> {
    const [first] = this.firstPages
    if (this.#isInMemory && walk === this.progress.walk && first !== undefined) await this.source.rows?.add(first)
  }

  async drop(): Promise<void> {
    await this.source.rows?.drop?.()
  }

  async read(order: PageOrder): Promise<void> {
    const walk = this.#walk
    if (order === 'page 2') {
      this.firstPages.push(await walk.readPage(2))
      this.progress = { ...this.progress, readUpTo: 'page 2' }
    } else if (order === 'last page to first') {
      await this.#walkBack()
    } else {
      // Drops rows that an earlier backward walk may have added.
      await this.drop()
      for (const page of this.firstPages) await this.source.rows?.add(page)
      this.#isInMemory = false
      await (order === 'to the end' ? walk.readToTheEnd(3) : walk.readPagesOfTotal(order === 'until a row moves'))
      this.progress = { ...this.progress, readUpTo: 'the end' }
    }
  }

  async readAgain({ attempt, rowsAsked }: { readonly attempt: number; readonly rowsAsked: number }): Promise<void> {
    await this.drop()
    const { source, slice, progress } = this
    const walk = new PageWalk(source, slice.span, rowsAsked)
    const isLarger = rowsAsked > source.settings.pageSize
    const first = await (isLarger ? walk.readPage(1).catch(undefinedIfRefused) : walk.readPage(1))
    if (first === undefined) {
      this.progress = { ...progress, readUpTo: 'the end', isLargePageRefused: true }
      return
    }
    this.#walk = walk
    this.firstPages = [first]
    this.#isInMemory = attempt === 1
    this.progress = this.#begun({ walk, first })
    if (attempt === 1) return
    await source.rows?.add(first)
    await walk.readToTheEnd(2)
    this.progress = { ...this.progress, readUpTo: 'the end', attempt, previous: progress.walk }
  }

  async probe(what: ProbeName): Promise<void> {
    this.progress = { ...this.progress, probes: { ...this.progress.probes, ...(await this.#resultOf(what)) } }
  }

  #begun({ walk: { seen }, first }: BegunWalk): SliceProgress {
    const { pages, policy, settings } = this.source
    const page = { rows: seen.firstPageRows, rowsSent: first.page.rowCount, rowsAsked: settings.pageSize }
    const page1Complete = completenessOfPage1(pages.profile, page, policy.checksProfile)
    return {
      readUpTo: 'page 1',
      attempt: 1,
      walk: seen,
      page1Complete,
      firstNumberRequested: first.requestedNumber,
      probes: {},
    }
  }

  async #walkBack(): Promise<void> {
    const { source, slice } = this
    const last = this.#last as FoundPage
    const walk = new PageWalk(source, slice.span)
    if (last.isComplete) {
      walk.record(last.page)
      await source.rows?.add(last.page)
    }
    await walk.readBackwards(last.isComplete ? last.number - 1 : last.number)
    this.progress = { ...this.progress, backwardWalk: walk.seen }
  }

  async #resultOf(what: ProbeName): Promise<ProbeResults> {
    const { source, slice, progress } = this
    const [first] = this.firstPages as [FetchedPage]
    const { lastWithRows = first } = this.#walk
    const probed = { source, slice: { ...slice, span: slice.span as Span }, first }
    switch (what) {
      case 'first number':
        this.#learnNumber(await probeFirstNumber(source, slice.span, first))
        return { firstNumber: 'requested' }
      case 'page 0': {
        const number = await probePageZero(source, slice.span, progress.walk)
        this.#learnNumber(number)
        return { pageZero: number === undefined ? 'unclear' : 'requested' }
      }
      case 'last page': {
        const lastPage = await probeLastPage(probed, this.#walk)
        if (lastPage === undefined) return { lastPage: 'not found' }
        if ('parts' in lastPage) return { lastPage: 'not found', loadParts: lastPage }
        this.#last = lastPage
        return { lastPage }
      }
      case 'rows that were not counted':
        return { hasMissedRows: await probeUncounted(probed, this.#last as FoundPage, progress.backwardWalk as Walk) }
      case 'narrower spans':
        return { narrower: await probeNarrower(probed, progress.walk) }
      case 'entries outside':
        return { hasMissedRows: await probeOutside(source, probed.slice.span, [first, lastWithRows]) }
      default:
        return { partTotals: await probePartTotals(probed, countedParts(this.state), progress.walk.leastTotal) }
    }
  }

  #learnNumber(firstNumber: 0 | 1 | undefined): void {
    const { pages } = this.source
    if (firstNumber !== undefined) pages.profile = { ...pages.profile, firstNumber }
  }
}

interface BegunWalk {
  readonly walk: PageWalk
  readonly first: FetchedPage
}

function unstableError({ slice: { span }, settings, walk }: SliceState, report: string, reason?: string): SyncError {
  const { repeats, rows, totalCount: total } = walk
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
    data: { walks: settings.walkAttemptsMax, rows, total, repeats },
  })
}

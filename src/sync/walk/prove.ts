/**
 * Reads one span of one question and proves that nothing of it is missing, or says how to cut it. A single response
 * that holds everything proves itself; several pages of an old span are proven by their total; where rows move or no
 * total is told the span is cut until single responses remain, and inside one instant two walks have to agree.
 */
import { SyncError } from '../../errors.ts'
import { earliest, formatInstant, type Instant, latest } from '../../instant.ts'
import { unobserved } from '../../observe.ts'
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
} from '../../plan/bareArray.ts'
import { sawFullPage } from '../../plan/pageSizes.ts'
import { plannedRows } from '../../plan/density.ts'
import { canSplit, type Span, splitAt, splitByTotal } from '../../plan/spans.ts'
import { counted, isCountable, oldPart } from './countedWalk.ts'
import { countsFromZero, startsAtZero } from './firstNumber.ts'
import { type FetchedPage, refusedPage } from './pages.ts'
import { type ProveParts, Walk, type WalkOutcome } from './pageWalk.ts'
import { stampsOf } from './stampsOf.ts'

/** So many usual pages are asked for at once at most: an answer that is too large helps nobody. */
const USUAL_PAGES_MAX = 8
/** As many rows as `page_size` may be. */
const ROWS_A_PAGE_MAX = 10_000

/** Reads `span` (undefined: everything there is). Errors: WALK_UNSTABLE, WALK_TOO_LONG and those of the client. */
export function prove(parts: ProveParts, span: Span | undefined): Promise<WalkOutcome> {
  const { observe = unobserved, reader } = parts
  const asked =
    span === undefined ? {} : { since: span.since && formatInstant(span.since), until: formatInstant(span.until) }
  return observe({ what: 'walk', report: reader.report.name, facts: asked }, async (note) => {
    const walk = new Walk(parts, span)
    const first = await walk.page(1)
    const outcome = reader.report.answer === 'array' ? await ofArray(walk, first) : await ofEnvelope(walk, first)
    note(outcome.kind === 'split' ? { outcome: 'split' } : { outcome: outcome.proof, rows: outcome.rows })
    return outcome
  })
}

/** An envelope tells a total (spec §2). */
async function ofEnvelope(walk: Walk, first: FetchedPage): Promise<WalkOutcome> {
  const { parts, span, state } = walk
  const total = state.totalCount
  if (state.meetsTotal && !walk.endsFull) {
    await parts.keep(first)
    return walk.proven('single')
  }
  if (total === undefined) return ofArray(walk, first)
  if (parts.singleOnly === true && total > state.firstRows) return walk.split(first, { total })
  const cut = cutFor(walk, total)
  if (cut !== undefined) return walk.split(first, { total, ...cut })
  await parts.keep(first)
  await walk.rest()
  if (state.repeats === 0 && state.distinct > state.firstRows) parts.learn(sawFullPage(parts.sizes(), state.firstRows))
  const isOld = span !== undefined && span.until <= parts.youngFrom
  if (state.meetsTotal && !walk.isShownAgain && (isOld || state.pages === 1)) return walk.proven('total')
  return agreement(walk)
}

/**
 * How an envelope's span is cut before it is walked: into given parts, or by its total; undefined: walk it as it is.
 */
function cutFor(walk: Walk, total: number): { parts?: readonly Span[] | undefined } | undefined {
  const { parts, span, state } = walk
  if (parts.cuts === false || span === undefined || state.firstRows === 0 || total <= state.firstRows) return undefined
  const young = splitAt(span, parts.youngFrom)
  if (young !== undefined && fillsPage(walk, young[0], total)) return { parts: young }
  const isOld = span.until <= parts.youngFrom
  if (isOld && total > parts.loadRowsMax) {
    const at = atFloor(span, parts)
    if (at !== undefined) return { parts: at }
  }
  if (!canSplit(span)) return undefined
  // Larger pages came before: what the total counts beyond this one isn't held back by its size, so cutting won't bring it.
  if (state.firstRows < parts.sizes().seenMax) return undefined
  if (!isOld) return parts.walksHeap === true ? undefined : {}
  return total > parts.loadRowsMax ? { parts: splitByTotal(span, total, parts.loadRowsMax) } : undefined
}

/**
 * Whether the old part is likely to hold more than a page, so that reading it page by page is worth a question of its
 * own.
 */
function fillsPage({ span, state }: Walk, old: Span, total: number): boolean {
  if (span?.since === undefined || old.since === undefined) return true
  return total * ((old.until - old.since) / (span.until - span.since)) > state.pageRows
}

/** A span without a lower bound in two, so that the later one can be cut further. */
const atFloor = (span: Span, { floor }: ProveParts): readonly Span[] | undefined =>
  span.since === undefined && floor !== undefined ? splitAt(span, floor) : undefined

/** A bare array tells nothing: what its first pages say is decided in plan/bareArray.ts. */
async function ofArray(walk: Walk, first: FetchedPage): Promise<WalkOutcome> {
  const { parts, span, state } = walk
  if (await startsAtZero(walk, first)) return fromZero(walk)
  const page = firstOf(walk, first)
  const claim = claimOf(parts.sizes(), page, parts.doubtsSizes === true)
  const ahead = asksForPage2(claim) ? await walk.page(2) : undefined
  if (isAll(claim, page, ahead && secondOf(walk, ahead))) {
    await parts.keep(first)
    parts.learn(learntOfAll(parts.sizes(), page))
    return walk.proven('single')
  }
  if (ahead !== undefined)
    parts.learn(learntOfLook(parts.sizes(), claim, { first: page, second: secondOf(walk, ahead) }))
  if (isCountable(walk) && state.repeats === 0) {
    const outcome = await counted(walk, first)
    if (outcome !== undefined) return outcome
    await parts.restart?.()
  }
  const mayCut = parts.cuts !== false && parts.walksHeap !== true && span !== undefined && canSplit(span)
  if (mayCut && isCutAtOnce(parts.sizes(), claim, page)) return walk.split(first, { parts: oldPart(walk) })
  const second = ahead ?? (await walk.page(2))
  const next = afterTwoPages(parts.sizes(), { first: page, second: secondOf(walk, second), claim, mayCut })
  parts.learn(next.sizes)
  if (next.step === 'cut') return walk.split(first, { parts: oldPart(walk) }, second)
  if (next.step === 'cut blindly') return walk.split(first)
  await parts.keep(first)
  await parts.keep(second)
  if (next.step === 'walk on') await walk.untilExhausted(3)
  return agreement(walk)
}

const firstOf = ({ state, parts }: Walk, { page }: FetchedPage): FirstPage => ({
  rows: state.firstRows,
  rowsSent: page.rowCount,
  rowsAsked: parts.reader.pageSize,
  rowsLongest: parts.reader.longest,
})

/** For the page that the walk saw last. */
const secondOf = ({ state }: Walk, { page, refusal }: FetchedPage): SecondPage => ({
  isRefused: refusal !== undefined,
  rowsSent: page.rowCount,
  fresh: state.freshOnLastPage,
  repeats: state.repeats,
})

/** Walks to the end until two walks in a row bring the same keys, none of them twice. */
async function agreement(before: Walk): Promise<WalkOutcome> {
  const { parts, span } = before
  let previous = before
  for (let attempt = 2; attempt <= parts.walkAttemptsMax; attempt += 1) {
    const walk = new Walk(
      parts,
      span,
      previous.isWhole || finer(previous) === undefined ? otherSize(previous) : undefined,
    )
    await parts.restart?.()
    const first = await (walk.size > parts.reader.pageSize ? walk.page(1).catch(refusedPage) : walk.page(1))
    if (first === undefined) break
    await parts.keep(first)
    await walk.untilExhausted(2)
    const agrees = walk.isWhole && previous.isWhole && walk.state.agreesWith(previous.state)
    if (agrees && (await countsFromZero(walk))) return fromZero(walk)
    if (agrees && (await hidesEntries(walk, first))) throw unstable(walk, unreached(walk))
    const isLast = attempt === parts.walkAttemptsMax
    const cut = agrees && !(isLast && alwaysFills(walk)) ? await cutForHidden(walk) : finer(walk)
    if (agrees && cut === undefined && walk.cutOff === undefined) return walk.proven('agreed')
    if (cut !== undefined) return walk.split(first, { parts: cut })
    previous = walk
  }
  throw unstable(previous, previous.cutOff && `the page behind it is refused: ${previous.cutOff.message}`)
}

/** Whether the rows of a bare array fill their pages, whatever was asked for: fewer of them may not. */
const alwaysFills = ({ cutOff, state }: Walk): boolean => cutOff !== undefined && state.totalCount === undefined

/** Once more, from page 0 on. */
async function fromZero({ parts, span }: Walk): Promise<WalkOutcome> {
  await parts.restart?.()
  const walk = new Walk(parts, span)
  const first = await walk.page(1)
  return parts.reader.report.answer === 'array' ? ofArray(walk, first) : ofEnvelope(walk, first)
}

/**
 * Whether entries that the total of a trail counts stand before or behind all that two walks brought: the service pages to
 * so many only, or to its first page alone. A trail is never cut, so nothing would bring them.
 */
async function hidesEntries({ parts, span, state, lastHeld }: Walk, first: FetchedPage): Promise<boolean> {
  const { reader } = parts
  if (reader.keyed || span === undefined || (state.totalCount ?? 0) <= state.distinct) return false
  const stampsIn = (pages: readonly FetchedPage[]): Instant[] =>
    pages.flatMap(({ page }) => stampsOf(reader.report, page).flat()).filter((at) => at !== undefined)
  const held = stampsIn(lastHeld === undefined ? [first] : [first, lastHeld])
  if (held.length === 0) return false
  const [begun, ended] = [earliest(...held), latest(...held)]
  const edges = [
    { since: (ended + 1) as Instant, until: span.until },
    { since: span.since, until: (begun - 1) as Instant },
  ]
  for (const edge of edges) {
    if (edge.since !== undefined && edge.since > edge.until) continue
    // A service whose bounds are coarser shows the outermost entries once more.
    const shown = stampsIn([await reader.read(parts.ask(edge), 1)])
    if (shown.some((at) => at < begun || at > ended)) return true
  }
  return false
}

const unreached = ({ state }: Walk): string =>
  `the service counts ${state.totalCount} entries, and its pages bring ${state.distinct}`

/**
 * Two walks agree, and the total counts more rows than they brought: how to cut, if it is true. Parts tell. A service that
 * pages to so many rows only counts them all the same, so parts add up; one that miscounts does so in each part.
 */
async function cutForHidden({ parts, span, state }: Walk): Promise<readonly Span[] | undefined> {
  const { totalCount: total, distinct } = state
  if (parts.cuts === false || span === undefined || total === undefined || total <= distinct) return undefined
  let counted = 0
  for (const part of canSplit(span) ? halves(span) : (atFloor(span, parts) ?? [])) {
    const { page } = await parts.reader.read(parts.ask(part), 1)
    counted += page.envelope.totalCount ?? 0
  }
  if (counted !== total) return undefined
  return canSplit(span) ? splitByTotal(span, total, plannedRows(Math.max(1, distinct))) : atFloor(span, parts)
}

/** For counting: apart by the least there is, since a row where they meet would count twice. */
function halves({ since, until }: Span & { since: Instant }): readonly Span[] {
  const middle = since + Math.floor((until - since) / 2)
  return [
    { since, until: middle as Instant },
    { since: (middle + 1) as Instant, until },
  ]
}

/**
 * The page size for the next walk. A full page that came again, or behind which the next is refused, may be the last
 * page, or the service may not give more: pages of one row less tell, and then a page that holds them all. Where other
 * rows came twice that no bound of time separates, the order is not kept from page to page, or page numbers are ignored:
 * such a page needs neither.
 */
function otherSize({ parts, span, state, size, isShownAgain, isWhole, cutOff }: Walk): number | undefined {
  const { reader } = parts
  if (!reader.keyed) return size
  const mayBeLast = cutOff !== undefined || (isShownAgain && state.firstRows === size)
  const fewer = Math.min(size, state.firstRows) - 1
  if (mayBeLast && size === reader.pageSize && fewer > 0) return fewer
  if (cutOff === undefined && (span === undefined || isWhole || state.repeats === 0)) return size
  const most = Math.min(ROWS_A_PAGE_MAX, reader.pageSize * USUAL_PAGES_MAX)
  const rows = isShownAgain ? most : Math.min(most, 2 * Math.max(state.distinct, state.totalCount ?? 0))
  return Math.max(size, rows)
}

/** After something moved: cut so that each part should fit a single response. */
function finer({ parts, span, state }: Walk): readonly Span[] | undefined {
  if (parts.cuts === false || span === undefined) return undefined
  if (!canSplit(span)) return atFloor(span, parts)
  if (parts.endsInHeap === true) return splitAt(span, (span.until - 1) as Instant)
  return splitByTotal(span, Math.max(state.totalCount ?? 0, state.rows), plannedRows(state.pageRows))
}

function unstable({ parts, span, state }: Walk, reason?: string): SyncError {
  const { report } = parts.reader
  const where =
    span === undefined
      ? 'everything'
      : `${span.since === undefined ? '…' : formatInstant(span.since)} to ${formatInstant(span.until)}`
  const moved = state.repeats > 0 ? `${state.repeats} rows came twice` : 'each walk brought other rows'
  const what =
    reason === undefined
      ? `${parts.walkAttemptsMax} walks over ${where} did not agree: ${moved}`
      : `a walk over ${where} is not whole: ${reason}`
  return new SyncError('WALK_UNSTABLE', what, {
    report: report.name,
    cure: 'Rows move faster than they can be read, or the service ignores pageNumber or pages to so many rows only. It is tried again at the next run; a larger page_size lets more fit one response.',
    data: { walks: parts.walkAttemptsMax, rows: state.rows, total: state.totalCount, repeats: state.repeats },
  })
}

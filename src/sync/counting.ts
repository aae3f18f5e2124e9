/** After a run, compares the total with the rows held. If they differ, rereads rows by creation time (contract §4). */
import { SyncError } from '../errors.ts'
import { DAY_MS, type Instant, millisBetween, minusMs, plusMs, SECOND_MS } from '../instant.ts'
import { mergedRanges, searchDiffering, type CreationRange } from '../plan/countSearch.ts'
import type { Span } from '../plan/spans.ts'
import { floorToSecond } from '../plan/window.ts'
import { keyText } from '../staging/scanPage.ts'
import type { CountState } from '../warehouse/load/counting.ts'
import type { SyncContext } from './context.ts'
import { provenSlices } from './walk/provenSlices.ts'
import { type Reading, totalNow, totalOfCreated } from './walk/reading.ts'
import { readServiceTime } from './walk/serviceTime.ts'
import { counted, grouped } from '../words.ts'

const RANGES_MAX = 8
/** After this many comparisons without a cause for the difference, comparisons are paused for `PAUSE_MS`. */
const FAILURES_MAX = 3
const PAUSE_MS = DAY_MS

/** Compares counts, and reads ranges again that differ. Returns whether counts differed. Throws MASS_DELETE_STOPPED. */
export async function compareCounts(context: SyncContext, reading: Reading): Promise<boolean> {
  const { counts } = context.warehouse
  const { recent: keys, intake, plan } = reading
  const { declaration: report, config, scope, window } = plan
  const { deletesEveryMs } = config
  const isCounted = report.answer === 'envelope' && reading.asksCreated && Object.keys(config.filters).length === 0
  if (!isCounted || deletesEveryMs === undefined || window.since === undefined || keys === undefined) return false
  const place = { report, scope, fence: context.fence }
  // After a search has read the whole report, a new row without a stored range would make the next one do so again.
  if (intake.figures.inserted > 0 && (await counts.hasCreations(place)))
    await counts.recordCreations(place, { span: window, keys, readBy: plan.runId })
  const last = await counts.lastCount(place)
  const countedAt = context.client.serviceNow() ?? context.clock.now()
  const restMs = last?.pauseReason === undefined ? deletesEveryMs : PAUSE_MS
  if (last !== undefined && millisBetween(last.countedAt, countedAt) < restMs) return false
  const total = await totalNow(reading)
  const storedRows = await counts.heldRows(place)
  const { acceptedDifference = 0, failures = 0, pauseReason } = last ?? {}
  const record = (state: CountState) => counts.recordCount({ ...place, ...state })
  const explained = { countedAt, acceptedDifference, failures: 0, pauseReason: undefined }
  const isEqual = total === undefined || total - storedRows === acceptedDifference
  if (isEqual) {
    if (deletesEveryMs > 0 || failures > 0 || pauseReason !== undefined) await record(explained)
    return false
  }
  // If `restMs` is 0, the previous run compared counts, too. That time is computed, because equal counts are not stored.
  const comparedAt = restMs === 0 ? plusMs(window.since, config.overlapMs + config.settleMs) : last?.countedAt
  const comparison = { context, reading, until: (window.since - 1) as Instant, comparedAt }
  const result = await findRows(comparison, acceptedDifference).catch(async (error: unknown) => {
    // Records that comparisons are paused. Otherwise every run would read these ranges again and be stopped again.
    const isStopped = error instanceof SyncError && error.code === 'MASS_DELETE_STOPPED'
    if (isStopped) await record({ ...explained, pauseReason: error.message })
    throw error
  })
  if (result === 'recent rows') return false
  if (result !== 'rows') await record(unexplained(result, { ...explained, failures }, { total, stored: storedRows }))
  else if (last !== undefined) await record(explained)
  return true
}

const UNDATED = 'rows without a time of creation'
type CauseUnknown = 'no row explains the total' | 'totals that change' | typeof UNDATED
type CountResult = 'recent rows' | 'rows' | CauseUnknown

function unexplained(why: CauseUnknown, before: CountState, rows: Record<'total' | 'stored', number>): CountState {
  // A row without a creation time never gets one, so later comparisons would fail, too.
  const failures = why === UNDATED ? FAILURES_MAX : before.failures + 1
  const reason = `${why}: the service counts ${counted(rows.total, 'row')}, the table has ${grouped(rows.stored)}`
  const pauseReason = failures >= FAILURES_MAX ? reason : undefined
  return { ...before, acceptedDifference: rows.total - rows.stored, failures, pauseReason }
}

interface Comparison {
  readonly context: SyncContext
  readonly reading: Reading
  /** Rows that were created after this time were read by this run's window. */
  readonly until: Instant
  /** When the previous comparison ran, by the service's clock. */
  readonly comparedAt: Instant | undefined
}

async function findRows(comparison: Comparison, acceptedDifference: number): Promise<CountResult> {
  const { context, reading, until } = comparison
  const { counts } = context.warehouse
  const { intake, plan, recent = [] } = reading
  const place = { report: plan.declaration, scope: plan.scope, fence: context.fence }
  await counts.recordCreations(place, { span: plan.window, keys: recent, readBy: plan.runId })
  const creations = await counts.creationRanges(place, { recent, until })
  const total = await totalUpTo(reading, until)
  const { kind } = await totalOfCreated(reading)
  if (kind === 'undated') return UNDATED
  // If the counts up to `until` differ only by `acceptedDifference`, the other rows were created after `until`.
  if (total === undefined || total - creations.reduce((sum, { rows }) => sum + rows, 0) === acceptedDifference)
    return 'recent rows'
  if (kind === 'unknown') return 'totals that change'
  const before = { ...intake.figures }
  intake.reason = { kind: 'reread', lateMs: plan.config.overlapMs }
  let absent = 0
  for (const range of await wrongRanges(comparison, creations, total)) absent += await readRange(comparison, range)
  const { inserted, updated, deleted } = intake.figures
  const isFound = inserted + updated + deleted > before.inserted + before.updated + before.deleted || absent > 0
  return isFound ? 'rows' : 'no row explains the total'
}

async function wrongRanges({ reading, until: end }: Comparison, creations: readonly CreationRange[], total: number) {
  const ranges = mergedRanges(creations)
  if (ranges.length === 0) return [{ since: undefined, until: end }]
  const search = searchDiffering(ranges, total, RANGES_MAX)
  let step = search.next()
  while (step.done !== true) {
    const upTo = await totalUpTo(reading, step.value)
    if (upTo === undefined) return []
    step = search.next(upTo)
  }
  // Each range begins where the previous one ends, so that no time is left out.
  return step.value.map((range) => {
    const number = ranges.indexOf(range)
    return { since: ranges[number - 1]?.until, until: number === ranges.length - 1 ? end : range.until }
  })
}

const totalUpTo = (reading: Reading, until: Instant): Promise<number | undefined> =>
  totalNow(reading, { created: { since: undefined, until } })

/** Reads a range again, in slices of about a page. Returns how many stored rows the service did not return. */
async function readRange(comparison: Comparison, range: Span): Promise<number> {
  const { context, reading, until } = comparison
  const { warehouse, clock, fence } = context
  const { source, plan, intake } = reading
  const { declaration: report, scope, runId } = plan
  const { settleMs } = plan.config
  const startedAt = floorToSecond(await readServiceTime(context, report, { currency: scope }))
  const place = { report, scope, fence }
  const settings = { ...source.settings, loadRowsMax: source.pages.pageSize }
  let oldest: { readonly span: Span; readonly missing: readonly string[] } | undefined
  for await (const { span, keys } of provenSlices({ ...source, settings, timeFilter: 'created' }, [range])) {
    const missing = await warehouse.counts.recordCreations(place, { span, keys, readBy: runId })
    if (missing.length > 0) oldest ??= { span, missing }
  }
  if (oldest !== undefined)
    intake.reason = { kind: 'reread', lateMs: await latenessMs(comparison, oldest.span, oldest.missing) }
  await intake.commit()
  const isLast = range.until === until
  const span = { since: range.since, until: isLast ? plan.window.until : range.until }
  const isWhole = isLast && range.since === undefined
  const now = clock.now()
  const ended = await warehouse.counts.endRange({ ...place, range: span, isWhole, runId, startedAt, now, settleMs })
  intake.figures.deleted += ended.deleted
  return ended.absent
}

/** Returns a lower bound (ms) for the lateness of the oldest row that the table lacks. */
async function latenessMs(
  { reading: { source, plan }, comparedAt }: Comparison,
  span: Span,
  missing: readonly string[],
): Promise<number> {
  let ms = Math.max(plan.config.overlapMs, SECOND_MS)
  if (comparedAt === undefined) return ms
  // Rows do not contain their creation time, so each request tests whether a missing row was created before `until`.
  const since = span.since ?? (0 as Instant)
  for (let until = minusMs(comparedAt, 2 * ms); until > since; until = minusMs(comparedAt, 2 * ms)) {
    const { page } = await source.pages.read({ ...source.question, expand: [], created: { since, until } }, 1)
    if (!page.keys.some((key) => missing.includes(keyText(key)))) return ms
    ms *= 2
  }
  return ms
}

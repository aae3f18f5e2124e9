/** Compares a past window with the published copy. The window is read again, into a temporary warehouse. */
import { type ReportName, reportOf } from '../../schema/index.ts'
import { SyncError } from '../errors.ts'
import { formatInstant, type Instant, plusMs } from '../instant.ts'
import { UNKNOWN_PAGING } from '../plan/pagingProfile.ts'
import { CLOCK_GRAIN_MS } from '../plan/window.ts'
import type { Pause } from '../warehouse/books/reportStates.ts'
import type { WindowComparison } from '../warehouse/publish/compareWindow.ts'
import { throwIfRefused } from './pauses.ts'
import { type SyncContext, scopesOf } from './context.ts'
import { Reading } from './walk/reading.ts'
import { readServiceTime } from './walk/serviceTime.ts'

export interface VerifyRequest {
  readonly report: ReportName
  readonly from: Instant | undefined
  readonly to: Instant | undefined
  readonly runId: string
  readonly markOf: (scope: string) => Promise<Instant | undefined>
  readonly pauses: readonly Pause[]
  readonly compare: (request: CompareRequest) => Promise<WindowComparison>
}

export interface ComparedScope {
  readonly report: ReportName
  readonly scope: string
  readonly since: Instant
  readonly until: Instant
}

export interface CompareRequest extends ComparedScope {
  readonly mark: Instant
}

/** A window that was read again, and its differences from the published copy. */
export interface ScopeComparison extends ComparedScope, WindowComparison {
  readonly pages: number
}

/** Compares all scopes. Throws errors of the client, and USAGE_INVALID if a window can't be compared. */
export async function verifyReport(context: SyncContext, request: VerifyRequest): Promise<ScopeComparison[]> {
  const declaration = reportOf(request.report)
  if (declaration.perRecord !== undefined) {
    throw notVerifiable(request.report, 'it is requested record by record', 'Name a report with windows of its own.')
  }
  throwIfRefused(request.pauses, request.report, context.settings)
  const scopes = scopesOf(context.settings, declaration)
  const verified: ScopeComparison[] = []
  for (const scope of scopes) verified.push(await verifyScope(context, request, scope))
  return verified
}

async function verifyScope(context: SyncContext, request: VerifyRequest, scope: string): Promise<ScopeComparison> {
  const { report } = request
  const { mark, ...bounds } = boundsOf(context, request, await request.markOf(scope))
  const window = { ...bounds, report, scope }
  const pages = await readInto(context, { ...window, runId: request.runId })
  const first = await request.compare({ ...window, mark })
  if (first.extra.rows === 0) return { ...window, pages, ...first }
  // The copy has rows that the service did not return. They may have been edited since, so later times are read too.
  const serviceTime = await readServiceTime(context, reportOf(report), { currency: scope })
  const later = { since: window.until, until: plusMs(serviceTime, CLOCK_GRAIN_MS) }
  const more = await readInto(context, { ...window, ...later, runId: request.runId })
  return { ...window, pages: pages + more, ...first, extra: (await request.compare({ ...window, mark })).extra }
}

function boundsOf(context: SyncContext, { report, from, to }: VerifyRequest, mark: Instant | undefined) {
  if (mark === undefined)
    throw notVerifiable(report, 'it was never read to its end', `Run "tidemark sync ${report}" first.`)
  const { start } = context.settings.reports[report]
  const [since, until] = [from ?? start, to ?? mark]
  if (until > mark) {
    const cure = `Give a --to that is not later than its mark, ${formatInstant(mark)}, or run "tidemark sync ${report}" first.`
    throw notVerifiable(report, `the window ends at ${formatInstant(until)}, behind what was read`, cure)
  }
  if (since <= until) return { since, until, mark }
  // If only one bound was given, the message also names the other one: the report's start, or how far it was read.
  if (from !== undefined && to !== undefined)
    throw notVerifiable(report, 'the window ends before it begins', 'Give a --from before --to.')
  if (from !== undefined)
    throw notVerifiable(
      report,
      '--from is later than its mark',
      `Give a --from before its mark, ${formatInstant(mark)}.`,
    )
  const which = to === undefined ? 'its mark' : '--to'
  const cure = `Give a --to later than its start, ${formatInstant(start)}, or a --from before that.`
  throw notVerifiable(report, `${which} is before its start`, cure)
}

const notVerifiable = (report: ReportName, why: string, cure: string): SyncError =>
  new SyncError('USAGE_INVALID', `${report}: not verified, since ${why}`, { report, cure })

async function readInto(
  context: SyncContext,
  { report, scope, since, until, runId }: ComparedScope & { runId: string },
): Promise<number> {
  const declaration = reportOf(report)
  const config = context.settings.reports[report]
  const serviceTime = await readServiceTime(context, declaration, { currency: scope })
  const window = { since, until, serviceTime }
  const reason = { kind: 'reread' } as const
  const profile = UNKNOWN_PAGING
  await using reading = new Reading(context, { declaration, config, scope, runId, window, profile, reason })
  for await (const slice of reading.slices('window', [{ since, until }])) await reading.close(slice)
  await reading.intake.commit()
  return reading.pagesRead
}

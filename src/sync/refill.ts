/**
 * Reads again what was read before the configuration changed (more collections, other filters, an earlier start):
 * newest first, behind the changes of the same run. Done parts are remembered; marks stay where they are.
 */
import type { ReportName } from '../../schema/index.ts'
import type { Instant } from '../instant.ts'
import { type Asked, nextCoverage, partsNewestFirst } from '../plan/coverage.ts'
import type { Span } from '../plan/spans.ts'
import { privacyTextOf } from './privacy.ts'
import type { SyncContext } from './context.ts'
import type { Scope } from './walk/scope.ts'

export interface RefillWays {
  /** Reads a report without bounds, as its first run does. */
  readonly everything: () => Promise<void>
  readonly part: (span: Span) => Promise<void>
}

/**
 * Compares what was asked with what is asked now, before the run reads anything: what lies up to `mark` was read with
 * the old question. Gives the refill to carry out once the run has read what changed.
 */
export async function openCoverage(
  context: SyncContext,
  scope: Scope,
  mark: Instant | undefined,
): Promise<(ways: RefillWays) => Promise<void>> {
  const { config, scope: name } = scope.parts
  const { warehouse, fence } = context
  const place = { report: config.name, scope: name, fence }
  const held = await warehouse.coverage(place)
  const coverage = nextCoverage(held, wantedOf(context, config.name), mark)
  if (coverage !== held) await warehouse.recordCoverage(place, coverage)
  const until = coverage.refillUntil
  const record = (refillUntil: Instant | undefined) => warehouse.recordCoverage(place, { ...coverage, refillUntil })
  return (ways) => (until === undefined ? Promise.resolve() : refill(scope, { until, record }, ways))
}

/**
 * Remembers the question where a backfill brings rows before the first run of their scope: that run then knows in which
 * form they are kept. Rows that are held in another form lose what has become private.
 */
export async function rememberQuestion(context: SyncContext, report: ReportName, scope: string): Promise<void> {
  const { warehouse, fence } = context
  const { mark } = await warehouse.lastWindow(report, scope)
  if (mark !== undefined) return
  const held = await warehouse.coverage({ report, scope })
  const wanted = wantedOf(context, report)
  if (held !== undefined && held.asked.columns === wanted.columns) return
  await warehouse.recordCoverage({ report, scope, fence }, nextCoverage(held, wanted, undefined))
}

function wantedOf({ settings }: SyncContext, report: ReportName): Asked {
  const { start, filters, expand } = settings.reports[report]
  return { start, filters, expand, columns: privacyTextOf(settings, report) }
}

interface Owed {
  readonly until: Instant
  /** Remembers how far it is. */
  readonly record: (refillUntil: Instant | undefined) => Promise<void>
}

async function refill(scope: Scope, { until, record }: Owed, ways: RefillWays): Promise<void> {
  const { config, declaration } = scope.parts
  await scope.intake.commit()
  const parts = declaration.window.required ? partsNewestFirst(config.start, until) : [undefined]
  for (const part of parts) {
    await (part === undefined ? ways.everything() : ways.part(part))
    await scope.intake.commit()
    const isLast = part === parts.at(-1)
    await record(isLast ? undefined : part?.since)
  }
}

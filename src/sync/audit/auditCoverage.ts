/**
 * Coverage of audit trails: what each followed entity was asked for. When the configuration asks for more, or an entity
 * comes back that nobody watched for a while, every record that was asked about is asked again from the start, some of
 * them in each run, behind those that changed (product contract §3).
 */
import type { ReportName } from '../../../schema/index.ts'
import type { Instant } from '../../instant.ts'
import { type Asked, type Coverage, nextCoverage } from '../../plan/coverage.ts'
import { privacyTextOf } from '../privacy.ts'
import type { SyncContext } from '../context.ts'

/** What is owed to the records of one followed entity. */
export interface Again {
  /** Records that were last asked about up to this time were asked with another question. */
  readonly askedUntil: Instant
  /** Remembers that all of them were asked again. */
  readonly done: () => Promise<void>
}

/** Compares what was asked with what is asked now, entity by entity; gives what is owed, by scope prefix. */
export async function openAuditCoverage(
  context: SyncContext,
  report: ReportName,
  subjects: readonly { readonly scopePrefix: string }[],
): Promise<ReadonlyMap<string, Again>> {
  const { warehouse, settings, fence } = context
  const { start, expand } = settings.reports[report]
  const columns = privacyTextOf(settings, report)
  const owed = new Map<string, Again>()
  const prefixes = subjects.map(({ scopePrefix }) => scopePrefix)
  await warehouse.forgetCoverage(report, prefixes)
  for (const scope of prefixes) {
    const place = { report, scope, fence }
    const held = await warehouse.coverage(place)
    const coverage = auditCoverage(
      held,
      { start, filters: {}, expand, columns },
      await warehouse.lastAsked(report, scope),
    )
    if (coverage !== held) await warehouse.recordCoverage(place, coverage)
    if (coverage.refillUntil !== undefined) {
      const done = () => warehouse.recordCoverage(place, { ...coverage, refillUntil: undefined })
      owed.set(scope, { askedUntil: coverage.refillUntil, done })
    }
  }
  return owed
}

/** Records were asked about whose coverage is forgotten: their entity was away, and their changes were not noted. */
function auditCoverage(held: Coverage | undefined, wanted: Asked, askedUntil: Instant | undefined): Coverage {
  const isBack = held === undefined && askedUntil !== undefined
  return isBack
    ? { asked: wanted, refillUntil: askedUntil, because: ['entities'] }
    : nextCoverage(held, wanted, askedUntil)
}

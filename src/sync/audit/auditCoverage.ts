/**
 * The configuration with which the audit trails of each followed entity were read (a trail: all audit entries of one
 * record). If the present one requests more, or an entity is configured again after a pause, all its trails are read
 * again from the start. Each run reads some of them, after the trails of changed records (product contract §3).
 */
import type { ReportName } from '../../../schema/index.ts'
import type { Instant } from '../../instant.ts'
import { type Asked, type Coverage, nextCoverage } from '../../plan/coverage.ts'
import { privacyTextOf } from '../privacy.ts'
import type { SyncContext } from '../context.ts'

/** The audit trails of one followed entity that have to be read again. */
export interface Again {
  /** Trails that were last read at this time or before were read with another configuration. */
  readonly askedUntil: Instant
  /** Records that all trails of the entity were read again, so that later runs don't repeat it. */
  readonly done: () => Promise<void>
}

/** Returns, by the scope prefix of each entity, which trails to read again after a change of the configuration. */
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

/** Returns an entity's coverage. If it was not configured for some time, all of its trails have to be read again. */
function auditCoverage(held: Coverage | undefined, wanted: Asked, askedUntil: Instant | undefined): Coverage {
  const isBack = held === undefined && askedUntil !== undefined
  return isBack
    ? { asked: wanted, refillUntil: askedUntil, because: ['entities'] }
    : nextCoverage(held, wanted, askedUntil)
}

/**
 * The configuration with which the audit trails of each followed entity were read. If the present one requests more, or
 * if an entity is configured again, all trails of the entity are read again from the start. Each run reads some of
 * them, after the trails of changed records (product contract §3).
 */
import type { ReportName } from '../../../schema/index.ts'
import type { Instant } from '../../instant.ts'
import { type ReadSettings, type Coverage, nextCoverage } from '../../plan/coverage.ts'
import { privacyTextOf } from '../privacy.ts'
import type { SyncContext } from '../context.ts'

/** The audit trails of one followed entity that have to be read again. */
export interface TrailRefill {
  /** Trails that were last requested at this time or before have to be read again. */
  readonly askedUntil: Instant
  /** Records that all trails of the entity were read again; otherwise each run would repeat it. */
  readonly done: () => Promise<void>
}

/** Returns the entities whose trails have to be read again, by the prefix that the scopes of their records have. */
export async function openAuditCoverage(
  context: SyncContext,
  report: ReportName,
  subjects: readonly { readonly scopePrefix: string }[],
): Promise<ReadonlyMap<string, TrailRefill>> {
  const { warehouse, settings, fence } = context
  const { start, expand } = settings.reports[report]
  const columns = privacyTextOf(settings, report)
  const refills = new Map<string, TrailRefill>()
  const prefixes = subjects.map(({ scopePrefix }) => scopePrefix)
  await warehouse.forgetCoverage(report, prefixes)
  for (const scope of prefixes) {
    const place = { report, scope, fence }
    const held = await warehouse.coverage(place)
    const coverage = auditCoverage(
      held,
      { start, filters: {}, expand, columns },
      await warehouse.books.lastTrailRead(report, scope),
    )
    if (coverage !== held) await warehouse.recordCoverage(place, coverage)
    if (coverage.refillUntil !== undefined) {
      const done = () => warehouse.recordCoverage(place, { ...coverage, refillUntil: undefined })
      refills.set(scope, { askedUntil: coverage.refillUntil, done })
    }
  }
  return refills
}

/**
 * Returns an entity's coverage. All trails have to be read again if the entity was missing from the configuration. The
 * trail of a new record is read from the present start, so an earlier start of before does not count.
 */
function auditCoverage(held: Coverage | undefined, wanted: ReadSettings, askedUntil: Instant | undefined): Coverage {
  const isBack = held === undefined && askedUntil !== undefined
  if (isBack) return { asked: wanted, refillUntil: askedUntil, because: ['entities'] }
  const next = nextCoverage(held, wanted, askedUntil)
  return next.asked.start === wanted.start ? next : { ...next, asked: wanted }
}

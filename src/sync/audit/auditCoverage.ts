/** Finds the audit trails that must be read again after a change of the configuration (product contract §3). */
import type { ReportName } from '../../../schema/index.ts'
import type { Instant } from '../../instant.ts'
import { type ReadSettings, type Coverage, nextCoverage } from '../../plan/coverage.ts'
import { readSettingsOf } from '../privacy.ts'
import type { SyncContext } from '../context.ts'

export interface TrailRefill {
  /** Trails that were last read at this time or earlier must be read again. */
  readonly askedUntil: Instant
  readonly done: () => Promise<void>
}

/**
 * Stores the current configuration. Returns which trails must be read again, keyed by the beginning of their scope
 * (example: `3:`).
 */
export async function openAuditCoverage(
  context: SyncContext,
  report: ReportName,
  subjects: readonly { readonly scopePrefix: string }[],
): Promise<ReadonlyMap<string, TrailRefill>> {
  const { warehouse, settings, fence } = context
  const wanted = readSettingsOf(settings, report)
  const refills = new Map<string, TrailRefill>()
  const prefixes = subjects.map(({ scopePrefix }) => scopePrefix)
  await warehouse.forgetCoverage(report, prefixes)
  for (const scope of prefixes) {
    const place = { report, scope, fence }
    const stored = await warehouse.books.coverage(place)
    const coverage = auditCoverage(stored, wanted, await warehouse.books.lastTrailRead(report, scope))
    if (coverage !== stored) await warehouse.recordCoverage(place, coverage)
    if (coverage.refillUntil !== undefined) {
      const done = () => warehouse.recordCoverage(place, { ...coverage, refillUntil: undefined })
      refills.set(scope, { askedUntil: coverage.refillUntil, done })
    }
  }
  return refills
}

/**
 * If an entity is removed from the configuration and added again, all of its trails must be read again. An earlier
 * `start` requires nothing, because trails of new records are read from the current `start`.
 */
function auditCoverage(stored: Coverage | undefined, wanted: ReadSettings, askedUntil: Instant | undefined): Coverage {
  const isBack = stored === undefined && askedUntil !== undefined
  if (isBack) return { asked: wanted, refillUntil: askedUntil, because: ['entities'] }
  const next = nextCoverage(stored, wanted, askedUntil)
  return next.asked.start === wanted.start ? next : { ...next, asked: wanted }
}

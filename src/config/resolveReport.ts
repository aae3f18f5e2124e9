/** Computes a report's settings from its section and the defaults. Decides whether the report runs, and if not, why. */
import { reports, type Declaration } from '../../schema/index.ts'
import { parseInstant, type Instant } from '../instant.ts'
import type { RawConfig } from './raw.ts'
import type { RawReport } from './reportSection.ts'
import type { OffReason, ReportConfig, Rhythm } from './shape.ts'
import { parseDuration } from './units.ts'

type RegisteredReport = (typeof reports)[number]

export function resolveReport(
  report: RegisteredReport,
  raw: RawConfig,
  onlyReports: readonly string[] | undefined,
): ReportConfig {
  const own: RawReport = raw.reports[report.name] ?? { enabled: true }
  const { name, expand, created }: Declaration & RegisteredReport = report
  const offReason = offReasonOf(report, { own, raw, onlyReports })
  return {
    name,
    enabled: offReason === undefined,
    ...(offReason && { offReason }),
    ...rhythmOf(own.every ?? raw.defaults.every),
    timeZone: own.time_zone ?? raw.defaults.time_zone,
    ...reconcileOf(report, own.reconcile_every ?? raw.defaults.reconcile_every),
    deletesEveryMs: parseDuration(own.deletes_every ?? raw.defaults.deletes_every),
    pageSize: own.page_size ?? raw.defaults.page_size,
    overlapMs: parseDuration(own.overlap ?? raw.defaults.overlap) ?? 0,
    settleMs: parseDuration(own.settle ?? raw.defaults.settle) ?? 0,
    start: parseInstant(own.start ?? raw.defaults.start) as Instant,
    // The flags have the declaration's order, so that their order in the file does not change requests.
    expand: Object.keys(expand).filter((flag) => own.expand?.includes(flag) ?? true),
    filters: withoutEmpty(own.filters ?? {}),
    contract: own.schema_contract ?? raw.defaults.schema_contract,
    keepsHistory: own.history ?? false,
    privacy: { columns: own.columns ?? {}, excludePayload: own.exclude_payload ?? false },
    askCreated: created !== undefined && (own.ask_created ?? true),
    entities: (own.entities ?? []).map((entity) => ({ entityId: entity.entity_id, follows: entity.follows })),
  }
}

/** Removes empty filters. An empty filter means all values (spec §4, rule 3), the same as no filter. */
const withoutEmpty = (filters: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(filters).filter(([, value]) => !(Array.isArray(value) && value.length === 0)))

function rhythmOf(every: string): Rhythm {
  const everyMs = parseDuration(every)
  return { every, ...(everyMs !== undefined && { everyMs }) }
}

/** Returns how often the report is reconciled. Audit reports are never reconciled: audit entries do not change. */
const reconcileOf = ({ perRecord }: Declaration, every: string): { reconcile?: Rhythm } =>
  perRecord !== undefined || every === 'never' ? {} : { reconcile: rhythmOf(every) }

interface Situation {
  readonly own: RawReport
  readonly raw: RawConfig
  readonly onlyReports: readonly string[] | undefined
}

/** Returns why the report is off; undefined if it is on. Of several reasons, the operator's decision is first. */
function offReasonOf(report: Declaration, { own, raw, onlyReports }: Situation): OffReason | undefined {
  if (!own.enabled) return 'enabled: false'
  if (onlyReports !== undefined && !onlyReports.includes(report.name)) return 'not in TIDEMARK_REPORTS'
  if (report.currency !== undefined && raw.currencies.length === 0) return 'no currencies are configured'
  const needsEntities = report.perRecord?.follows === 'configured'
  return needsEntities && (own.entities ?? []).length === 0 ? 'no entities are configured' : undefined
}

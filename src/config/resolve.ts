/** Converts checked settings to the final configuration: absolute paths, milliseconds, bytes. */
import path from 'node:path'
import { reports, type ReportName, type Declaration } from '../../schema/index.ts'
import { Secret } from '../secret.ts'
import { lakeAddress, serveAddress } from './checks.ts'
import {
  CONSOLE_TOKEN,
  CONSOLE_VIEW_TOKEN,
  misspellings,
  variablesInEffect,
  reportsInEnvironment,
  SERVE_TOKEN,
} from './environment.ts'
import { limitsOf, type RawConfig } from './raw.ts'
import type { Config, LakeConfig, ReceiverConfig, ReportConfig, ServiceConfig, OffReason, Rhythm } from './shape.ts'
import { parseDuration } from './units.ts'
import { parseInstant, type Instant } from '../instant.ts'
import type { RawReport } from './reportSection.ts'
import type { Sources } from './sources.ts'

export interface ResolveContext {
  readonly sources: Sources
  readonly clientSecret: Secret
  readonly hashKey: Secret | undefined
  readonly receivers: readonly ReceiverConfig[]
  readonly editedKeys: Config['source']['editedKeys']
}

/** Converts checked settings: paths become absolute, durations become milliseconds, sizes become bytes. */
export function resolve(raw: RawConfig, given: ResolveContext): Config {
  const { folder, env, file } = given.sources
  const { warehouse, published } = filesOf(raw, folder)
  const lake = lakeOf(raw, folder)
  const onlyReports = reportsInEnvironment(env)
  const misspelt = misspellings(env)
  const tokenIn = (name: string) => (env[name] === undefined ? undefined : new Secret(env[name]))
  return {
    service: serviceOf(raw.service, given.clientSecret),
    warehouse,
    ...(lake && { lake }),
    published,
    publishBy: raw.publish_by,
    staging: `${warehouse}.staging`,
    ...(raw.extensions !== undefined && { extensions: path.resolve(folder, raw.extensions) }),
    ...serveOf(raw, tokenIn(SERVE_TOKEN)),
    queue: raw.queue,
    console: { ...raw.console, token: tokenIn(CONSOLE_TOKEN), viewToken: tokenIn(CONSOLE_VIEW_TOKEN) },
    historyMs: parseDuration(raw.history) ?? 0,
    rejectedKeepMs: parseDuration(raw.rejected_keep) ?? 0,
    ...(given.hashKey && { hashKey: given.hashKey }),
    ...notifyOf(raw.notify, given.receivers),
    currencies: raw.currencies,
    reports: Object.fromEntries(
      reports.map((report) => [report.name, resolveReport(report, raw, onlyReports)]),
    ) as Record<ReportName, ReportConfig>,
    limits: limitsOf(raw.limits),
    source: {
      ...(file !== undefined && { file }),
      env: Object.keys(variablesInEffect(env)),
      editedKeys: given.editedKeys,
      ...(misspelt.length > 0 && { misspellings: misspelt }),
    },
  }
}

/** Returns the absolute paths of the files. The published copy is by default in the folder of the warehouse. */
export function filesOf(raw: Pick<RawConfig, 'warehouse' | 'published'>, folder: string) {
  const warehouse = path.resolve(folder, localPath(raw.warehouse))
  const published = raw.published ?? path.join(path.dirname(warehouse), 'published.duckdb')
  return { warehouse, published: path.resolve(folder, published) }
}

/** Returns the path next to which staging, queue and socket are created. */
function localPath(warehouse: string): string {
  const lake = lakeAddress(warehouse)
  if (lake === undefined) return warehouse
  return lake.catalogue === 'sqlite' ? lake.at : './data/lake'
}

function lakeOf(raw: RawConfig, folder: string): LakeConfig | undefined {
  const lake = lakeAddress(raw.warehouse)
  if (lake === undefined) return undefined
  const at = lake.catalogue === 'sqlite' ? path.resolve(folder, lake.at) : lake.at
  const data = path.resolve(folder, raw.lake_data ?? `${at}.files`)
  const extensions = raw.extensions === undefined ? undefined : path.resolve(folder, raw.extensions)
  return { ...lake, at, data: `${data}/`, extensions }
}

function serveOf({ serve }: RawConfig, token: Secret | undefined): Pick<Config, 'serve'> {
  const address = serve === undefined ? undefined : serveAddress(serve)
  return address === undefined ? {} : { serve: { ...address, ...(token && { token }) } }
}

/** The empty texts only satisfy the types: `missingSettings` has already rejected a missing address or client. */
function serviceOf(raw: RawConfig['service'], clientSecret: Secret): ServiceConfig {
  return {
    baseUrl: new URL(raw.base_url ?? ''),
    clientId: raw.client_id ?? '',
    clientSecret,
    ...(raw.scopes && { scopes: raw.scopes }),
    concurrency: raw.concurrency,
    ...(raw.requests_per_second !== undefined && { requestsPerSecond: raw.requests_per_second }),
  }
}

function notifyOf(
  { lag, failures }: RawConfig['notify'],
  receivers: readonly ReceiverConfig[],
): Pick<Config, 'notify'> {
  return receivers.length === 0 ? {} : { notify: { receivers, lagMs: parseDuration(lag) ?? 0, failures } }
}

type RegisteredReport = (typeof reports)[number]

function resolveReport(
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
    // The order of the flags in the file must not change requests. So they get the order of the declaration.
    expand: Object.keys(expand).filter((flag) => own.expand?.includes(flag) ?? true),
    filters: withoutEmpty(own.filters ?? {}),
    contract: own.schema_contract ?? raw.defaults.schema_contract,
    keepsHistory: own.history ?? false,
    privacy: { columns: own.columns ?? {}, excludePayload: own.exclude_payload ?? false },
    askCreated: created !== undefined && (own.ask_created ?? true),
    entities: (own.entities ?? []).map((entity) => ({ entityId: entity.entity_id, follows: entity.follows })),
  }
}

/** Removes empty filters: an empty filter means all values (spec §4, rule 3), like no filter. */
const withoutEmpty = (filters: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(filters).filter(([, value]) => !(Array.isArray(value) && value.length === 0)))

function rhythmOf(every: string): Rhythm {
  const everyMs = parseDuration(every)
  return { every, ...(everyMs !== undefined && { everyMs }) }
}

/** Returns when a report is reconciled. Audit reports never are, because audit entries do not change. */
const reconcileOf = ({ perRecord }: Declaration, every: string): { reconcile?: Rhythm } =>
  perRecord !== undefined || every === 'never' ? {} : { reconcile: rhythmOf(every) }

/** Returns why the report is off, or undefined if it is on. `enabled: false` comes before all other reasons. */
function offReasonOf(
  report: Declaration,
  { own, raw, onlyReports }: { own: RawReport; raw: RawConfig; onlyReports: readonly string[] | undefined },
): OffReason | undefined {
  if (!own.enabled) return 'enabled: false'
  if (onlyReports !== undefined && !onlyReports.includes(report.name)) return 'not in TIDEMARK_REPORTS'
  if (report.currency !== undefined && raw.currencies.length === 0) return 'no currencies are configured'
  const needsEntities = report.perRecord?.follows === 'configured'
  return needsEntities && (own.entities ?? []).length === 0 ? 'no entities are configured' : undefined
}

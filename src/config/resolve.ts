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
import { parseDuration } from '../units.ts'
import { parseInstant, type Instant } from '../instant.ts'
import type { RawReport } from './reportSection.ts'
import type { ReceiverConfig } from './secrets.ts'
import type { Sources } from './sources.ts'

export interface ResolveContext {
  readonly sources: Sources
  readonly clientSecret: Secret
  readonly hashKey: Secret | undefined
  readonly storageKeys: readonly Secret[]
  readonly receivers: readonly ReceiverConfig[]
  /** Returns the names of the settings that were edited after this configuration was read. */
  readonly editedKeys: () => Promise<readonly string[]>
}

/** The resolved configuration: read and checked once at the start, and frozen. */
export type Config = Readonly<ReturnType<typeof resolve>>
export type NotifyConfig = NonNullable<Config['notify']>

export function resolve(raw: RawConfig, given: ResolveContext) {
  const { clientSecret, hashKey, receivers, editedKeys } = given
  const { folder, env, file } = given.sources
  const { base_url: baseUrl = '', client_id: clientId = '', scopes, concurrency } = raw.service
  const { requests_per_second: requestsPerSecond, requests_per_day: requestsPerDay } = raw.service
  const { lag, failures } = raw.notify
  const { warehouse, published } = filesOf(raw, folder)
  const lake = lakeOf(raw, folder, given.storageKeys)
  const address = serveAddress(raw.serve ?? '')
  const onlyReports = reportsInEnvironment(env)
  const misspelt = misspellings(env)
  const tokenIn = (name: string) => (env[name] === undefined ? undefined : new Secret(env[name]))
  const serveToken = tokenIn(SERVE_TOKEN)
  return {
    service: {
      baseUrl: new URL(baseUrl),
      reportsPath: raw.service.reports_path,
      tokenPath: raw.service.token_path,
      clientId,
      clientSecret,
      ...(scopes && { scopes }),
      concurrency,
      ...(requestsPerSecond !== undefined && { requestsPerSecond }),
    },
    ...(requestsPerDay !== undefined && { requestsPerDay }),
    /** If the warehouse is a lake, staging, queue and socket are created next to this path. */
    warehouse,
    ...(lake && { lake }),
    published,
    publishBy: raw.publish_by,
    staging: `${warehouse}.staging`,
    ...(raw.extensions !== undefined && { extensions: path.resolve(folder, raw.extensions) }),
    // Without this token, the worker creates one.
    ...(address && { serve: { ...address, ...(serveToken && { token: serveToken }) } }),
    queue: raw.queue,
    console: { ...raw.console, token: tokenIn(CONSOLE_TOKEN), viewToken: tokenIn(CONSOLE_VIEW_TOKEN) },
    /** How long the schema `tidemark` keeps records of runs and windows. */
    historyMs: parseDuration(raw.history) ?? 0,
    /** How long a rejected row stays listed after the service last sent it. */
    rejectedKeepMs: parseDuration(raw.rejected_keep) ?? 0,
    ...(hashKey && { hashKey }),
    ...(receivers.length > 0 && { notify: { receivers, lagMs: parseDuration(lag) ?? 0, failures } }),
    currencies: raw.currencies,
    reports: Object.fromEntries(
      reports.map((report) => [report.name, resolveReport(report, raw, onlyReports)]),
    ) as Record<ReportName, ReportConfig>,
    // With 128 MB, 6 of 32 backfill windows of a lake failed (decision 0042).
    limits: limitsOf(raw.limits, lake === undefined ? '128MB' : '256MB'),
    source: {
      ...(file !== undefined && { file }),
      env: Object.keys(variablesInEffect(env)),
      editedKeys,
      ...(misspelt.length > 0 && { misspellings: misspelt }),
    },
  }
}

export function filesOf(raw: Pick<RawConfig, 'warehouse' | 'published'>, folder: string) {
  const lake = lakeAddress(raw.warehouse)
  const local = lake?.catalogue === 'postgres' ? './data/lake' : (lake?.at ?? raw.warehouse)
  const warehouse = path.resolve(folder, local)
  const published = raw.published ?? path.join(path.dirname(warehouse), 'published.duckdb')
  return { warehouse, published: path.resolve(folder, published) }
}

function lakeOf(raw: RawConfig, folder: string, keys: readonly Secret[]) {
  const lake = lakeAddress(raw.warehouse)
  if (lake === undefined) return undefined
  const at = lake.catalogue === 'sqlite' ? path.resolve(folder, lake.at) : lake.at
  const { lake_data: place = `${at}.files`, lake_region: region = 'us-east-1' } = raw
  const data = keys.length === 0 ? path.resolve(folder, place) : place.replace(/\/$/, '')
  const urlStyle = raw.lake_url_style ?? (raw.lake_endpoint === undefined ? 'vhost' : 'path')
  const storage = { endpoint: raw.lake_endpoint ?? 'https://s3.amazonaws.com', region, urlStyle, keys }
  const extensions = raw.extensions === undefined ? undefined : path.resolve(folder, raw.extensions)
  const snapshotsMs = parseDuration(raw.lake_snapshots) ?? 0
  return { ...lake, at, data: `${data}/`, extensions, snapshotsMs, ...(keys.length > 0 && { storage }) }
}

type RegisteredReport = (typeof reports)[number]

export type OffReason =
  | 'enabled: false'
  | 'not in TIDEMARK_REPORTS'
  | 'no currencies are configured'
  | 'no entities are configured'

export type ReportConfig = Readonly<ReturnType<typeof resolveReport>>

function resolveReport(report: RegisteredReport, raw: RawConfig, onlyReports: readonly string[] | undefined) {
  const { name, expand, created }: Declaration & RegisteredReport = report
  const own: RawReport = raw.reports[name] ?? { enabled: true }
  const setting = <Name extends keyof RawConfig['defaults']>(key: Name) => own[key] ?? raw.defaults[key]
  const offReason = offReasonOf(report, own, { currencies: raw.currencies, onlyReports })
  return {
    name,
    enabled: offReason === undefined,
    ...(offReason && { offReason }),
    ...rhythmOf(setting('every')),
    ...(own.requests_per_day !== undefined && { requestsPerDay: own.requests_per_day }),
    timeZone: setting('time_zone'),
    // With `never`, reports are reconciled only on command.
    ...reconcileOf(report, setting('reconcile_every')),
    /** Time between comparisons of row counts, which find deletions. 0: in each run. Undefined: never. */
    deletesEveryMs: parseDuration(setting('deletes_every')),
    pageSize: setting('page_size'),
    overlapMs: parseDuration(setting('overlap')) ?? 0,
    settleMs: parseDuration(setting('settle')) ?? 0,
    start: parseInstant(setting('start')) as Instant,
    // The order of the flags in the file must not change requests.
    expand: Object.keys(expand).filter((flag) => own.expand?.includes(flag) ?? true) as readonly string[],
    filters: withoutEmpty(own.filters ?? {}),
    /** For a new field: `evolve` adds a column, `freeze` uses `_extra`, `reject` rejects the row. */
    contract: setting('schema_contract'),
    keepsHistory: own.history ?? false,
    /** `columns` maps `column` or `collection.column` to `hash`, `drop` or `keep`. */
    privacy: { columns: own.columns ?? {}, excludePayload: own.exclude_payload ?? false },
    /** Also request rows by creation time: modification time alone could miss rows that were never edited. */
    askCreated: created !== undefined && (own.ask_created ?? true),
    /** Example: `{ entityId: 3, follows: 'events' }` audits changed rows of `events`. */
    entities: (own.entities ?? []).map((entity) => ({ entityId: entity.entity_id, follows: entity.follows })),
  }
}

/** An empty filter means all values (spec §4, rule 3). */
const withoutEmpty = (filters: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(filters).filter(([, value]) => !(Array.isArray(value) && value.length === 0)))

export interface Rhythm {
  /** A duration such as `5m`, or a cron line. */
  readonly every: string
  readonly everyMs?: number
}

function rhythmOf(every: string): Rhythm {
  const everyMs = parseDuration(every)
  return { every, ...(everyMs !== undefined && { everyMs }) }
}

/** Audit reports are never reconciled, because audit entries do not change. */
const reconcileOf = ({ perRecord }: Declaration, every: string): { reconcile?: Rhythm } =>
  perRecord !== undefined || every === 'never' ? {} : { reconcile: rhythmOf(every) }

function offReasonOf(
  { name, currency, perRecord }: Declaration,
  { enabled, entities = [] }: RawReport,
  { currencies, onlyReports }: Pick<RawConfig, 'currencies'> & { onlyReports: readonly string[] | undefined },
): OffReason | undefined {
  if (!enabled) return 'enabled: false'
  if (onlyReports?.includes(name) === false) return 'not in TIDEMARK_REPORTS'
  if (currency !== undefined && currencies.length === 0) return 'no currencies are configured'
  return perRecord?.follows === 'configured' && entities.length === 0 ? 'no entities are configured' : undefined
}

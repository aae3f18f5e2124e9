/** The schema of `tidemark.yaml`. The JSON Schema for editors is generated from it. */
import { z } from 'zod'
import { Report, reportNames, reports } from '../../schema/index.ts'
import {
  baseUrlProblem,
  currencyProblem,
  endpointProblem,
  fileProblem,
  lagProblem,
  lakeDataProblem,
  proxyProblem,
  queryTimeProblem,
  queueProblem,
  retentionProblem,
  serveProblem,
  urlPathProblem,
  warehouseProblem,
  webhookProblem,
} from './checks.ts'
import { between, byteSize, checked, text, unique, whole } from './fields.ts'
import { deletesEvery, reconcileEvery, reportSection, rhythm, schemaContract, type RawReport } from './reportSection.ts'
import { BYTE_SIZE, parseDuration } from '../units.ts'

const MIB = 2 ** 20
/** With a lower rate, a worker would seem to hang. */
const REQUESTS_PER_SECOND_MIN = 0.01

/** A relative path is relative to the configuration file's folder. */
export const PathList = z.union([z.string().min(1), z.array(z.string().min(1))], {
  error: 'must be a path, or a list of paths',
})

const service = z
  .strictObject({
    base_url: checked(
      baseUrlProblem,
      'Address of the reporting service, without /reportingapi (REPORTING_BASE_URL)',
    ).optional(),
    client_id: text('Client identifier (REPORTING_CLIENT_ID)').optional(),
    client_secret_file: text(
      'File with the client secret (REPORTING_CLIENT_SECRET_FILE, or the secret itself in REPORTING_CLIENT_SECRET); never in this file',
    ).optional(),
    scopes: z
      .array(z.string().min(1))
      .optional()
      .describe('Scopes to ask for; all that the client has when left out (REPORTING_SCOPES)'),
    reports_path: checked(urlPathProblem, 'Path of the reporting interface; /reportingapi when left out').optional(),
    token_path: checked(
      urlPathProblem,
      'Path that issues tokens; /authenticationapi/Account/RequestToken when left out',
    ).optional(),
    concurrency: between(1, 64).default(8).describe('Most requests in flight at once; fewer while the service is slow'),
    requests_per_second: z
      .number()
      .min(REQUESTS_PER_SECOND_MIN)
      .max(1_000)
      .optional()
      .describe('Upper limit of the request rate, from 0.01 (one in 100 s) on; none when left out'),
    requests_per_day: rhythm.requests_per_day.optional(),
  })
  .prefault({})
  .describe('The reporting service')

const consoleSection = z
  .strictObject({
    host: text('Address that the console listens on (TIDEMARK_CONSOLE_HOST)').default('127.0.0.1'),
    port: between(0, 65_535).default(7717).describe('Port of the console; 0 takes a free one (TIDEMARK_CONSOLE_PORT)'),
    proxies: z
      .array(checked(proxyProblem, 'Address or network'))
      .default([])
      .describe('Proxies before the console; their X-Forwarded-For names the client (TIDEMARK_CONSOLE_PROXIES)'),
  })
  .prefault({})
  .describe('The console; its token comes from TIDEMARK_CONSOLE_TOKEN, else it is made at the start and printed once')

/** Limits simultaneous deliveries, because a worker sends messages to all receivers at the same time. */
const RECEIVERS_MAX = 10
const RECEIVER_NAME = /^[a-z][a-z0-9_]*$/
const RECEIVER_NAME_RULE = 'must name its receivers with small letters, digits and _, such as pipeline'

const receiver = {
  webhook: checked(webhookProblem, 'Address to post to (notify.webhook: TIDEMARK_NOTIFY_WEBHOOK)').optional(),
  secret_file: text(
    'File with the secret: a key whsec_… that signs, the address of a Slack webhook, or the integration key of PagerDuty (TIDEMARK_NOTIFY_SECRET_FILE, TIDEMARK_NOTIFY_NAME_SECRET_FILE, or without _FILE the secret itself); never in this file',
  ).optional(),
  format: z.enum(['plain', 'slack', 'pagerduty']).default('plain').describe('How messages are written'),
}

const receivers = <Shape extends z.ZodRawShape>(shape: Shape, meaning: string) =>
  z
    .record(z.string(), z.strictObject({ ...receiver, ...shape }))
    .refine((all) => Object.keys(all).every((name) => RECEIVER_NAME.test(name)), RECEIVER_NAME_RULE)
    .refine((all) => Object.keys(all).length <= RECEIVERS_MAX, `must have at most ${RECEIVERS_MAX} receivers`)
    .default({})
    .describe(meaning)

const dataReceiver = {
  format: z.enum(['plain', 'slack']).default('plain').describe('How messages are written'),
  reports: z.array(Report).min(1).optional().describe('Only these reports; all when left out'),
}

const notify = z
  .strictObject({
    ...receiver,
    notices: receivers({}, 'More receivers of notices, by name'),
    data: receivers(dataReceiver, 'Receivers of a message after each publication that changed rows, by name'),
    lag: checked(lagProblem, 'A notice is sent when a mark is further behind than this (TIDEMARK_NOTIFY_LAG)').default(
      '1h',
    ),
    failures: between(1, 100).default(3).describe('A notice is sent when a report fails this many times in a row'),
  })
  .prefault({})
  .describe('Where the worker posts notices for operators, and messages about new data')

const defaults = z
  .strictObject({
    every: rhythm.every.default('5m'),
    time_zone: rhythm.time_zone.default('UTC'),
    reconcile_every: reconcileEvery.default('7d'),
    deletes_every: deletesEvery.default('0s'),
    page_size: rhythm.page_size.default(500),
    overlap: rhythm.overlap.default('10m'),
    settle: rhythm.settle.default('30s'),
    start: rhythm.start.default('2000-01-01T00:00:00Z'),
    schema_contract: schemaContract.default('evolve'),
  })
  .prefault({})
  .describe('Settings of every report that does not set its own (TIDEMARK_EVERY, TIDEMARK_PAGE_SIZE, …)')

/** The value stays text, because DuckDB parses it. */
const memory = (purpose: string, what = 'Memory') =>
  z
    .string()
    .regex(BYTE_SIZE, { error: 'must be a size such as 1GB' })
    .describe(`${what} that DuckDB may take for ${purpose}`)

const limits = z
  .strictObject({
    load_rows_max: whole().min(1).default(200_000).describe('Rows in one load'),
    load_bytes_max: byteSize('Bytes in one load').default(512 * MIB),
    page_bytes_max: byteSize('Bytes in one page').default(128 * MIB),
    walk_pages_max: whole().min(1).default(100_000).describe('Pages of one run of a report, per currency or record'),
    walk_attempts_max: between(2, 100)
      .default(4)
      .describe('Walks of one slice that cannot be cut, before the run fails'),
    warehouse_memory: memory('loads; 128MB when left out, 256MB with a lake').optional(),
    query_memory: memory('reading: query, export, verify, all readers of serve together').default('1GB'),
    query_disk: memory('temporary files of one reader', 'Disk').default('10GB'),
    query_time: checked(queryTimeProblem, 'Time that one statement of a reader may take').default('30m'),
    warehouse_threads: between(1, 1_024)
      .optional()
      .describe('Threads that DuckDB may use, large loads one less; one per core when left out'),
  })
  .prefault({})
  .describe('Upper limits; each ends in a clear error')

export type Limits = Readonly<ReturnType<typeof limitsOf>>

export function limitsOf(raw: z.output<typeof limits>, usualMemory: string) {
  return {
    loadRowsMax: raw.load_rows_max,
    loadBytesMax: raw.load_bytes_max,
    pageBytesMax: raw.page_bytes_max,
    walkPagesMax: raw.walk_pages_max,
    walkAttemptsMax: raw.walk_attempts_max,
    warehouseMemory: raw.warehouse_memory ?? usualMemory,
    queryMemory: raw.query_memory,
    queryDisk: raw.query_disk,
    queryTimeMs: parseDuration(raw.query_time) ?? 0,
    ...(raw.warehouse_threads !== undefined && { warehouseThreads: raw.warehouse_threads }),
  }
}

/** Returns the schema, which has a section for each registered report. */
export const rawConfig = () =>
  z
    .strictObject({
      service,
      warehouse: checked(
        warehouseProblem,
        'The DuckDB file that Tidemark writes, or a lake: ducklake:sqlite:FILE, ducklake:postgres:CONNECTION (TIDEMARK_WAREHOUSE)',
      )
        .default('./data/warehouse.duckdb')
        .meta({ type: ['string', 'object'] }),
      lake_data: checked(
        lakeDataProblem,
        "Directory of a lake's Parquet files, or s3://BUCKET/PATH; beside the catalogue when left out, needed with PostgreSQL (TIDEMARK_LAKE_DATA)",
      ).optional(),
      lake_endpoint: checked(endpointProblem, 'Storage, if it is not Amazon S3 (TIDEMARK_LAKE_ENDPOINT)').optional(),
      lake_region: text('Region of that storage; us-east-1 when left out (TIDEMARK_LAKE_REGION)').optional(),
      lake_url_style: z.enum(['path', 'vhost']).optional().describe('Place of the bucket: in the path, or in the host'),
      lake_snapshots: checked(retentionProblem, 'Age limit of snapshots (TIDEMARK_LAKE_SNAPSHOTS)').default('7d'),
      published: checked(
        fileProblem,
        'The read-only copy; beside the warehouse when left out, so two warehouses in one folder need different values (TIDEMARK_PUBLISHED)',
      ).optional(),
      publish_by: z
        .enum(['blocks', 'whole'])
        .default('blocks')
        .describe(
          'blocks: a publication writes only what changed, where that is safe; whole: it copies the whole file',
        ),
      serve: checked(
        serveProblem,
        'Address at which a worker serves the published copy to other DuckDBs, such as quack://127.0.0.1:9494; its token comes from TIDEMARK_SERVE_TOKEN, else it is made at the start and printed once (TIDEMARK_SERVE)',
      ).optional(),
      extensions: text(
        "Directory with DuckDB's extensions (NAME.duckdb_extension), for serve and lakes; nothing is ever downloaded (TIDEMARK_EXTENSIONS)",
      ).optional(),
      queue: checked(queueProblem, 'embedded, redis://…, rediss://… or postgres://… (TIDEMARK_QUEUE_URL)').default(
        'embedded',
      ),
      console: consoleSection,
      history: checked(
        retentionProblem,
        'How long the books keep each run and each window by itself (TIDEMARK_HISTORY)',
      ).default('90d'),
      rejected_keep: checked(
        retentionProblem,
        'How long a rejected row is listed after the service last sent it (TIDEMARK_REJECTED_KEEP)',
      ).default('90d'),
      hash_key_file: text(
        'File with the key for hashed columns (TIDEMARK_HASH_KEY_FILE, or the key itself in TIDEMARK_HASH_KEY); never in this file',
      ).optional(),
      notify,
      currencies: unique(
        z.array(checked(currencyProblem, 'ISO 4217 code').transform((code) => code.toUpperCase())),
        (code) => code,
      )
        .default([])
        .describe('Currencies to ask for; without any, the reports that need one stay off (TIDEMARK_CURRENCIES)'),
      defaults,
      reports: z
        .strictObject(Object.fromEntries(reports.map((report) => [report.name, reportSection(report)])))
        .prefault({})
        .describe(`Settings of single reports: ${reportNames.join(', ')}, and those of reports_from`)
        .meta({ additionalProperties: { type: 'object', description: 'Settings of a report of reports_from' } }),
      reports_from: PathList.optional().describe(
        'Files with declarations of more reports (defineReport), or folders of such files (TIDEMARK_REPORTS_FROM)',
      ),
      limits,
    })
    .meta({ title: 'Tidemark', description: 'Configuration of Tidemark (tidemark.yaml)' })

export type RawConfig = Omit<z.output<ReturnType<typeof rawConfig>>, 'reports'> & {
  readonly reports: Readonly<Record<string, RawReport | undefined>>
}

/** Returns a JSON Schema in draft 7, which YAML editors support best. */
export const jsonSchema = (): Record<string, unknown> =>
  z.toJSONSchema(rawConfig(), { target: 'draft-7', io: 'input', unrepresentable: 'any' })

/** A whole Tidemark for one test: a sandbox over HTTP, a client, a warehouse, and a function that runs reports once. */
import { statSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ReportName, reportNames } from '../../schema/index.ts'
import { type ClientEvent, openClient, type ReportingClient } from '../../src/client/reporting.ts'
import { type Config, loadConfig } from '../../src/config/config.ts'
import type { Observe } from '../../src/observe.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/server.ts'
import { identityOf, type SyncContext } from '../../src/sync/context.ts'
import type { ReportOutcome } from '../../src/sync/reportOutcome.ts'
import { syncAll } from '../../src/sync/syncAll.ts'
import type { AroundStatement } from '../../src/warehouse/database/duckdb.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { type ForwardClock, forwardClock } from './forwardClock.ts'
import { warehouseEnv, warehouseSettings } from './lakes.ts'
import { copyWarehouse } from './templates.ts'

export interface TideOptions {
  readonly sandbox?: SandboxOptions
  /** Keys of tidemark.yaml other than `service`. */
  readonly settings?: Record<string, unknown>
  /** Environment variables in addition to the client's secret. */
  readonly env?: Readonly<Record<string, string>>
  readonly observe?: Observe
  /** The clock of a test's own service. */
  readonly clock?: ForwardClock
  readonly onEvent?: (event: ClientEvent) => void
  /** Called after each statement that has written to the warehouse's log. */
  readonly onWrite?: (sql: string) => void
  /** Called before each statement. */
  readonly onStatement?: (sql: string) => void
}

export interface Tide extends AsyncDisposable {
  readonly sandbox: Sandbox
  readonly client: ReportingClient
  readonly warehouse: Warehouse
  readonly config: Config
  readonly context: SyncContext
  /** The sandbox, the client and the runs use this clock. */
  readonly clock: ForwardClock
  /** A failed report fails the test, unless the failure is expected. */
  sync(...reports: ReportName[]): Promise<ReportOutcome[]>
  attempt(...reports: ReportName[]): Promise<ReportOutcome[]>
}

/** Entity 3 of the sandbox's audit trail is events. */
const AUDITED = { entities: [{ entity_id: 3, follows: 'events' }] }

export async function aTide(options: TideOptions = {}): Promise<Tide> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-'))
  const { clock = forwardClock() } = options
  const sandbox = await startSandbox({ rows: 40, clock, ...options.sandbox })
  const config = await configFor(folder, sandbox.url, options)
  const { pageBytesMax } = config.limits
  const limits = { attemptsMax: 4, retryDelayMsMin: 1, retryDelayMsMax: 20, answerBytesMax: pageBytesMax }
  const client = openClient(
    { ...config.service, limits },
    { clock, observe: options.observe, onEvent: options.onEvent },
  )
  if (config.lake === undefined) await copyWarehouse(config.warehouse)
  const warehouse = await Warehouse.open({
    path: config.warehouse,
    lake: config.lake,
    threads: 1,
    memory: config.limits.warehouseMemory,
    around: tellingStatements(`${config.warehouse}.wal`, options),
  })
  const context: SyncContext = {
    client,
    warehouse,
    clock,
    settings: { ...config, ...config.service, identity: identityOf(config.service) },
    onProgress: () => undefined,
    signal: new AbortController().signal,
    observe: options.observe,
  }
  const attempt = (...reports: ReportName[]) => syncAll(context, reports.length === 0 ? reportNames : reports)
  return {
    sandbox,
    client,
    warehouse,
    config,
    context,
    clock,
    attempt,
    sync: async (...reports) => {
      const outcomes = await attempt(...reports)
      for (const { error } of outcomes) if (error !== undefined) throw error
      return outcomes
    },
    [Symbol.asyncDispose]: async () => {
      await client.close()
      await warehouse.close()
      await sandbox.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Opens a Tidemark whose service has empty collections, which halves the processor time of a first run. */
export const aTideWithoutCollections = (options: TideOptions = {}): Promise<Tide> =>
  aTide({ ...options, sandbox: { collections: false, ...options.sandbox } })

function tellingStatements(log: string, { onWrite, onStatement }: TideOptions): AroundStatement | undefined {
  if (onWrite === undefined && onStatement === undefined) return undefined
  const size = () => statSync(log, { throwIfNoEntry: false })?.size ?? 0
  let known = 0
  return async (sql, run) => {
    onStatement?.(sql)
    const result = await run()
    if (size() > known) onWrite?.(sql)
    known = size()
    return result
  }
}

/** JSON is valid YAML. */
async function configFor(folder: string, url: string, { settings = {}, env = {} }: TideOptions): Promise<Config> {
  const yaml = {
    service: { base_url: url, client_id: 'demo' },
    ...(await warehouseSettings(folder)),
    currencies: ['EUR', 'USD'],
    reports: { audit_entries: AUDITED },
    ...settings,
  }
  await writeFile(join(folder, 'tidemark.yaml'), JSON.stringify(yaml))
  return loadConfig({ cwd: folder, env: { REPORTING_CLIENT_SECRET: 'demo-secret', ...warehouseEnv(), ...env } })
}

/** Reads a past window again, into a temporary warehouse, and compares its rows with the published copy. */
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type ReportName, reportOf } from '../../schema/index.ts'
import type { Config } from '../config/config.ts'
import { asSyncError, SyncError } from '../errors.ts'
import { isThere } from '../folders.ts'
import type { Instant } from '../instant.ts'
import { type CompareRequest, type ScopeComparison, verifyReport } from '../sync/verify.ts'
import { type Pause, pauses } from '../warehouse/books/reportStates.ts'
import { attachSql, compareWindow, READER_COPY } from '../warehouse/publish/compareWindow.ts'
import { Warehouse } from '../warehouse/warehouse.ts'
import { clientOf, settingsOf } from '../wiring/openContext.ts'
import { openNewest } from '../wiring/published.ts'
import type { Progress } from './contract.ts'
import type { PlanOptions } from './planBackfills.ts'

export interface VerifyRequest {
  readonly reports: readonly ReportName[]
  /** The start of the compared window. If undefined, the report's configured start. */
  readonly from: Instant | undefined
  /** The end of the compared window. If undefined, the report's high-water mark. */
  readonly to: Instant | undefined
}

/** What `verify` found in one report. */
export interface VerifiedReport {
  readonly report: ReportName
  /** One comparison for each currency. A report without currencies has a single comparison. */
  readonly scopes: readonly ScopeComparison[]
  readonly error?: SyncError
}

export interface VerifyContext extends PlanOptions {
  readonly onProgress: (progress: Progress) => void
}

export async function verifyReports(
  { reports, from, to }: VerifyRequest,
  { config, clock, signal, log, onProgress }: VerifyContext,
): Promise<VerifiedReport[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-verify-'))
  await using closing = new AsyncDisposableStack()
  closing.defer(() => rm(folder, { recursive: true, force: true }))
  const warehouse = closing.use(await openScratch(config, folder))
  const client = closing.use(clientOf(config, { clock, log }))
  const settings = { ...settingsOf(config), staging: path.join(folder, 'staging') }
  const context = { client, warehouse, clock, settings, signal, onProgress }
  const held = await newestPauses(config)
  const verified: VerifiedReport[] = []
  for (const report of reports) {
    signal.throwIfAborted()
    const compare = (window: CompareRequest) => compareWindow(warehouse, { ...window, report: reportOf(report) })
    const markOf = (scope: string) => readMark(warehouse, report, scope)
    const ask = { report, from, to, runId: randomUUID(), markOf, pauses: held, compare }
    const scopes = await verifyReport(context, ask).catch(asSyncError)
    signal.throwIfAborted()
    verified.push(scopes instanceof SyncError ? { report, scopes: [], error: scopes } : { report, scopes })
  }
  return verified
}

async function openScratch({ published, limits, lake }: Config, folder: string): Promise<Warehouse> {
  if (lake === undefined && !isThere(published)) {
    throw new SyncError('WAREHOUSE_MISSING', `there is no published copy ${published} to verify`, {
      cure: 'Run "tidemark sync" first.',
      data: { path: published },
    })
  }
  const { queryMemory: memory, warehouseThreads: threads } = limits
  const settings = { path: path.join(folder, 'scratch.duckdb'), memory, threads }
  const attach = (warehouse: Warehouse) =>
    lake === undefined ? warehouse.rows(attachSql(published)) : warehouse.attachLake(lake, READER_COPY)
  {
    await using made = await Warehouse.open(settings)
    await attach(made)
    // Numbers are stored as text with a random prefix. Without the same prefix, equal numbers would differ.
    await made.rows(`
      UPDATE tidemark.settings SET value = h.value FROM ${READER_COPY}.tidemark.settings h WHERE h.name = settings.name`)
  }
  await using opening = new AsyncDisposableStack()
  const scratch = opening.use(await Warehouse.open(settings))
  await attach(scratch)
  opening.move()
  return scratch
}

async function newestPauses(config: Config): Promise<readonly Pause[]> {
  const newest = await openNewest(config)
  await using database = newest?.database
  return database === undefined ? [] : pauses(database)
}

async function readMark(warehouse: Warehouse, report: ReportName, scope: string): Promise<Instant | undefined> {
  const [row] = await warehouse.rows<{ mark: Instant }>(
    `SELECT epoch_us(value) AS mark FROM ${READER_COPY}.tidemark.marks WHERE report = '${report}' AND scope = '${scope}' AND mark = 'modified_since'`,
  )
  return row?.mark
}

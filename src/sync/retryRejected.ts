/** Loads rejected rows again. Each row keeps the time of its response, so no newer version is overwritten. */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { type ReportName, reportOf } from '../../schema/index.ts'
import type { Declaration } from '../../schema/report.ts'
import { wireKey } from '../../schema/tables.ts'
import { assert, SyncError } from '../errors.ts'
import { catalogOf } from '../staging/catalog.ts'
import { scanPage } from '../staging/scanPage.ts'
import { Spool, type StagedPage } from '../staging/spool.ts'
import { type Instant, minusMs } from '../instant.ts'
import { HEAD_MS_MAX } from '../plan/window.ts'
import type { EntryWindow, RejectedBatch } from '../warehouse/load/loadInput.ts'
import type { RejectedRow } from '../warehouse/load/rejectedRows.ts'
import { type GoneKey, wholeKey } from './intake.ts'
import { followersOf } from './followers.ts'
import { loadRules, privacyTextOf } from './privacy.ts'
import type { SyncContext } from './context.ts'

export interface RetriedReport {
  readonly report: ReportName
  readonly tried: number
  readonly loaded: number
  readonly rejected: number
  /** Rows that can't be loaded again, because only a fingerprint is stored. */
  readonly withheld?: number
}

export type RetryContext = Pick<SyncContext, 'warehouse' | 'clock' | 'signal'> & {
  readonly settings: Pick<SyncContext['settings'], 'reports' | 'staging' | 'hashKey'>
}

const ROWS_A_QUERY = 500
/** A batch ends with the load that brings it to this many rows or more, because all rows of a load are in one batch. */
const ROWS_A_LOAD = 5_000
const TRIES_MAX = 10
const ONE_SEGMENT = { loadRowsMax: Infinity, loadBytesMax: Infinity }

/** Loads a report's rejected rows again. A second retry of the report must not run at the same time. */
export async function retryRejected(context: RetryContext, report: ReportName): Promise<RetriedReport> {
  const kept = async () => {
    const loads = await context.warehouse.books.rejectingLoads(report)
    return { loads, rows: loads.reduce((sum, { rows }) => sum + rows, 0) }
  }
  const storedPrivacyRules = await context.warehouse.books.storedPrivacyRules(report)
  if (storedPrivacyRules.some((text) => text !== privacyTextOf(context.settings, report))) throw privacyChanged(report)
  const before = await kept()
  for (let tries = 1; ; tries += 1) {
    const { loads } = tries === 1 ? before : await kept()
    if (await allLoadedAgain(context, report, { loads, isLast: tries === TRIES_MAX })) break
  }
  const after = await kept()
  const withheld = await context.warehouse.books.withheldRows(report)
  const counts = { tried: before.rows, loaded: before.rows - after.rows, rejected: after.rows }
  return { report, ...counts, ...(withheld > 0 && { withheld }) }
}

interface RejectedLoads {
  readonly loads: readonly { loadId: number; rows: number }[]
  readonly isLast: boolean
}

/** Loads the rejected rows again. Returns false if another load changed their list: then the caller repeats. */
async function allLoadedAgain(context: RetryContext, report: ReportName, { loads, isLast }: RejectedLoads) {
  const changed = new SyncError('UNEXPECTED', `${report}: its rejected rows changed ${TRIES_MAX} times meanwhile`, {
    report,
    cure: 'Run it again: nothing was lost.',
  })
  try {
    for (const batch of batches(loads)) {
      context.signal.throwIfAborted()
      await loadAgain(context, report, { ...batch, errorIfChanged: changed })
    }
    return true
  } catch (error) {
    if (error !== changed || isLast) throw error
    return false
  }
}

/** Rejected rows may contain values that are now private, so they are not loaded. */
const privacyChanged = (report: ReportName): SyncError =>
  new SyncError('USAGE_INVALID', `${report}: columns, exclude_payload or the hash key changed since its last sync`, {
    report,
    cure: `Run "tidemark sync ${report}" first: it forgets the rows that were refused before and reads them again.`,
  })

function batches(loads: RejectedLoads['loads']): Omit<RejectedBatch, 'errorIfChanged'>[] {
  const found: { loadIds: number[]; rows: number }[] = []
  for (const { loadId, rows } of loads) {
    const last = found.at(-1)
    if (last === undefined || last.rows >= ROWS_A_LOAD) found.push({ loadIds: [loadId], rows })
    else {
      last.loadIds.push(loadId)
      last.rows += rows
    }
  }
  return found
}

async function loadAgain(context: RetryContext, report: ReportName, batch: RejectedBatch): Promise<void> {
  const { warehouse, settings, clock } = context
  const declaration = reportOf(report)
  const { answer, deletedFlag: flag } = declaration
  const runId = randomUUID()
  const catalog = catalogOf(declaration)
  const plan = { answer, key: wireKey(declaration), flag, catalog, numberPrefix: warehouse.numberPrefix }
  await using spool = new Spool(join(settings.staging, `retry-${runId}`), catalog, ONE_SEGMENT)
  const asked = new Map<string, StagedPage['asked']>()
  const gone = new Map<string, GoneKey>()
  let read = 0
  for (let offset = 0; offset < batch.rows; offset += ROWS_A_QUERY) {
    const rows = await warehouse.books.rejectedRows({ report, loadIds: batch.loadIds, offset, limit: ROWS_A_QUERY })
    read += rows.length
    // Rows with the same scope and time form one page, as in the response that contained them.
    for (const page of Map.groupBy(rows, ({ scope, observedAt }) => `${observedAt} ${scope}`).values()) {
      const [{ scope, observedAt }] = page as [RejectedRow]
      const times = { observedAt, askedAt: minusMs(observedAt, HEAD_MS_MAX) }
      const columns = asked.get(scope) ?? columnsOf(declaration, scope)
      asked.set(scope, columns)
      await spool.add(scanPage(pageBytes(declaration, page), plan), times, columns)
    }
    // Rows are ordered by time. If a key has several rows, the last one decides whether the key is deleted.
    for (const { scope, key, isGone } of rows) {
      if (key !== null && isGone) gone.set(`${scope} ${key}`, wholeKey(declaration, key, scope))
      else gone.delete(`${scope} ${key}`)
    }
  }
  // If other loads have removed rejected rows meanwhile, reading by offset has missed some. The batch is not loaded.
  if (read !== batch.rows) throw batch.errorIfChanged
  const [segment, ...more] = await spool.takeRest()
  assert(segment !== undefined && more.length === 0, 'kept rows make one segment')
  await warehouse.load({
    kind: 'retry',
    report: declaration,
    runId,
    now: clock.now(),
    segment,
    followers: followersOf(report, settings.reports),
    entryWindows: declaration.perRecord && [...asked.values()].map((columns) => emptyWindow(declaration, columns)),
    gone: declaration.includeDeleted === undefined ? undefined : [...gone.values()],
    rules: loadRules(settings.reports[report]),
    batch,
  })
}

function columnsOf({ asked }: Declaration, scope: string): StagedPage['asked'] {
  const values = scope.split(':')
  return Object.fromEntries(asked.map(({ column }, n) => [column, values[n] ?? '']))
}

/** Covers no time, so that the load deletes none of the record's stored entries. */
const emptyWindow = ({ asked }: Declaration, columns: StagedPage['asked']): EntryWindow => ({
  record: asked.map(({ column }) => columns[column] ?? ''),
  since: 1 as Instant,
  until: 0 as Instant,
})

function pageBytes({ answer }: Declaration, rows: readonly RejectedRow[]): Buffer {
  const items = `[${rows.map(({ row }) => row).join(',')}]`
  return Buffer.from(answer === 'array' ? items : `{"items":${items}}`)
}

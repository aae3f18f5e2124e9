/** Loads rejected rows again. Each row keeps the time of its response, so a newer stored version is not overwritten. */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { type ReportName, reportOf } from '../../schema/index.ts'
import type { Declaration } from '../../schema/report.ts'
import { wireKey } from '../../schema/tables.ts'
import { assert, SyncError } from '../errors.ts'
import { catalogOf } from '../staging/catalog.ts'
import { scanPage, type ScanPlan } from '../staging/scanPage.ts'
import { type Segment, Spool, type StagedPage } from '../staging/spool.ts'
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
  /** Number of rejected rows that can't be loaded again, because only a fingerprint is stored. Undefined means 0. */
  readonly withheld?: number
}

export type RetryContext = Pick<SyncContext, 'warehouse' | 'clock' | 'signal'> & {
  readonly settings: Pick<SyncContext['settings'], 'reports' | 'staging' | 'hashKey'>
}

/** One query reads at most this many rejected rows, so a page of staged rows never has more. */
const ROWS_AT_ONCE = 500
/** After this many rows, rows of the next load go to a new batch. Rows of one load stay together. */
const ROWS_A_LOAD = 5_000
const TRIES_MAX = 10

/** Loads the rejected rows of a report again. Other loads may run meanwhile, but not a second retry of the report. */
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

/** Returns whether all rows were loaded. If other loads have removed some rows, the caller must list the rows again. */
async function allLoadedAgain(
  context: RetryContext,
  report: ReportName,
  { loads, isLast }: RejectedLoads,
): Promise<boolean> {
  const moved = new SyncError('UNEXPECTED', `${report}: its rejected rows changed ${TRIES_MAX} times meanwhile`, {
    report,
    cure: 'Run it again: nothing was lost.',
  })
  try {
    for (const batch of batches(loads)) {
      context.signal.throwIfAborted()
      await loadAgain(context, report, { ...batch, moved })
    }
    return true
  } catch (error) {
    if (error !== moved || isLast) throw error
    return false
  }
}

/** The privacy settings have changed. Under the current ones, some values of the rejected rows may be private. */
const privacyChanged = (report: ReportName): SyncError =>
  new SyncError('USAGE_INVALID', `${report}: columns, exclude_payload or the hash key changed since its last sync`, {
    report,
    cure: `Run "tidemark sync ${report}" first: it forgets the rows that were refused before and reads them again.`,
  })

function batches(loads: RejectedLoads['loads']): Omit<RejectedBatch, 'moved'>[] {
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
  const runId = randomUUID()
  await using staging = new Restaging(join(settings.staging, `retry-${runId}`), declaration, warehouse.numberMark)
  let read = 0
  for (let offset = 0; offset < batch.rows; offset += ROWS_AT_ONCE) {
    const { loadIds } = batch
    const rows = await warehouse.books.rejectedRows({ report, loadIds, offset, limit: ROWS_AT_ONCE })
    await staging.add(rows)
    read += rows.length
  }
  // Other loads have removed rejected rows meanwhile, so a query with an offset has skipped some rows.
  if (read !== batch.rows) throw batch.moved
  await warehouse.load({
    kind: 'retry',
    report: declaration,
    runId,
    now: clock.now(),
    segment: await staging.segment(),
    followers: followersOf(report, settings.reports),
    ...(declaration.perRecord === undefined ? {} : { entryWindows: staging.records() }),
    ...(declaration.includeDeleted !== undefined ? { gone: staging.goneKeys() } : {}),
    rules: loadRules(settings.reports[report]),
    batch,
  })
}

class Restaging implements AsyncDisposable {
  readonly #report: Declaration
  readonly #plan: ScanPlan
  readonly #spool: Spool
  readonly #asked = new Map<string, StagedPage['asked']>()
  readonly #gone = new Map<string, GoneKey>()

  constructor(directory: string, report: Declaration, numberMark: string) {
    const catalog = catalogOf(report)
    this.#report = report
    this.#plan = { answer: report.answer, key: wireKey(report), flag: report.deletedFlag, catalog, numberMark }
    const unbounded = { loadRowsMax: Number.POSITIVE_INFINITY, loadBytesMax: Number.POSITIVE_INFINITY }
    this.#spool = new Spool(directory, catalog, unbounded)
  }

  /** Adds rows. Rows with the same scope and time form one page, as in the response that contained them. */
  async add(rows: readonly RejectedRow[]): Promise<void> {
    for (const page of Map.groupBy(rows, ({ scope, observedAt }) => `${observedAt} ${scope}`).values()) {
      const [{ scope, observedAt }] = page as [RejectedRow]
      const bytes = pageBytes(this.#report, page)
      const times = { observedAt, askedAt: minusMs(observedAt, HEAD_MS_MAX) }
      await this.#spool.add(scanPage(bytes, this.#plan), times, this.#askedIn(scope))
    }
    // Rows are ordered by time. If a key has several rows, the last one decides whether the key is deleted.
    for (const { scope, key, isGone } of rows) {
      if (key !== null && isGone) this.#gone.set(`${scope} ${key}`, wholeKey(this.#report, key, scope))
      else this.#gone.delete(`${scope} ${key}`)
    }
  }

  async segment(): Promise<Segment> {
    const [segment, ...more] = await this.#spool.takeRest()
    assert(segment !== undefined && more.length === 0, 'kept rows make one segment')
    return segment
  }

  /** Returns the keys of the rows that were already deleted at the service when they were rejected. */
  goneKeys(): readonly GoneKey[] {
    return [...this.#gone.values()]
  }

  /** Returns one empty window per audited record. Because it is empty, the load deletes no stored entry. */
  records(): EntryWindow[] {
    const nothing = { since: 1 as Instant, until: 0 as Instant }
    return [...this.#asked.values()].map((asked) => ({
      record: this.#report.asked.map(({ column }) => asked[column] ?? ''),
      ...nothing,
    }))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#spool[Symbol.asyncDispose]()
  }

  #askedIn(scope: string): StagedPage['asked'] {
    const known = this.#asked.get(scope)
    if (known !== undefined) return known
    const values = scope.split(':')
    const asked = Object.fromEntries(this.#report.asked.map(({ column }, n) => [column, values[n] ?? '']))
    this.#asked.set(scope, asked)
    return asked
  }
}

function pageBytes({ answer }: Declaration, rows: readonly RejectedRow[]): Buffer {
  const items = `[${rows.map(({ row }) => row).join(',')}]`
  return Buffer.from(answer === 'array' ? items : `{"items":${items}}`)
}

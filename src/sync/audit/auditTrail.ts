/** Runs an audit report: reads the entries of each record that has changed, such as an enquiry. */
import { type ReportName, reportOf } from '../../../schema/index.ts'
import type { Declaration } from '../../../schema/report.ts'
import type { ReportConfig } from '../../config/config.ts'
import { assert, type ErrorCode, SyncError } from '../../errors.ts'
import { earliest, type Instant, millisBetween } from '../../instant.ts'
import { type Coverage, nextCoverage, type ReadSettings } from '../../plan/coverage.ts'
import { markNamesOf } from '../../plan/marks.ts'
import { NO_RUN_COUNTS } from '../../plan/runCounts.ts'
import { type PagingProfile, UNKNOWN_PAGING } from '../../plan/pagingProfile.ts'
import type { RecordParameters } from '../../plan/question.ts'
import { WALK_POLICIES } from '../../plan/slice.ts'
import { type PreviousRun, NO_PREVIOUS_RUN, markAfter, nextWindow } from '../../plan/window.ts'
import type { DueRecord } from '../../warehouse/books/auditRecords.ts'
import { eachConcurrently } from '../concurrently.ts'
import { type SyncContext, withFence } from '../context.ts'
import { Intake, type ProvenWindow } from '../intake.ts'
import { type FetchedPage, PageSource } from '../walk/pageSource.ts'
import { readSettingsOf } from '../privacy.ts'
import { proveSlice } from '../walk/proveSlice.ts'
import { readServiceTime } from '../walk/serviceTime.ts'
import type { SliceSource } from '../walk/walkPages.ts'
import type { ReportRun } from '../syncReport.ts'

/** Limits the size of a load's transaction, because each record adds a window and a mark. */
const RECORDS_A_LOAD_MAX = 2_000
/** One run reads at most this many trails again, so that runs stay short. */
const TRAILS_AGAIN_MAX = 2_000
/** After this many failures and no success, the run checks whether the service can return any trail at all. */
const FAILED_BEFORE_TEST = 20
/** After these errors, the run skips the record. */
const ERRORS_OF_ONE_RECORD: readonly ErrorCode[] = [
  'REPORT_FORBIDDEN',
  'REQUEST_INVALID',
  'STATUS_UNEXPECTED',
  'ANSWER_MALFORMED',
  'WALK_UNSTABLE',
]

/** A report whose rows have audit trails. Example: events are entity 3, so the trail of row 17 has the scope `3:17`. */
interface FollowedReport {
  readonly follows: ReportName
  readonly scopePrefix: string
  readonly record: (recordId: string) => RecordParameters
}

/** Runs the report, and skips records that the service refuses. Throws if no record can be read. */
export async function syncAudit(given: SyncContext, report: ReportName, runId: string): Promise<ReportRun> {
  const declaration = reportOf(report)
  const startedAt = given.clock.now()
  const context = await withFence(given, { report, kind: 'incremental', holder: runId })
  await using intake = new Intake(context, { report: declaration, runId, reason: { kind: 'audit' } })
  const trails = new TrailReader(context, declaration, intake)
  const followed = followedReports(report, context.settings.reports[report])
  const refills = await openAuditCoverage(context, report, followed)
  for (const each of followed) await trails.readDue(each, refills.get(each.scopePrefix))
  for (const each of followed) await trails.readAgain(each, refills.get(each.scopePrefix))
  await trails.finish({ runId, report, startedAt })
  return { runId, report, startedAt, pages: trails.pages, figures: intake.figures }
}

function followedReports(report: ReportName, config: ReportConfig): FollowedReport[] {
  if (reportOf(report).perRecord?.follows === 'enquiries') {
    return [{ follows: 'enquiries', scopePrefix: '', record: (recordId) => ({ enquiryId: recordId }) }]
  }
  return config.entities.map(({ entityId, follows }) => ({
    follows,
    scopePrefix: `${entityId}:`,
    record: (recordId) => ({ entityId, entityRecordId: recordId }),
  }))
}

interface TrailRefill {
  /** Trails that were last read at this time or earlier must be read again. */
  readonly askedUntil: Instant
  readonly done: () => Promise<void>
}

/** Stores each entity's settings. Returns which trails to read again, for each entity by its prefix (`3:` or ''). */
async function openAuditCoverage(context: SyncContext, report: ReportName, followed: readonly FollowedReport[]) {
  const { warehouse, settings, fence } = context
  const wanted = readSettingsOf(settings, report)
  const refills = new Map<string, TrailRefill>()
  const prefixes = followed.map(({ scopePrefix }) => scopePrefix)
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

function auditCoverage(stored: Coverage | undefined, wanted: ReadSettings, askedUntil: Instant | undefined): Coverage {
  const isBack = stored === undefined && askedUntil !== undefined
  if (isBack) return { settings: wanted, refillUntil: askedUntil, because: ['entities'] }
  const next = nextCoverage(stored, wanted, askedUntil)
  // Stores the configured `start` even if an earlier one was read, because trails of new records are read from there.
  return next.settings.start === wanted.start ? next : { ...next, settings: wanted }
}

/** Reads the audit trails of the records that are due in one run. */
class TrailReader {
  pages = 0
  readonly #context: SyncContext
  readonly #declaration: Declaration
  readonly #intake: Intake
  readonly #config: ReportConfig
  /** Trails are added one by one, so that no load contains half a trail. */
  #adding: Promise<void> = Promise.resolve()
  #rows = 0
  readonly #requested = new Set<string>()
  readonly #failed = new Map<string, SyncError>()
  readonly #followed = new Set<FollowedReport>()
  #isAnyRead = false
  /** The number of the first page. Undefined until a trail of several pages has been read. */
  #firstNumber: PagingProfile['firstNumber']

  constructor(context: SyncContext, declaration: Declaration, intake: Intake) {
    this.#context = context
    this.#declaration = declaration
    this.#intake = intake
    this.#config = context.settings.reports[declaration.name as ReportName]
  }

  async readDue(followed: FollowedReport, refill: TrailRefill | undefined): Promise<void> {
    this.#followed.add(followed)
    const { dueRecords } = this.#context.warehouse.books
    await this.#readTrails(followed, await dueRecords(this.#recordsOf(followed, refill?.askedUntil)))
  }

  async readAgain(followed: FollowedReport, refill: TrailRefill | undefined): Promise<void> {
    if (refill === undefined) return
    await this.#intake.commit()
    const request = { ...this.#recordsOf(followed), again: refill.askedUntil, limit: TRAILS_AGAIN_MAX }
    const records = await this.#context.warehouse.books.recordsToReadAgain(request)
    const unread = records.filter(({ scope }) => !this.#requested.has(scope))
    await this.#readTrails(followed, unread)
    await this.#intake.commit()
    const isLast = records.length < TRAILS_AGAIN_MAX
    if (isLast && records.every(({ scope, waitsForRetry }) => !waitsForRetry && !this.#failed.has(scope)))
      await refill.done()
  }

  async finish({ runId, report, startedAt }: Pick<ReportRun, 'runId' | 'report' | 'startedAt'>): Promise<void> {
    if (this.#failed.size > 0) await this.#skipFailed(report)
    const counts = { ...NO_RUN_COUNTS, pages: this.pages, rows: this.#rows }
    const endedAt = this.#context.clock.now()
    await this.#intake.commit({ runId, report, kind: 'incremental', state: 'done', startedAt, endedAt, ...counts })
  }

  async #readTrails(followed: FollowedReport, records: readonly DueRecord[]): Promise<void> {
    const due = records.filter(({ waitsForRetry }) => !waitsForRetry)
    for (let from = 0; from < due.length; from += RECORDS_A_LOAD_MAX) {
      const some = due.slice(from, from + RECORDS_A_LOAD_MAX)
      await eachConcurrently(some, this.#context.settings.concurrency, async (record) => {
        const error = await this.#readTrail(followed, record)
        if (error === undefined) return
        this.#failed.set(record.scope, error)
        if (!this.#isAnyRead && this.#failed.size >= FAILED_BEFORE_TEST) await this.#checkAnyReadable()
      })
      if (from + RECORDS_A_LOAD_MAX < due.length) await this.#intake.commit()
    }
  }

  /** Returns the error if it concerns only this record. Throws any other error. */
  async #readTrail(followed: FollowedReport, due: DueRecord): Promise<SyncError | undefined> {
    this.#requested.add(due.scope)
    try {
      await this.#proveTrail(due, followed.record(due.recordId))
      return undefined
    } catch (error) {
      if (error instanceof SyncError && ERRORS_OF_ONE_RECORD.includes(error.code)) return error
      throw error
    }
  }

  async #proveTrail(due: DueRecord, record: RecordParameters): Promise<void> {
    const report = this.#declaration
    const { pageSize, expand, settleMs, start } = this.#config
    const serviceTime = await readServiceTime(this.#context, report, { record })
    const window = nextWindow(this.#previousRun(due), serviceTime, { ...this.#config, sinceRequired: true })
    const span = { since: window.since ?? start, until: window.until }
    const profile = { ...UNKNOWN_PAGING, firstNumber: this.#firstNumber }
    const pages = new PageSource(this.#context, { report, pageSize, catalog: this.#intake.catalog, profile })
    // The entries stay in memory until they are proven, so that no load contains half a trail.
    let entries: FetchedPage[] = []
    const source: SliceSource = {
      pages,
      question: { expand, filters: {}, record },
      timeFilter: 'window',
      policy: WALK_POLICIES.audit,
      settings: pages.walkSettings(serviceTime),
      rows: { add: async (page) => void entries.push(page), drop: async () => void (entries = []) },
      concurrency: 1,
      observe: this.#context.observe,
    }
    const proven = await proveSlice(source, { span })
    assert(proven.kind === 'proven', 'a walk that is never cut ends proven or in an error')
    this.#isAnyRead = true
    this.#firstNumber ??= pages.profile.firstNumber
    this.pages += pages.pagesRead
    const readAt = earliest(serviceTime, pages.firstServedAt ?? serviceTime)
    const bounds = { since: span.since, until: earliest(span.until, readAt) }
    const value = markAfter(due.mark, { ...bounds, serviceTime: readAt }, settleMs)
    const { rows, totalCount, proof } = proven
    const marks = markNamesOf(report).map((mark) => ({ mark, value }))
    const trail = {
      window: { scope: due.scope, ...bounds, proof, pages: pages.pagesRead, rows, totalCount, marks },
      entries: { record: Object.values(record), ...span },
      audited: { scope: due.scope, at: readAt },
    }
    this.#adding = this.#adding.then(() => this.#addTrail(entries, trail))
    await this.#adding
  }

  async #addTrail(pages: readonly FetchedPage[], trail: Required<Omit<ProvenWindow, 'gone' | 'reached'>>) {
    const values = trail.entries.record
    const columns = Object.fromEntries(this.#declaration.asked.map(({ column }, n) => [column, values[n] ?? '']))
    for (const page of pages) await this.#intake.add(page, columns)
    this.#rows += trail.window.rows
    await this.#intake.close(trail)
    this.#context.onProgress({ report: this.#config.name, pages: this.pages, rows: this.#rows })
  }

  async #skipFailed(report: ReportName): Promise<void> {
    const { warehouse, clock, fence } = this.#context
    await this.#intake.commit()
    await this.#checkAnyReadable()
    const skipped = [...this.#failed].map(([scope, { code, message }]) => ({ scope, code, reason: message }))
    await warehouse.recordSkipped({ report, now: clock.now(), fence }, skipped)
  }

  /** Tries records that earlier runs have read. Throws if the service refuses those, too. */
  async #checkAnyReadable(): Promise<void> {
    for (const followed of this.#followed) {
      if (this.#isAnyRead) return
      const other = await this.#context.warehouse.books.lastReadRecord(this.#recordsOf(followed))
      if (other !== undefined && !this.#requested.has(other.scope)) await this.#readTrail(followed, other)
    }
    const errors = [...this.#failed.values()]
    if (!this.#isAnyRead) throw errors.find(({ code }) => code === 'REPORT_FORBIDDEN') ?? errors[0]
  }

  #recordsOf({ follows, scopePrefix }: FollowedReport, again?: Instant) {
    const report = this.#declaration.name as ReportName
    const now = this.#context.clock.now()
    return { report, follows, keyColumn: reportOf(follows).key[0] ?? '', scopePrefix, again, now }
  }

  #previousRun({ mark, askedAt, begunAt, fromStart }: DueRecord): PreviousRun {
    if (fromStart) return NO_PREVIOUS_RUN
    return { mark, until: askedAt, elapsedMs: begunAt && millisBetween(begunAt, this.#context.clock.now()) }
  }
}

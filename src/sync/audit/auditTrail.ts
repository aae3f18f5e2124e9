/** Executes one run of an audit report: reads the entries of each record that has changed since its trail was read. */
import { type ReportName, reportOf } from '../../../schema/index.ts'
import type { Declaration } from '../../../schema/report.ts'
import type { ReportConfig } from '../../config/config.ts'
import { assert, type ErrorCode, SyncError } from '../../errors.ts'
import { earliest, type Instant, millisBetween } from '../../instant.ts'
import { marksOf } from '../../plan/marks.ts'
import { NO_RUN_COUNTS } from '../../plan/runCounts.ts'
import { type PagingProfile, UNKNOWN_PAGING } from '../../plan/pagingProfile.ts'
import type { RecordParameters } from '../../plan/question.ts'
import { type Span, youngFrom } from '../../plan/spans.ts'
import { WALK_POLICIES } from '../../plan/slice.ts'
import { type Before, FIRST, markAfter, nextWindow } from '../../plan/window.ts'
import type { DueRecord } from '../../warehouse/books/auditRecords.ts'
import { type TrailRefill, openAuditCoverage } from './auditCoverage.ts'
import { eachBounded } from '../walk/bounded.ts'
import { type SyncContext, withFence } from '../context.ts'
import { Intake } from '../intake.ts'
import { type FetchedPage, PageSource } from '../walk/pageSource.ts'
import { type ProvenRows, proveSlice } from '../walk/proveSlice.ts'
import { serviceClock } from '../walk/serviceClock.ts'
import type { RowSink } from '../walk/walkPages.ts'
import type { ReportRun } from '../syncReport.ts'

/** Each record adds a window and a mark to its load. */
const RECORDS_A_LOAD_MAX = 2_000
/** After a change of the configuration, one run reads at most this many trails again, so that runs stay short. */
const TRAILS_AGAIN_MAX = 2_000
/** After this many failed records without any success, the run tests whether any trail can be read. */
const FAILED_BEFORE_TEST = 20
/** These errors may concern only the requested record. After such an error, the run skips the record. */
const ERRORS_OF_ONE_RECORD: readonly ErrorCode[] = [
  'REPORT_FORBIDDEN',
  'REQUEST_INVALID',
  'STATUS_UNEXPECTED',
  'ANSWER_MALFORMED',
  'WALK_UNSTABLE',
]

interface Subject {
  readonly follows: ReportName
  readonly scopePrefix: string
  readonly record: (recordId: string) => RecordParameters
}

/** Runs the report. A record that the service refuses is skipped. If no record can be read, an error is thrown. */
export async function syncAudit(given: SyncContext, report: ReportName, runId: string): Promise<ReportRun> {
  const declaration = reportOf(report)
  const startedAt = given.clock.now()
  const context = await withFence(given, { report, kind: 'incremental', holder: runId })
  await using intake = new Intake(context, { report: declaration, runId, source: { kind: 'audit' } })
  const trail = new Trail(context, { declaration, intake })
  const subjects = subjectsOf(report, context.settings.reports[report])
  const coverage = await openAuditCoverage(context, report, subjects)
  for (const subject of subjects) await trail.follow(subject, coverage.get(subject.scopePrefix))
  for (const subject of subjects) await trail.readAgain(subject, coverage.get(subject.scopePrefix))
  const { pages } = trail
  await trail.finish({ runId, report, startedAt })
  return { runId, report, startedAt, pages, figures: intake.figures }
}

function subjectsOf(report: ReportName, config: ReportConfig): Subject[] {
  if (reportOf(report).perRecord?.follows === 'enquiries') {
    return [{ follows: 'enquiries', scopePrefix: '', record: (recordId) => ({ enquiryId: recordId }) }]
  }
  return config.entities.map(({ entityId, follows }) => ({
    follows,
    scopePrefix: `${entityId}:`,
    record: (recordId) => ({ entityId, entityRecordId: recordId }),
  }))
}

class Trail {
  pages = 0
  readonly #context: SyncContext
  readonly #declaration: Declaration
  readonly #intake: Intake
  readonly #config: ReportConfig
  /** Records are added one by one, so that no load contains half a trail. */
  #adding: Promise<void> = Promise.resolve()
  #rows = 0
  readonly #asked = new Set<string>()
  readonly #failed = new Map<string, SyncError>()
  readonly #followed = new Set<Subject>()
  #isAnyRead = false
  /** Number of the first page (0 or 1). Undefined until a record with several pages has shown it. */
  #firstNumber: PagingProfile['firstNumber']

  constructor(context: SyncContext, { declaration, intake }: { declaration: Declaration; intake: Intake }) {
    this.#context = context
    this.#declaration = declaration
    this.#intake = intake
    this.#config = context.settings.reports[declaration.name as ReportName]
  }

  async follow(subject: Subject, again: TrailRefill | undefined): Promise<void> {
    this.#followed.add(subject)
    const { dueRecords } = this.#context.warehouse.books
    await this.#readTrails(subject, await dueRecords(this.#recordsOf(subject, again?.askedUntil)))
  }

  /** Reads at most `TRAILS_AGAIN_MAX` of the trails to read again. After the last trail, calls `again.done()`. */
  async readAgain(subject: Subject, again: TrailRefill | undefined): Promise<void> {
    if (again === undefined) return
    await this.#intake.commit()
    const ask = { ...this.#recordsOf(subject), again: again.askedUntil, limit: TRAILS_AGAIN_MAX }
    const records = await this.#context.warehouse.books.recordsToReadAgain(ask)
    await this.#readTrails(
      subject,
      records.filter(({ scope }) => !this.#asked.has(scope)),
    )
    await this.#intake.commit()
    const isLast = records.length < TRAILS_AGAIN_MAX
    if (isLast && records.every(({ scope, waits }) => !waits && !this.#failed.has(scope))) await again.done()
  }

  #recordsOf({ follows, scopePrefix }: Subject, again?: Instant) {
    const report = this.#declaration.name as ReportName
    const now = this.#context.clock.now()
    return { report, follows, keyColumn: reportOf(follows).key[0] ?? '', scopePrefix, again, now }
  }

  async #readTrails(subject: Subject, records: readonly DueRecord[]): Promise<void> {
    const due = records.filter(({ waits }) => !waits)
    for (let from = 0; from < due.length; from += RECORDS_A_LOAD_MAX) {
      const some = due.slice(from, from + RECORDS_A_LOAD_MAX)
      await eachBounded(some, this.#context.settings.concurrency, (record) => this.#readTrail(subject, record))
      if (from + RECORDS_A_LOAD_MAX < due.length) await this.#intake.commit()
    }
  }

  async finish({ runId, report, startedAt }: Pick<ReportRun, 'runId' | 'report' | 'startedAt'>): Promise<void> {
    if (this.#failed.size > 0) await this.#skipFailed(report)
    const counts = { ...NO_RUN_COUNTS, pages: this.pages, rows: this.#rows }
    const endedAt = this.#context.clock.now()
    // `commit` adds the counts of all loads of this run.
    await this.#intake.commit({ runId, report, kind: 'incremental', state: 'done', startedAt, endedAt, ...counts })
  }

  async #skipFailed(report: ReportName): Promise<void> {
    const { warehouse, clock, fence } = this.#context
    await this.#intake.commit()
    await this.#checkAnyReadable()
    const skipped = [...this.#failed].map(([scope, { code, message }]) => ({ scope, code, reason: message }))
    await warehouse.recordSkipped({ report, now: clock.now(), fence }, skipped)
  }

  /** If no record was read, tries records that earlier runs have read. Throws an error if none can be read. */
  async #checkAnyReadable(): Promise<void> {
    for (const subject of this.#followed) {
      if (this.#isAnyRead) return
      const other = await this.#context.warehouse.books.lastReadRecord(this.#recordsOf(subject))
      if (other !== undefined && !this.#asked.has(other.scope)) await this.#readTrail(subject, other, false)
    }
    const errors = [...this.#failed.values()]
    if (!this.#isAnyRead) throw errors.find(({ code }) => code === 'REPORT_FORBIDDEN') ?? errors[0]
  }

  async #readTrail(subject: Subject, due: DueRecord, maySkip = true): Promise<void> {
    const record = subject.record(due.recordId)
    this.#asked.add(due.scope)
    try {
      const clock = await serviceClock(this.#context, this.#declaration, { record })
      const { since = this.#config.start, until } = nextWindow(this.#previousWindow(due), clock, {
        ...this.#config,
        sinceRequired: true,
      })
      const span = { since, until }
      const read = await this.#prove(record, span, clock)
      this.#isAnyRead = true
      const taken = { due, record, span, readAt: earliest(clock, read.firstServedAt), ...read }
      this.#adding = this.#adding.then(() => this.#addTrail(taken))
      await this.#adding
    } catch (error) {
      if (!(error instanceof SyncError) || !ERRORS_OF_ONE_RECORD.includes(error.code)) throw error
      if (!maySkip) return
      this.#failed.set(due.scope, error)
      if (!this.#isAnyRead && this.#failed.size >= FAILED_BEFORE_TEST) await this.#checkAnyReadable()
    }
  }

  #previousWindow({ mark, askedAt, begunAt, fromStart }: DueRecord): Before {
    if (fromStart) return FIRST
    return { mark, until: askedAt, sincePreviousRunMs: begunAt && millisBetween(begunAt, this.#context.clock.now()) }
  }

  async #prove(record: RecordParameters, span: RecordSpan, clock: Instant): Promise<RecordRead> {
    const { settings, observe } = this.#context
    const { pageSize, expand, overlapMs, start } = this.#config
    const profile = { ...UNKNOWN_PAGING, firstNumber: this.#firstNumber }
    const { catalog } = this.#intake
    const plan = { report: this.#declaration, pageSize, catalog, profile, forbidsOnlyRecord: true }
    const pages = new PageSource(this.#context, plan)
    const { answer } = this.#declaration
    const { keyed } = pages
    const terms = { answer, keyed, pageSize, youngFrom: youngFrom(clock, overlapMs), floor: start, ...settings.limits }
    const question = { expand, filters: {}, record }
    const rows = new RecordPages()
    const outcome = await proveSlice(
      { pages, question, axis: 'window', policy: WALK_POLICIES.audit, terms, rows, concurrency: 1, observe },
      { span },
    )
    assert(outcome.kind === 'proven', 'a walk that is never cut ends proven or in an error')
    this.#firstNumber ??= pages.profile.firstNumber
    this.pages += pages.pages
    return { proven: outcome, pages: rows.pages, asked: pages.pages, firstServedAt: pages.firstServedAt ?? clock }
  }

  async #addTrail({ due, record, span, readAt, proven, pages, asked }: CollectedTrail): Promise<void> {
    const values = Object.values(record)
    const columns = Object.fromEntries(this.#declaration.asked.map(({ column }, n) => [column, values[n] ?? '']))
    for (const page of pages) await this.#intake.add(page, columns)
    this.#rows += proven.rows
    const until = earliest(span.until, readAt)
    const value = markAfter(due.mark, { ...span, until, clock: readAt }, this.#config.settleMs)
    const { rows, totalCount, proof } = proven
    const marks = marksOf(this.#declaration).map((mark) => ({ mark, value }))
    await this.#intake.close({
      window: { scope: due.scope, since: span.since, until, proof, pages: asked, rows, totalCount, marks },
      entries: { record: values, ...span },
      audited: { scope: due.scope, at: readAt },
    })
    const report = this.#declaration.name as ReportName
    this.#context.onProgress({ report, pages: this.pages, rows: this.#rows })
  }
}

/** Keeps a record's entries in memory until they are proven complete. Otherwise a load could contain half a trail. */
class RecordPages implements RowSink {
  pages: FetchedPage[] = []

  async begin(): Promise<void> {}

  async add(page: FetchedPage): Promise<void> {
    this.pages.push(page)
  }

  async drop(): Promise<void> {
    this.pages = []
  }
}

interface RecordSpan extends Span {
  readonly since: Instant
}

interface RecordRead {
  readonly proven: ProvenRows
  readonly pages: readonly FetchedPage[]
  /** Number of requested pages, including those of repeated walks. */
  readonly asked: number
  readonly firstServedAt: Instant
}

interface CollectedTrail extends RecordRead {
  readonly due: DueRecord
  readonly record: RecordParameters
  readonly span: RecordSpan
  readonly readAt: Instant
}

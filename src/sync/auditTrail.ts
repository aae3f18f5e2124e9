/**
 * One run of an audit report: asks record by record, only about records that changed since they were last asked, and
 * replaces exactly the entries of the window that was read. Many records share a load; each has its own mark.
 */
import { type ReportName, reportOf } from '../../schema/index.ts'
import type { Declaration } from '../../schema/report.ts'
import type { ReportConfig } from '../config/config.ts'
import { SyncError } from '../errors.ts'
import { earliest, type Instant, minusMs, plusMs } from '../instant.ts'
import { CLOCK_GRAIN_MS, markAfter } from '../plan/window.ts'
import type { ScannedPage } from '../staging/scanPage.ts'
import type { ClosedWindow } from '../warehouse/books.ts'
import type { EntryWindow } from '../warehouse/load.ts'
import type { DueRecord } from '../warehouse/warehouse.ts'
import { eachBounded } from './bounded.ts'
import { Intake } from './intake.ts'
import type { Rooms } from './rooms.ts'
import { serviceClock } from './serviceClock.ts'
import type { ReportRun } from './syncReport.ts'
import { type Walked, walk } from './walk.ts'

/** Records whose entries one load takes in at most; their windows and marks go with it. */
const RECORDS_A_LOAD_MAX = 2_000

/** A followed report, and how its records are asked about. */
interface Subject {
  readonly follows: ReportName
  readonly scopePrefix: string
  /** The request's parameters for one record; their order is that of the report's asked columns. */
  readonly record: (recordId: number) => Readonly<Record<string, number>>
}

interface Asked {
  readonly due: DueRecord
  readonly subject: Subject
  readonly window: EntryWindow
  readonly closed: ClosedWindow
  readonly at: Instant
}

/** Errors of single records (403) don't stop the others; they are counted and told at the end. */
export async function syncAudit(rooms: Rooms, report: ReportName, runId: string): Promise<ReportRun> {
  const declaration = reportOf(report)
  const startedAt = rooms.clock.now()
  await using intake = new Intake(rooms, { report: declaration, runId, followers: [], loadsAsItGoes: false })
  const trail = new Trail(rooms, { declaration, intake })
  for (const subject of subjectsOf(report, rooms.settings.reports[report])) await trail.follow(subject)
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
  readonly #rooms: Rooms
  readonly #declaration: Declaration
  readonly #intake: Intake
  readonly #config: ReportConfig
  #asked: Asked[] = []
  #rows = 0
  #forbidden = 0

  constructor(rooms: Rooms, { declaration, intake }: { declaration: Declaration; intake: Intake }) {
    this.#rooms = rooms
    this.#declaration = declaration
    this.#intake = intake
    this.#config = rooms.settings.reports[declaration.name as ReportName]
  }

  /** Asks about every record of the followed report that is due, in loads of a bounded number of records. */
  async follow(subject: Subject): Promise<void> {
    const due = await this.#rooms.warehouse.dueRecords({
      report: this.#declaration.name as ReportName,
      follows: subject.follows,
      keyColumn: reportOf(subject.follows).key[0] ?? '',
      scopePrefix: subject.scopePrefix,
    })
    for (let from = 0; from < due.length; from += RECORDS_A_LOAD_MAX) {
      const some = due.slice(from, from + RECORDS_A_LOAD_MAX)
      await eachBounded(some, this.#rooms.settings.concurrency, (record) => this.#ask(subject, record))
      if (from + RECORDS_A_LOAD_MAX < due.length) await this.#commit()
    }
  }

  /** Loads what is left and records the run. */
  async finish({ runId, report, startedAt }: Pick<ReportRun, 'runId' | 'report' | 'startedAt'>): Promise<void> {
    const { inserted, updated, deleted, rejected } = this.#intake.figures
    const figures = { inserted, updated, deleted, rejected, pages: this.pages, rows: this.#rows }
    const endedAt = this.#rooms.clock.now()
    const forbidden = this.#forbidden
    await this.#commit({ runId, report, kind: 'incremental', state: 'done', startedAt, endedAt, ...figures })
    if (forbidden > 0) throw recordsForbidden(report, forbidden)
  }

  async #ask(subject: Subject, due: DueRecord): Promise<void> {
    const record = subject.record(due.recordId)
    const clock = await serviceClock(this.#rooms, this.#declaration, { record })
    const { start, overlapMs } = this.#config
    const since = due.mark === undefined ? start : minusMs(due.mark, overlapMs)
    const until = plusMs(clock, CLOCK_GRAIN_MS)
    const pages: { page: ScannedPage; servedAt: Instant }[] = []
    let walked: Walked
    try {
      walked = await walk(this.#rooms, {
        report: this.#declaration,
        question: { window: { since, until }, expand: this.#config.expand, filters: {}, record },
        pageSize: this.#config.pageSize,
        catalog: this.#intake.catalog,
        forbidsOnlyThis: true,
        onPage: (page, servedAt) => {
          // A walk that is done again starts its pages anew.
          pages.push({ page, servedAt })
          return Promise.resolve()
        },
      })
    } catch (error) {
      if (!(error instanceof SyncError) || error.code !== 'REPORT_FORBIDDEN') throw error
      this.#forbidden += 1
      return
    }
    await this.#take({
      due,
      subject,
      record,
      since,
      until,
      clock: earliest(clock, walked.firstServedAt),
      walked,
      pages,
    })
  }

  async #take(taken: Taken): Promise<void> {
    const { due, subject, record, since, until, clock, walked } = taken
    const values = Object.values(record)
    const asked = Object.fromEntries(this.#declaration.asked.map((column, n) => [column.column, values[n] as number]))
    // Only the last walk counts: one that had to be repeated left pages of the earlier walks behind.
    for (const { page, servedAt } of taken.pages.slice(-walked.state.pages))
      await this.#intake.add(page, servedAt, asked)
    this.pages += walked.pages
    this.#rows += walked.state.rows
    const value = markAfter(due.mark, { since, until, clock }, this.#config.settleMs)
    const totals = { pages: walked.pages, rows: walked.state.rows, totalCount: walked.totalCount, proof: walked.proof }
    this.#asked.push({
      due,
      subject,
      window: { record: values, since, until },
      closed: { scope: due.scope, since, until: clock, ...totals, marks: [{ mark: 'since', value }] },
      at: clock,
    })
    const report = this.#declaration.name as ReportName
    this.#rooms.onProgress({ report, pages: this.pages, rows: this.#rows, rowsExpected: undefined })
  }

  async #commit(run?: Parameters<Intake['finish']>[0]['run']): Promise<void> {
    const asked = this.#asked
    this.#asked = []
    await this.#intake.finish({
      closes: asked.map((each) => each.closed),
      replaces: asked.map((each) => each.window),
      asked: asked.map((each) => ({ scope: each.due.scope, at: each.at })),
      run,
    })
  }
}

interface Taken {
  readonly due: DueRecord
  readonly subject: Subject
  readonly record: Readonly<Record<string, number>>
  readonly since: Instant
  readonly until: Instant
  readonly clock: Instant
  readonly walked: Walked
  readonly pages: readonly { readonly page: ScannedPage; readonly servedAt: Instant }[]
}

function recordsForbidden(report: ReportName, count: number): SyncError {
  return new SyncError(
    'REPORT_FORBIDDEN',
    `${report}: the service answered 403 for ${count} records; the others are here`,
    {
      report,
      cure: `Ask its owner to let this client read the audit data of all records, or accept the gap: they are asked again at each run.`,
      data: { records: count },
    },
  )
}

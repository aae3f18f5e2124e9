/** Turns scanned pages into committed loads. While a full segment of the spool is loaded, the next one is written. */
import { rm } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { ReportName } from '../../schema/index.ts'
import type { Declaration } from '../../schema/report.ts'
import { asSyncError, type ErrorCode } from '../errors.ts'
import type { Instant } from '../instant.ts'
import { addLoadCounts } from '../plan/runCounts.ts'
import { unobserved } from '../observe.ts'
import { type ObjectCatalog, catalogOf } from '../staging/catalog.ts'
import { filesOf, type Segment, Spool, type SpoolPosition, type StagedPage, checkSegment } from '../staging/spool.ts'
import type { AuditedRecord } from '../warehouse/books/auditRecords.ts'
import type { RunRecord } from '../warehouse/books/runs.ts'
import type { ClosedWindow } from '../warehouse/books/windows.ts'
import type { ChangesLoad, EntryWindow, LoadInput, LoadResult, RereadLoad } from '../warehouse/load/loadInput.ts'
import { addFigures, noFigures } from './reportOutcome.ts'
import { loadRules } from './privacy.ts'
import type { Loader, WalkContext } from './context.ts'
import type { FetchedPage } from './walk/pageSource.ts'

export interface IntakeOptions {
  readonly report: Declaration
  readonly runId: string
  readonly reason: ReadReason
  readonly followers?: ChangesLoad['followers']
}

/** The key of a deleted row and, if it was read, the row's modification time: `[17, 'EUR', '2026-01-31T06:00:00Z']`. */
export type GoneKey = readonly (string | number)[]

/** Returns the key of a row with its currency (`scope`), if the report is requested per currency. */
export const wholeKey = ({ currency }: Declaration, key: number | string, scope: string): GoneKey =>
  currency === undefined ? [key] : [key, scope]

export type ReadReason =
  | Pick<ChangesLoad, 'kind' | 'previousRead'>
  | Pick<RereadLoad, 'kind' | 'lateMs'>
  | { readonly kind: 'backfill' | 'audit' }
  | { readonly kind: 'reconcile'; readonly reconcileId: string }

export interface ProvenWindow {
  readonly window: ClosedWindow
  /** Only in a reconcile: it has read all rows up to this time of creation (for some reports, of modification). */
  readonly reached?: Instant
  /** Keys of rows missing from a second read that excludes deleted rows. Undefined if rows have a deletion flag. */
  readonly gone?: ChangesLoad['gone']
  /** Audit reports only: the rows of this window replace the stored entries of this record and span. */
  readonly entries?: EntryWindow
  readonly audited?: AuditedRecord
}

/** If a staged file is missing, a load fails with one of these errors. Which one depends on the SQL statement. */
const FILE_ERRORS: readonly ErrorCode[] = ['LOAD_REFUSED', 'UNEXPECTED']

export class Intake implements AsyncDisposable {
  readonly catalog: ObjectCatalog
  readonly figures = noFigures()
  /** Why rows are being read, such as for a backfill. Callers commit all added rows before they change this value. */
  reason: ReadReason
  readonly #context: WalkContext
  readonly #options: IntakeOptions
  readonly #spool: Spool
  readonly #proven: ProvenWindow[] = []
  #loading: Promise<void> = Promise.resolve()
  /** True if a row in the open window lacks a deletion flag. Such a window is loaded only after a second read. */
  #awaitsDifference = false

  constructor(context: WalkContext, options: IntakeOptions) {
    const { settings } = context
    const { report, runId, reason } = options
    this.#context = context
    this.#options = options
    this.reason = reason
    this.catalog = catalogOf(report)
    // The directory has a random name, because another process may stage rows of the same run.
    const directory = join(settings.staging, `${runId}-${report.name}-${randomUUID()}`)
    this.#spool = new Spool(directory, this.catalog, {
      ...settings.limits,
      cutsBetweenPages: () => this.#cutsBetweenPages,
    })
  }

  async add({ page, servedAt, askedAt }: FetchedPage, asked: StagedPage['asked']): Promise<void> {
    this.#awaitsDifference ||= this.#options.report.includeDeleted !== undefined && page.unflagged.length > 0
    await this.#spool.add(page, { observedAt: servedAt, askedAt }, asked)
    if (this.#cutsBetweenPages) await this.#loadFullSegments()
  }

  /** Returns the current end of the spool. If a walk is not proven complete, `rewindTo` drops all rows after it. */
  position(): Promise<SpoolPosition> {
    return this.#spool.position()
  }

  rewindTo(position: SpoolPosition): Promise<void> {
    return this.#spool.rewindTo(position)
  }

  /** Closes a window once its last row has been added. The next load's transaction stores the window. */
  async close(proven: ProvenWindow): Promise<void> {
    this.#proven.push(proven)
    this.#awaitsDifference = false
    await this.#loadFullSegments()
  }

  /** Loads all rows that have not been loaded yet. The last load also writes the run's record. */
  async commit(run?: RunRecord): Promise<void> {
    const segments = await this.#spool.takeRest()
    await this.#loading
    const isAudit = this.reason.kind === 'audit'
    const full = segments.filter((segment) => segment.rows > 0 || segment.rejected.length > 0 || isAudit)
    for (const segment of full.slice(0, -1)) await this.#load({ segment, proven: [] })
    const segment = full.at(-1)
    const proven = this.#proven.splice(0)
    if (segment === undefined && proven.length === 0 && run === undefined) return
    await this.#load({ segment, proven, run })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loading.catch(() => undefined)
    await this.#spool[Symbol.asyncDispose]()
  }

  /** Whether a load may end within a window. It may not with audit entries, or if deletions need a second read. */
  get #cutsBetweenPages(): boolean {
    return !this.#awaitsDifference && this.reason.kind !== 'audit'
  }

  /** Loads each full segment during the walk. If the previous segment is still being loaded, the walk waits. */
  async #loadFullSegments(): Promise<void> {
    await this.#spool.cutWhenFull()
    for (const segment of this.#spool.takeFull()) {
      const proven = this.#proven.splice(0)
      await this.#loading
      this.#loading = this.#load({ segment, proven })
      this.#loading.catch(() => undefined)
    }
  }

  #inputOf({ segment, proven, run }: OneLoad): LoadInput {
    const { client, clock, fence, settings } = this.#context
    const { report, runId, followers } = this.#options
    const { reason } = this
    const base = {
      report,
      runId,
      now: clock.now(),
      serviceNow: client.serviceNow(),
      segment,
      requests: client.takeRequests(),
      rules: loadRules(settings.reports[report.name as ReportName]),
      closes: proven.map((each) => each.window),
      fence,
      run: run && addLoadCounts(run, this.figures),
    }
    if (reason.kind === 'audit') {
      const entryWindows = proven.flatMap((each) => each.entries ?? [])
      return { ...base, kind: 'audit', entryWindows, audited: proven.flatMap((each) => each.audited ?? []) }
    }
    const gone = proven.flatMap((each) => (each.gone === undefined ? [] : [each.gone]))
    const rows = { ...base, followers, gone: gone.length === 0 ? undefined : gone.flat() }
    if (reason.kind === 'changes' || reason.kind === 'reread') return { ...rows, ...reason }
    if (reason.kind !== 'reconcile') return { ...rows, kind: reason.kind }
    const reached = proven.findLast((each) => each.reached !== undefined)?.reached
    return { ...rows, kind: 'reconcile', reconcile: { reconcileId: reason.reconcileId, reached } }
  }

  async #load(one: OneLoad): Promise<void> {
    const { signal, warehouse, observe = unobserved } = this.#context
    signal.throwIfAborted()
    const input = this.#inputOf(one)
    const { report, segment } = input
    const result = await observe({ what: 'load', report: report.name }, async (note) => {
      const loaded = await loadStaged(warehouse, input)
      note({ rows: loaded.rows, inserted: loaded.inserted, updated: loaded.updated, rejected: loaded.rejected })
      return loaded
    })
    this.#count(result)
    for (const file of segment === undefined ? [] : filesOf(segment)) await rm(file, { force: true })
  }

  #count(result: LoadResult): void {
    const frozen = result.changes.flatMap(({ table, change }) =>
      'column' in change ? [] : [`${table}.${change.field}`],
    )
    const { late = 0, latenessMs = 0 } = result.late ?? {}
    const schemaChanges = result.changes.length - frozen.length
    addFigures(this.figures, { ...result, schemaChanges, frozen, late, latenessMs })
  }
}

/** Executes a load. If a staged file is missing, throws STAGED_MISSING instead of the database's error. */
export async function loadStaged(warehouse: Loader, input: LoadInput): Promise<LoadResult> {
  try {
    return await warehouse.load(input)
  } catch (error) {
    if (input.segment !== undefined && FILE_ERRORS.includes(asSyncError(error).code)) await checkSegment(input.segment)
    throw error
  }
}

interface OneLoad {
  readonly segment: Segment | undefined
  readonly proven: readonly ProvenWindow[]
  readonly run?: RunRecord | undefined
}

/** Counts the windows of a backfill that were read, and estimates the time for the remaining windows. */
import type { ReportName } from '../../../schema/index.ts'
import type { Clock } from '../../clock.ts'
import type { BookedWindow } from '../../warehouse/books/backfills.ts'
import type { Progress, WindowsProgress } from '../context.ts'
import type { PulledWindow } from './handover.ts'

export interface BackfillProgress extends Progress {
  readonly backfillId: string
  readonly windows: WindowsProgress
}

export interface TallyContext {
  readonly options: {
    readonly backfillId: string
    readonly report: ReportName
    readonly onProgress?: (progress: BackfillProgress) => void
  }
  readonly clock: Clock
}

export class BackfillTally {
  readonly #parts: TallyContext
  readonly #windows: number
  readonly #startedMs: number
  #done: number
  #failed = 0
  #rows: number
  #pages: number
  /** Planned requests for windows that this run has read (`#plannedDone`), and for the windows that remain. */
  #plannedDone = 0
  #plannedLeft: number

  constructor(windows: readonly BookedWindow[], parts: TallyContext) {
    const before = windows.filter(({ state }) => state === 'done')
    const left = windows.filter(({ state }) => state === 'pending')
    this.#parts = parts
    this.#windows = windows.length
    this.#startedMs = parts.clock.monotonicMs()
    this.#done = before.length
    this.#rows = before.reduce((sum, { rows }) => sum + rows, 0)
    this.#pages = before.reduce((sum, { pages }) => sum + pages, 0)
    this.#plannedLeft = left.reduce((sum, { plannedRequests }) => sum + plannedRequests, 0)
  }

  done({ plannedRequests }: BookedWindow, { rows, pages }: Pick<PulledWindow, 'rows' | 'pages'>): void {
    this.#done += 1
    this.#rows += rows
    this.#pages += pages
    this.#plannedDone += plannedRequests
    this.#plannedLeft -= plannedRequests
    this.report()
  }

  failed(): void {
    this.#failed += 1
    this.report()
  }

  report(): void {
    const { options, clock } = this.#parts
    const elapsedMs = clock.monotonicMs() - this.#startedMs
    options.onProgress?.({
      backfillId: options.backfillId,
      report: options.report,
      rows: this.#rows,
      pages: this.#pages,
      windows: {
        done: this.#done,
        failed: this.#failed,
        total: this.#windows,
        msLeft: this.#plannedDone === 0 ? undefined : (elapsedMs / this.#plannedDone) * this.#plannedLeft,
      },
    })
  }
}

/** The active runs, and the events that waiting commands and the console receive. */
import type { ReportName } from '../../schema/index.ts'
import type { Instant } from '../../src/instant.ts'
import type { Log } from '../../src/log.ts'
import type { Figures, ReportOutcome } from '../../src/sync/reportOutcome.ts'
import type { Progress } from '../../src/sync/context.ts'
import type { RunKind } from '../../src/warehouse/books/runs.ts'
import { counted } from '../../src/words.ts'

export type { RunKind }
export const RUN_KINDS = ['incremental', 'backfill', 'reconcile'] as const satisfies readonly RunKind[]

export interface ActiveRun {
  readonly runId: string
  readonly report: ReportName
  readonly kind: RunKind
  readonly startedAt: Instant
  readonly cancel: (why: string) => unknown
  /** The job's identifier and the attempt number. The workers of a lake recognize a run by this text. */
  readonly attempt?: string | undefined
  progress: Progress | undefined
}

export interface RunEndEvent {
  readonly kind: RunKind
  readonly event: 'ended'
  readonly order: number
  readonly outcome: ReportOutcome
  readonly result: unknown
}

export type RunEvent = RunEndEvent | { readonly kind: RunKind; readonly event: 'progress'; readonly progress: Progress }

/** Executes a run and returns its outcome. `isDropped` is true if another run does the work instead. */
export type RunWork = (
  onProgress: (progress: Progress) => void,
) => Promise<{ outcome: ReportOutcome; result?: unknown; isDropped?: boolean }>

type Follower = (event: RunEvent) => void

interface OtherWorkers {
  running(): readonly ActiveRun[]
  refresh(): Promise<unknown>
  publish(ended: RunEndEvent, attempt: string | undefined): Promise<void>
}

export class Runs {
  readonly #running = new Map<string, ActiveRun>()
  readonly #followers = new Set<Follower>()
  #begun = 0
  others: OtherWorkers | undefined

  get own(): readonly ActiveRun[] {
    return [...this.#running.values()]
  }

  get running(): readonly ActiveRun[] {
    return [...this.own, ...(this.others?.running() ?? [])]
  }

  get begun(): number {
    return this.#begun
  }

  async during(run: Omit<ActiveRun, 'progress'>, work: RunWork): ReturnType<RunWork> {
    const order = this.nextOrder()
    const { runId, kind } = run
    const running: ActiveRun = { ...run, progress: undefined }
    this.#running.set(runId, running)
    try {
      const { outcome, result, isDropped } = await work((progress) => {
        running.progress = progress
        this.emit({ kind, event: 'progress', progress })
      })
      if (isDropped !== true) await this.#end({ kind, event: 'ended', order, outcome, result }, run.attempt)
      return { outcome, result }
    } finally {
      if (this.#running.get(runId) === running) this.#running.delete(runId)
    }
  }

  cancel(runId: string, why: string): boolean {
    const runs = this.running.filter((run) => run.runId === runId)
    for (const run of runs) run.cancel(why)
    return runs.length > 0
  }

  endWaiting(kind: RunKind, outcome: ReportOutcome): Promise<void> {
    return this.#end({ kind, event: 'ended', order: this.#begun + 1, outcome, result: undefined })
  }

  nextOrder(): number {
    return (this.#begun += 1)
  }

  async #end(ended: RunEndEvent, attempt?: string): Promise<void> {
    this.emit(ended)
    await this.others?.publish(ended, attempt)
  }

  follow(follower: Follower): () => void {
    this.#followers.add(follower)
    return () => void this.#followers.delete(follower)
  }

  emit(event: RunEvent): void {
    for (const follower of this.#followers) follower(event)
  }
}

/** Returns whether the run may have changed rows. True for a failed run: part of its window may be loaded. */
export const changedRows = ({ figures, error }: ReportOutcome): boolean =>
  error !== undefined || figures.inserted + figures.updated + figures.deleted + figures.rejected > 0

type Counts = Pick<Figures, 'inserted' | 'updated' | 'deleted' | 'rejected' | 'misfits'>

/** Returns the counts that are not 0. Example: `['3 new', '1 rejected']`. */
export function notableFigures({ inserted, updated, deleted, rejected, misfits }: Counts): string[] {
  const figures = { new: inserted, changed: updated, deleted, rejected, misfits }
  return Object.entries(figures).flatMap(([name, rows]) => (rows === 0 ? [] : [`${rows} ${name}`]))
}

export function logOutcome(log: Log, kind: RunKind, outcome: ReportOutcome): void {
  const { report, runId, state, pages, figures, error, elapsedMs, offReason } = outcome
  const name = kind === 'incremental' ? report : `${report} (${kind})`
  const fields = { report, kind, runId, state, ms: Math.round(elapsedMs) }
  if (state === 'off') return log.debug(fields, `${name}: off, ${offReason ?? 'by configuration'}`)
  if (error !== undefined) {
    const details = { ...fields, code: error.code, cure: error.cure }
    if (state === 'paused') return log.debug(details, `${name}: paused: ${error.message}`)
    const wasStopped = error.code === 'CANCELLED' || error.code === 'FENCED'
    if (wasStopped) return log.info({ ...details, state: 'stopped' }, `${name}: stopped: ${error.message}`)
    return log.warn(details, `${name}: failed: ${error.message}`)
  }
  const { rows, inserted, updated, deleted, rejected, misfits, childrenWritten, schemaChanges, late } = figures
  const counts = { pages, rows, inserted, updated, deleted, rejected, misfits, childrenWritten, schemaChanges, late }
  const shown = notableFigures(figures)
  const what = `${counted(pages, 'page')}, ${counted(rows, 'row')}${shown.length === 0 ? '' : ` (${shown.join(', ')})`}`
  log.info({ ...fields, ...counts }, `${name}: ${what} in ${(elapsedMs / 1_000).toFixed(1)} s`)
}

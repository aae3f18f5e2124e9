/**
 * The runs of the process that owns the warehouse: which run now, how far they are, and what became of them. Followers
 * (a command that waits for its run, the console) are told as it happens.
 */
import type { ReportName } from '../../schema/index.ts'
import type { Instant } from '../../src/instant.ts'
import type { ReportOutcome } from '../../src/sync/reportOutcome.ts'
import type { BackfillProgress } from '../../src/sync/backfill/backfillTally.ts'
import type { Progress } from '../../src/sync/context.ts'

export const RUN_NAMES = ['incremental', 'backfill', 'reconcile'] as const
export type RunName = (typeof RUN_NAMES)[number]

export interface RunningRun {
  readonly runId: string
  readonly report: ReportName
  readonly kind: RunName
  readonly startedAt: Instant
  /** Ends it; the first reason is the one that counts. */
  readonly callOff: (why: string) => void
  progress: Progress | BackfillProgress | undefined
}

/** As others see it. */
export type RunningDocument = Omit<RunningRun, 'callOff'>

export const runningDocument = ({ runId, report, kind, startedAt, progress }: RunningRun): RunningDocument => ({
  runId,
  report,
  kind,
  startedAt,
  progress,
})

export type RunEvent =
  | { readonly kind: RunName; readonly event: 'progress'; readonly progress: Progress | BackfillProgress }
  | {
      readonly kind: RunName
      readonly event: 'ended'
      readonly order: number
      readonly outcome: ReportOutcome
      readonly result: unknown
    }

/** Does the run; gives its outcome, and what else came of it. One that was dropped is no end: followers wait on. */
export type RunWork = (
  onProgress: (progress: Progress | BackfillProgress) => void,
) => Promise<{ outcome: ReportOutcome; result?: unknown; isDropped?: boolean }>

type Follower = (event: RunEvent) => void

export class Runs {
  readonly #running = new Map<string, RunningRun>()
  readonly #followers = new Set<Follower>()
  #begun = 0

  get running(): readonly RunningRun[] {
    return [...this.#running.values()]
  }

  /** How many runs have begun so far: one that begins later has a higher `order`. */
  get begun(): number {
    return this.#begun
  }

  /** Notes the run from its beginning to its end. */
  async during(run: Omit<RunningRun, 'progress'>, work: RunWork): ReturnType<RunWork> {
    const order = (this.#begun += 1)
    const { runId, kind } = run
    const running: RunningRun = { ...run, progress: undefined }
    this.#running.set(runId, running)
    try {
      const { outcome, result, isDropped } = await work((progress) => {
        running.progress = progress
        this.#tell({ kind, event: 'progress', progress })
      })
      if (isDropped !== true) this.#tell({ kind, event: 'ended', order, outcome, result })
      return { outcome, result }
    } finally {
      if (this.#running.get(runId) === running) this.#running.delete(runId)
    }
  }

  /** False: no such run runs here. */
  callOff(runId: string, why: string): boolean {
    const run = this.#running.get(runId)
    run?.callOff(why)
    return run !== undefined
  }

  /** Tells who waits for a run that has not begun that it never will. */
  neverBegins(kind: RunName, outcome: ReportOutcome): void {
    this.#tell({ kind, event: 'ended', order: this.#begun + 1, outcome, result: undefined })
  }

  /** Until the returned function is called. */
  follow(follower: Follower): () => void {
    this.#followers.add(follower)
    return () => void this.#followers.delete(follower)
  }

  #tell(event: RunEvent): void {
    for (const follower of this.#followers) follower(event)
  }
}

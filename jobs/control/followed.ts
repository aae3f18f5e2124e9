/**
 * Runs that somebody asked for and waits for. Only runs that begin after the question count, since one that runs
 * already may have passed what the asker wants to see; and a request that the store lost is made again.
 */
import type { ReportName } from '../../schema/index.ts'
import type { Clock } from '../../src/clock.ts'
import type { ReportOutcome } from '../../src/sync/reportOutcome.ts'
import type { Requests } from '../queue/requests.ts'
import type { RunEvent, RunKind, Runs } from '../runs/runs.ts'
import { outcomeDocument } from './wire.ts'

/** Takes what happens meanwhile, as plain values. */
export type Tell = (event: object) => void

export interface FollowOptions {
  readonly kind: RunKind
  readonly ask: (report: ReportName) => Promise<void>
  readonly runs: Runs
  readonly requests: Requests
  readonly clock: Clock
  readonly tell: Tell
  readonly signal: AbortSignal
}

export interface EndedRun {
  readonly outcome: ReportOutcome
  readonly result: unknown
}

const LOOK_EVERY_MS = 2_000

export class Followed {
  readonly #parts: FollowOptions

  constructor(parts: FollowOptions) {
    this.#parts = parts
  }

  /** Asks for a run of each and waits for them all; in the order that was given. */
  async allOf(reports: readonly ReportName[]): Promise<EndedRun[]> {
    const { runs, ask, signal } = this.#parts
    const ended = new Map<ReportName, EndedRun>()
    const all = Promise.withResolvers<void>()
    // The asker may leave while the jobs are still being added, when nobody listens to it yet.
    all.promise.catch(() => undefined)
    const before = runs.begun
    const leave = runs.follow((event) => {
      this.#take(event, { reports, before, ended })
      if (ended.size === reports.length) all.resolve()
    })
    const stop = () => all.reject(signal.reason)
    const looking = new AbortController()
    const looked = AbortSignal.any([signal, looking.signal])
    signal.addEventListener('abort', stop)
    try {
      if (signal.aborted) stop()
      for (const report of reports) await ask(report)
      if (reports.length === 0) all.resolve()
      await Promise.race([all.promise, this.#askAgain(reports, ended, looked)])
    } finally {
      leave()
      looking.abort()
      signal.removeEventListener('abort', stop)
    }
    return reports.flatMap((report) => ended.get(report) ?? [])
  }

  #take(
    event: RunEvent,
    { reports, before, ended }: { reports: readonly ReportName[]; before: number; ended: Map<ReportName, EndedRun> },
  ): void {
    const { kind, tell } = this.#parts
    const { report } = event.event === 'progress' ? event.progress : event.outcome
    if (event.kind !== kind || !reports.includes(report)) return
    if (event.event === 'progress') return tell({ progress: event.progress })
    if (event.order <= before || ended.has(report)) return
    ended.set(report, event)
    tell({ outcome: outcomeDocument(event.outcome) })
  }

  /** Never resolves: it ends with the wait. */
  async #askAgain(
    reports: readonly ReportName[],
    ended: ReadonlyMap<ReportName, EndedRun>,
    signal: AbortSignal,
  ): Promise<never> {
    const { clock, runs, requests, kind, ask } = this.#parts
    for (;;) {
      await clock.sleep(LOOK_EVERY_MS, signal)
      const runsNow = (report: ReportName) => runs.running.some((run) => run.kind === kind && run.report === report)
      const unseen = reports.filter((report) => !ended.has(report) && !runsNow(report))
      // A run that is at work here ends by itself, also while the store is away.
      if (unseen.length === 0) continue
      const waiting = new Set((await requests.underWay(kind)).map(({ name }) => name))
      for (const report of unseen) if (!ended.has(report) && !runsNow(report) && !waiting.has(report)) await ask(report)
    }
  }
}

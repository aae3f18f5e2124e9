/** Requests runs and waits until they end. Ignores runs that began before the request: they can miss new rows. */
import type { RunEvent, RunKind, Runs } from '../../jobs/runs/runs.ts'
import type { Requests } from '../../jobs/queue/requests.ts'
import type { ReportName } from '../../schema/index.ts'
import type { Clock } from '../clock.ts'
import { outcomeOf } from './contract.ts'
import type { Caller, EndedRun } from './engine.ts'
import { onAbort } from '../signals.ts'

export interface FollowOptions {
  readonly kind: RunKind
  readonly ask: (report: ReportName) => Promise<void>
  readonly runs: Runs
  readonly requests: Requests
  readonly clock: Clock
  readonly caller: Caller
}

const POLL_EVERY_MS = 2_000

export async function followRuns(reports: readonly ReportName[], options: FollowOptions): Promise<EndedRun[]> {
  const { ask, runs, caller } = options
  const { signal } = caller
  const ended = new Map<ReportName, EndedRun>()
  const all = Promise.withResolvers<void>()
  // The caller can abort before this promise is awaited. Then Node would report an unhandled rejection.
  all.promise.catch(() => undefined)
  const before = runs.begun
  const leave = runs.follow((event) => {
    record(event, options, { reports, before, ended })
    if (ended.size === reports.length) all.resolve()
  })
  const looking = new AbortController()
  using _ = onAbort(signal, () => all.reject(signal.reason))
  try {
    for (const report of reports) await ask(report)
    if (reports.length === 0) all.resolve()
    await Promise.race([all.promise, reRequest(options, { reports, ended }, AbortSignal.any([signal, looking.signal]))])
  } finally {
    leave()
    looking.abort()
  }
  return reports.flatMap((report) => ended.get(report) ?? [])
}

interface Wait {
  readonly reports: readonly ReportName[]
  readonly ended: Map<ReportName, EndedRun>
}

function record(event: RunEvent, { kind, caller }: FollowOptions, wait: Wait & { readonly before: number }): void {
  const { reports, before, ended } = wait
  const { report } = event.event === 'progress' ? event.progress : event.outcome
  if (event.kind !== kind || !reports.includes(report)) return
  if (event.event === 'progress') return caller.tell({ progress: event.progress })
  if (event.order <= before || ended.has(report)) return
  ended.set(report, event)
  caller.tell({ outcome: outcomeOf(event.outcome) })
}

async function reRequest(options: FollowOptions, { reports, ended }: Wait, signal: AbortSignal): Promise<never> {
  const { clock, runs, requests, kind, ask } = options
  const runsNow = (report: ReportName) => runs.running.some((run) => run.kind === kind && run.report === report)
  for (;;) {
    await clock.sleep(POLL_EVERY_MS, signal)
    const unseen = reports.filter((report) => !ended.has(report) && !runsNow(report))
    if (unseen.length === 0) continue
    const waiting = new Set((await requests.underWay(kind)).map(({ name }) => name))
    for (const report of unseen) if (!ended.has(report) && !runsNow(report) && !waiting.has(report)) await ask(report)
  }
}

/** Requests runs and waits until they end. Runs that began before the request do not count: they may miss new rows. */
import type { RunKind, Runs } from '../../jobs/runs/runs.ts'
import type { JobQueues } from '../../jobs/queue/jobQueues.ts'
import type { ReportName } from '../../schema/index.ts'
import type { Clock } from '../clock.ts'
import { outcomeOf } from './contract.ts'
import type { Caller, EndedRun } from './engine.ts'
import { onAbort } from '../signals.ts'

export interface FollowOptions {
  readonly kind: RunKind
  readonly addJob: (report: ReportName) => Promise<void>
  readonly runs: Runs
  readonly queues: JobQueues
  readonly clock: Clock
  readonly caller: Caller
}

const POLL_EVERY_MS = 2_000

export async function followRuns(named: readonly ReportName[], options: FollowOptions): Promise<EndedRun[]> {
  const reports = [...new Set(named)]
  const { kind, addJob, runs, caller } = options
  const { signal } = caller
  const ended = new Map<ReportName, EndedRun>()
  const all = Promise.withResolvers<void>()
  // If `signal` aborts before `Promise.race` begins, Node would report an unhandled rejection without this handler.
  all.promise.catch(() => undefined)
  await runs.others?.refresh()
  const before = runs.begun
  const unfollow = runs.follow((event) => {
    const { report } = event.event === 'progress' ? event.progress : event.outcome
    if (event.kind !== kind || !reports.includes(report)) return
    if (event.event === 'progress') return caller.onEvent({ progress: event.progress })
    if (event.order <= before || ended.has(report)) return
    ended.set(report, event)
    caller.onEvent({ outcome: outcomeOf(event.outcome) })
    if (ended.size === reports.length) all.resolve()
  })
  const polling = new AbortController()
  using _ = onAbort(signal, () => all.reject(signal.reason))
  try {
    for (const report of reports) await addJob(report)
    if (reports.length === 0) all.resolve()
    const isMissing = (report: ReportName) =>
      !ended.has(report) && !runs.running.some((run) => run.kind === kind && run.report === report)
    const adding = addMissingJobs(options, () => reports.filter(isMissing), AbortSignal.any([signal, polling.signal]))
    await Promise.race([all.promise, adding])
  } finally {
    unfollow()
    polling.abort()
  }
  return reports.flatMap((report) => ended.get(report) ?? [])
}

/** Watches the requested runs until `signal` aborts. If the queue loses a job, adds the job again. */
async function addMissingJobs(
  { clock, queues, kind, addJob }: FollowOptions,
  missing: () => readonly ReportName[],
  signal: AbortSignal,
): Promise<never> {
  for (;;) {
    await clock.sleep(POLL_EVERY_MS, signal)
    if (missing().length === 0) continue
    const waiting = new Set((await queues.underWay(kind)).map(({ name }) => name))
    for (const report of missing()) if (!waiting.has(report)) await addJob(report)
  }
}

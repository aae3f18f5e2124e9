/** Runs that were asked for and have not begun, or wait for their next try: what they are, and how they are called off. */
import type { Job } from 'bullmq'
import type { ReportName } from '../../schema/index.ts'
import { noFigures } from '../../src/sync/reportOutcome.ts'
import { CALLED_OFF, calledOffError } from '../queue/jobOutcome.ts'
import type { BackfillJob } from '../queue/queues.ts'
import type { Requests } from '../queue/requests.ts'
import { RUN_KINDS, type RunKind, type Runs } from '../runs/runs.ts'

export interface WaitingRun {
  /** What calls it off. */
  readonly id: string
  readonly report: string
  readonly kind: RunKind
}

/** A backfill has a name of its own, which it keeps when it goes on. */
const idOf = (kind: RunKind, { id = '', data }: Job): string =>
  kind === 'backfill' ? (data as BackfillJob).backfillId : id

export async function waitingRuns(requests: Pick<Requests, 'waiting'>): Promise<WaitingRun[]> {
  const ofKind = async (kind: RunKind) =>
    (await requests.waiting(kind)).map((job) => ({ id: idOf(kind, job), report: job.name, kind }))
  return (await Promise.all(RUN_KINDS.map(ofKind))).flat()
}

/** Takes it from its queue and tells who waits for it; undefined where none of that name waits. */
export async function callOffWaiting(
  { requests, runs }: { readonly requests: Pick<Requests, 'waiting'>; readonly runs: Pick<Runs, 'neverBegins'> },
  id: string,
): Promise<WaitingRun | undefined> {
  let found: WaitingRun | undefined
  for (const kind of RUN_KINDS) {
    for (const job of await requests.waiting(kind)) {
      if (idOf(kind, job) !== id) continue
      await job.remove()
      const report = job.name as ReportName
      const error = calledOffError(CALLED_OFF)
      runs.neverBegins(kind, {
        report,
        runId: undefined,
        state: 'failed',
        pages: 0,
        figures: noFigures(),
        elapsedMs: 0,
        error,
      })
      found = { id, report, kind }
    }
  }
  return found
}

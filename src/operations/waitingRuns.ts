/** Lists and cancels runs in a queue that have not begun, or that wait for their next attempt. */
import { RUN_KINDS, type RunKind, type Runs } from '../../jobs/runs/runs.ts'
import { CALLED_OFF, calledOffError } from '../../jobs/queue/jobOutcome.ts'
import type { BackfillJob } from '../../jobs/queue/queues.ts'
import type { Requests } from '../../jobs/queue/requests.ts'
import type { ReportName } from '../../schema/index.ts'
import { nothingRun } from '../sync/reportOutcome.ts'
import type { WaitingRun } from './contract.ts'

/** Returns the identifier for `cancel`: of the backfill or, for other runs, of the job. */
const idOf = (kind: RunKind, { id = '', data }: { readonly id?: string; readonly data: unknown }): string =>
  kind === 'backfill' ? (data as BackfillJob).backfillId : id

export async function waitingRuns(requests: Pick<Requests, 'waiting'>): Promise<WaitingRun[]> {
  const ofKind = async (kind: RunKind) =>
    (await requests.waiting(kind)).map((job) => ({ id: idOf(kind, job), report: job.name, kind }))
  return (await Promise.all(RUN_KINDS.map(ofKind))).flat()
}

/** Removes a waiting run from its queue; its callers receive CANCELLED. Returns undefined if no such run waits. */
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
      runs.neverBegins(kind, { ...nothingRun(report), state: 'failed', error: calledOffError(CALLED_OFF) })
      found = { id, report, kind }
    }
  }
  return found
}

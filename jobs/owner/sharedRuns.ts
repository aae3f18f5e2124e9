/** Shows each worker of a lake the runs of the other workers. */
import { randomUUID } from 'node:crypto'
import type { Job } from 'bullmq'
import { reportNames, type ReportName } from '../../schema/index.ts'
import { type Clock, repeat } from '../../src/clock.ts'
import { SyncError } from '../../src/errors.ts'
import { fromMillis, HOUR_MS, MINUTE_MS } from '../../src/instant.ts'
import { turns } from '../../src/turns.ts'
import type { JobQueues } from '../queue/jobQueues.ts'
import { type ActiveRun, RUN_KINDS, type RunEndEvent, type RunKind, type Runs } from '../runs/runs.ts'
import type { SharedValues } from '../stores/sharedTokens.ts'

const REFRESH_EVERY_MS = 1_000
/** How long a request to cancel is stored, so that it also stops a run that starts again on another worker. */
const CANCEL_KEPT_MS = MINUTE_MS

export const attemptOf = ({ id, attemptsStarted }: Job): string => `${id} ${attemptsStarted}`

/** `order` is the place of the run in the sequence of runs that this worker knows. */
type RunOfOther = ActiveRun & { readonly order: number }

type SharedStore = { readonly values: SharedValues; readonly clock: Clock }

export function shareRuns(runs: Runs, queues: JobQueues, { values, clock }: SharedStore): Disposable {
  /** The runs of other workers, by the text of their attempt. */
  let ofOthers: ReadonlyMap<string, RunOfOther> = new Map()
  const lastEnds = new Map<string, string>()
  const inTurn = turns()
  const endPlaces = RUN_KINDS.flatMap((kind) => reportNames.map((report) => endPlaceOf(kind, report)))

  const readActiveJobs = async () => {
    const jobs = await activeJobs(queues)
    const own = new Map(runs.own.map((run) => [run.attempt, run]))
    for (const { attempt, runId } of jobs.filter((job) => own.has(job.attempt))) {
      const why = await values.read(`cancel:${runId}`)
      if (why !== undefined) own.get(attempt)?.cancel(why.text)
    }
    const others = jobs.filter(({ attempt }) => !own.has(attempt))
    const entries = others.map(({ attempt, ...run }): [string, RunOfOther] => {
      const cancel = (text: string) => values.write(`cancel:${run.runId}`, text, CANCEL_KEPT_MS)
      const order = ofOthers.get(attempt)?.order ?? runs.nextOrder()
      return [attempt, { ...run, cancel, order, progress: undefined }]
    })
    ofOthers = new Map(entries)
  }

  /** Emits the end of each run of another worker once. Skips runs that have ended before the first read. */
  const readEnds = async (before: typeof ofOthers, isFirst: boolean) => {
    for (const place of endPlaces) {
      const text = (await values.read(place))?.text ?? ''
      if (text === '' || text === lastEnds.get(place)) continue
      lastEnds.set(place, text)
      const { attempt, ...end } = JSON.parse(text) as RunEndEvent & { readonly attempt: string }
      const order = (before.get(attempt) ?? ofOthers.get(attempt))?.order ?? runs.nextOrder()
      const { error, report } = end.outcome
      const thrown = error && { error: new SyncError(error.code, error.message, { cure: error.cure, report }) }
      if (!isFirst) runs.emit({ ...end, order, outcome: { ...end.outcome, ...thrown } })
    }
  }

  const refresh = (isFirst = false) =>
    inTurn(async () => {
      const before = ofOthers
      await readActiveJobs()
      await readEnds(before, isFirst)
    })

  runs.others = {
    running: () => [...ofOthers.values()],
    refresh,
    publish: async (end, attempt = randomUUID()) => {
      const { code, message, cure } = end.outcome.error ?? {}
      const problem = code && { error: { code, message, cure } }
      const text = JSON.stringify({ ...end, outcome: { ...end.outcome, ...problem }, attempt })
      const place = endPlaceOf(end.kind, end.outcome.report)
      lastEnds.set(place, text)
      await values.write(place, text, HOUR_MS).catch(() => undefined)
    },
  }
  void refresh(true).catch(() => undefined)
  return repeat(REFRESH_EVERY_MS, clock, () => refresh())
}

async function activeJobs(queues: JobQueues) {
  const ofKind = async (kind: RunKind) => {
    const jobs = await queues.queue<{ backfillId?: string }>(kind).getActive()
    return jobs.map((job) => {
      const { id = '', data, name, processedOn = 0 } = job
      const startedAt = fromMillis(processedOn)
      return { kind, attempt: attemptOf(job), runId: data.backfillId ?? id, report: name as ReportName, startedAt }
    })
  }
  return (await Promise.all(RUN_KINDS.map(ofKind))).flat()
}

const endPlaceOf = (kind: RunKind, report: ReportName): string => `ended:${kind} ${report}`

/** Lets the workers of a lake see each other's runs. */
import { randomUUID } from 'node:crypto'
import type { Job } from 'bullmq'
import { reportNames, type ReportName } from '../../schema/index.ts'
import { type Clock, repeat } from '../../src/clock.ts'
import { SyncError } from '../../src/errors.ts'
import { fromMillis, HOUR_MS, MINUTE_MS } from '../../src/instant.ts'
import type { JobQueues } from '../queue/jobQueues.ts'
import { type RunEndEvent, RUN_KINDS, type ActiveRun, type Runs } from '../runs/runs.ts'
import type { SharedValues } from '../stores/sharedTokens.ts'

const LOOK_EVERY_MS = 1_000
/** How long a request to cancel a run is stored, in case the run starts again on another worker. */
const CANCEL_KEPT_MS = MINUTE_MS

export const attemptOf = ({ id, attemptsStarted }: Job): string => `${id} ${attemptsStarted}`

type Shared = { readonly values: SharedValues; readonly clock: Clock }

export function shareRuns(runs: Runs, queues: JobQueues, { values, clock }: Shared): Disposable {
  let running: readonly ActiveRun[] = []
  let orders = new Map<string, number>()
  const lastEnded = new Map<string, string>()
  let looking: Promise<unknown> = Promise.resolve()
  const lookAtJobs = async () => {
    const found: (ActiveRun & { readonly attempt: string })[] = []
    for (const kind of RUN_KINDS)
      for (const job of await queues.queue<{ backfillId?: string }>(kind).getActive()) {
        const { id = '', data, name, processedOn = 0 } = job
        const { backfillId: runId = id } = data
        const attempt = attemptOf(job)
        const own = runs.running.find((run) => run.attempt === attempt && !running.includes(run))
        const why = own && (await values.read(`cancel:${runId}`))
        if (own !== undefined && why !== undefined) own.cancel(why.text)
        if (own !== undefined) continue
        const cancel = (text: string) => values.write(`cancel:${runId}`, text, CANCEL_KEPT_MS)
        const startedAt = fromMillis(processedOn)
        found.push({ runId, report: name as ReportName, kind, startedAt, cancel, attempt, progress: undefined })
      }
    running = found
    orders = new Map(found.map(({ attempt }) => [attempt, orders.get(attempt) ?? runs.nextOrder()]))
  }
  const places = RUN_KINDS.flatMap((kind) => reportNames.map((report) => `ended:${kind} ${report}`))
  const look = async (isFirst = false) => {
    const before = orders
    await lookAtJobs()
    for (const place of places) {
      const text = (await values.read(place))?.text ?? ''
      if (text === '' || text === lastEnded.get(place)) continue
      lastEnded.set(place, text)
      const { attempt, ...ended } = JSON.parse(text) as RunEndEvent & { readonly attempt: string }
      const order = before.get(attempt) ?? orders.get(attempt) ?? runs.nextOrder()
      const { error, report } = ended.outcome
      const thrown = error && { error: new SyncError(error.code, error.message, { cure: error.cure, report }) }
      if (!isFirst) runs.emit({ ...ended, order, outcome: { ...ended.outcome, ...thrown } })
    }
  }
  const lookInTurn = (isFirst?: boolean) => (looking = looking.catch(() => undefined).then(() => look(isFirst)))
  runs.others = {
    running: () => running,
    refresh: lookInTurn,
    publish: async (ended, attempt = randomUUID()) => {
      const { code, message, cure } = ended.outcome.error ?? {}
      const problem = code && { error: { code, message, cure } }
      const text = JSON.stringify({ ...ended, outcome: { ...ended.outcome, ...problem }, attempt })
      const place = `ended:${ended.kind} ${ended.outcome.report}`
      lastEnded.set(place, text)
      await values.write(place, text, HOUR_MS).catch(() => undefined)
    },
  }
  void lookInTurn(true).catch(() => undefined)
  return repeat(LOOK_EVERY_MS, clock, () => lookInTurn())
}

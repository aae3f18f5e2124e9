/** Routes that only read, for example the overview, runs and rejected rows. */
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { z } from 'zod'
import { isPerRecord, Report, type ReportName } from '../../../schema/index.ts'
import type { Activity } from '../../operations/contract.ts'
import { type QueueName, QUEUES } from '../../../jobs/queue/queues.ts'
import type { JobQueues } from '../../../jobs/queue/jobQueues.ts'
import { ChangeList, type Changes, ChangesQuery, type ChangesRequest } from '../../operations/readChanges.ts'
import { Readiness, WaitQuery, type WaitRequest, waitRequestOf } from '../../operations/waitForReports.ts'
import type { ReceiverBehind } from '../../status/receivers.ts'
import { budgetText } from '../../status/budgetText.ts'
import { upkeepText } from '../../status/upkeepText.ts'
import { type Standing, ticksInBudget } from '../../status/standing.ts'
import { type Clock, within } from '../../clock.ts'
import { SyncError, usageError } from '../../errors.ts'
import { formatInstant, fromMillis } from '../../instant.ts'
import { linesOfRuns } from '../../runLogs.ts'
import { attentionOf, settingsAttention } from '../attention.ts'
import { backfillsOf, marksOver, recentRows, rejectedOf, runOfId, runsOf } from '../bookQueries.ts'
import type { AllSettings, ConsoleBackend } from '../backend.ts'
import { pauses } from '../../warehouse/books/reportStates.ts'
import { lastUpkeep } from '../../warehouse/database/upkeep.ts'
import { toRunningRun } from '../outcomes.ts'
import { type Api, answers, clientLeft, limitedTo } from './api.ts'
import { Backfill, Jobs, Overview, RejectedQuery, RejectedRow, ReportDetail, RunDetail, RunQuery } from './schemas.ts'

export interface ReadOptions {
  readonly clock: Clock
  readonly settings: AllSettings
  readonly requestsPerDay?: number | undefined
  /** Returns the current backend. It changes when this process becomes the owner of the warehouse. */
  readonly backendOf: () => ConsoleBackend
  readonly queues: Pick<JobQueues, 'queue' | 'depths' | 'nextTicks'>
  readonly runLogs: string
  readonly editedKeys: () => Promise<readonly string[]>
  readonly receiversBehind: () => Promise<readonly ReceiverBehind[]>
  readonly openChanges: (request: ChangesRequest, signal: AbortSignal) => Promise<Changes>
  readonly waitFor: (request: WaitRequest, signal: AbortSignal) => Promise<readonly Readiness[]>
}

const RUNS_OF_REPORT = 60
const BACKFILLS_LISTED = 20

const ReportPath = z.strictObject({ report: Report })
const RunPath = z.strictObject({ run: z.string().min(1).max(100) })
const Runs = ReportDetail.pick({ runs: true })
const RejectedRows = z.object({ total: z.int(), rows: z.array(RejectedRow) })
const Backfills = z.object({ backfills: z.array(Backfill) })
const Waited = z.object({ complete: z.boolean(), reports: z.array(Readiness) })

export function addReadRoutes(api: Api, options: ReadOptions): void {
  const { backendOf, runLogs } = options
  const jobs = sharing(() => readJobs(options.queues))
  const activity = sharing(() => activityInTime(backendOf(), options.clock))
  api.get('/api/overview', answers(Overview, 'Each report, active runs, and what needs attention'), () =>
    overview(options, activity),
  )
  api.get('/api/reports/:report', answers(ReportDetail, 'One report', { params: ReportPath }), ({ params }) =>
    reportDetail(options, params.report),
  )
  api.get('/api/runs', answers(Runs, 'Runs, newest first', { querystring: RunQuery }), async ({ query }) => ({
    runs: await runsOf(backendOf().books, query),
  }))
  api.get('/api/runs/:run', answers(RunDetail, 'One run with its log', { params: RunPath }), async ({ params }) => {
    const run = await runOfId(backendOf().books, params.run)
    const lines = await linesOfRuns(runLogs, params.run)
    if (run === undefined && lines.length === 0) throw unknownName(params.run)
    return { run: run ?? null, lines }
  })
  api.get('/api/jobs', answers(Jobs, 'Jobs in the queues: running, waiting, failed with the reason'), () =>
    jobsInTime(jobs, options.clock),
  )
  api.get(
    '/api/rejected',
    answers(RejectedRows, 'Rows that could not be stored, with the reason', { querystring: RejectedQuery }),
    ({ query }) => rejectedOf(backendOf().books, query),
  )
  api.get('/api/backfills', answers(Backfills, 'Backfills, the newest request first'), async () => ({
    backfills: await backfillsOf(backendOf().books, BACKFILLS_LISTED),
  }))
  addWaitRoute(api, options)
  addChangesRoute(api, options)
}

const WAITS_MAX = 20
/** Maximum number of simultaneous clients of `/api/changes`. Each of them keeps a published copy open. */
const FEEDS_MAX = 4
/** A client of `/api/changes` that reads no data for so long is disconnected, because it keeps a copy open. */
const STALL_MS_MAX = 60_000

function addWaitRoute(api: Api, { waitFor }: ReadOptions): void {
  const limited = limitedTo(WAITS_MAX)
  const summary = 'Waits until the published rows are complete; answers earlier if a report is paused or off'
  api.get('/api/wait', answers(Waited, summary, { querystring: WaitQuery }), ({ query }, reply) =>
    limited(reply, async (signal) => {
      const reports = [...(await waitFor(waitRequestOf(query), signal))]
      return { complete: reports.every(({ state }) => state === 'complete'), reports }
    }),
  )
}

/** Streams the changes. A later error can only cut off the response, because the status is already sent. */
function addChangesRoute(api: Api, { openChanges, clock }: ReadOptions): void {
  const limited = limitedTo(FEEDS_MAX)
  const summary = 'The rows that changed since a cursor, each once, and the next cursor'
  api.get('/api/changes', answers(ChangeList, summary, { querystring: ChangesQuery }), ({ query }, reply) =>
    limited(reply, async (signal) => {
      const { report, ...request } = query
      await using feed = await openChanges({ ...request, reports: [report].flat() }, signal)
      const body = new PassThrough()
      void reply.type('application/json').send(body as never)
      let before = '{"changes":['
      const send = async (changes: readonly string[]) => {
        const isFull = !body.write(before + changes.join(',\n'))
        before = ',\n'
        const drained = () => once(body, 'drain', { signal })
        if (isFull && !(await within(STALL_MS_MAX, clock, drained))) throw clientLeft()
      }
      await feed.read(send).then(
        () => body.end(`${before.replace(',', '')}],"cursor":"${feed.cursor}"}`),
        (error: Error) => body.destroy(error),
      )
      return reply as never
    }),
  )
}

async function overview(options: ReadOptions, activityNow: () => Promise<Activity>): Promise<Overview> {
  const backend = options.backendOf()
  const standings = await backend.standings()
  const recent = await recentRows(backend.books)
  const activity = await activityNow()
  const { use, effect = [] } = budgetText(standings, options, options.settings) ?? {}
  return {
    owner: backend.isOwner,
    reports: standings.map((standing) => ({
      ...standing,
      every: options.settings[standing.report].every,
      per_record: isPerRecord(standing.report),
      recent: [...(recent.get(standing.report) ?? [])],
    })),
    attention: [...(await attentionNow(options, standings)), ...(await settingsAttention(options.editedKeys))],
    receivers_behind: [...(await options.receiversBehind())],
    figures: [use ?? [], ...effect, ...upkeepText(await lastUpkeep(backend.books))].flat(),
    running: activity.running.map(toRunningRun),
    waiting: [...activity.waiting],
    queues: { ...activity.queues },
  }
}

async function attentionNow({ settings, backendOf, queues, clock }: ReadOptions, standings: readonly Standing[]) {
  const nextTicks = (await within(ACTIVITY_MS_MAX, clock, () => queues.nextTicks().catch(() => []))) ?? []
  const ticks = ticksInBudget(nextTicks, standings)
  return attentionOf({ standings, pauses: await pauses(backendOf().books), settings, nextTicks: ticks })
}

/** Returns a function that calls `read`. Concurrent callers share one call. */
function sharing<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined
  return () => (reading ??= read().finally(() => (reading = undefined)))
}

const ACTIVITY_MS_MAX = 2_000

async function activityInTime(backend: ConsoleBackend, clock: Clock): Promise<Activity> {
  const answer = await within(ACTIVITY_MS_MAX, clock, (signal) =>
    backend.answer({ do: 'activity' }, { by: 'console', onEvent: () => undefined, signal }),
  )
  if (answer !== undefined && 'result' in answer) return answer.result as Activity
  return { running: [...backend.running()], waiting: [], queues: {} }
}

async function reportDetail(options: ReadOptions, report: ReportName) {
  const backend = options.backendOf()
  const { books } = backend
  const standing = (await backend.standings()).find((each) => each.report === report)
  if (standing === undefined) throw unknownName(report)
  const { every, settleMs, overlapMs, start } = options.settings[report]
  return {
    standing,
    explained: standing.explained ?? '',
    settings: {
      every,
      settle_seconds: settleMs / 1_000,
      overlap_seconds: overlapMs / 1_000,
      start: formatInstant(start),
    },
    attention: await attentionNow(options, [standing]),
    marks: await marksOver(books, report, settleMs),
    runs: await runsOf(books, { report, limit: RUNS_OF_REPORT }),
  }
}

type Job = Jobs['jobs'][number]
type Queues = Pick<JobQueues, 'queue' | 'depths'>

const STATES = ['active', 'waiting', 'delayed', 'failed'] as const
const JOBS_MAX = 20
const ANSWER_MS_MAX = 5_000

async function jobsInTime(read: () => Promise<Jobs>, clock: Clock): Promise<Jobs> {
  const answer = await within(ANSWER_MS_MAX, clock, read)
  if (answer !== undefined) return answer
  const cure = 'Check that the store of the queue is running and reachable.'
  throw new SyncError('QUEUE_UNREACHABLE', `the queue did not answer within ${ANSWER_MS_MAX / 1_000} seconds`, { cure })
}

async function readJobs(queues: Queues): Promise<Jobs> {
  const depths = await queues.depths()
  const places = STATES.flatMap((state) => QUEUES.map((queue) => ({ queue, state })))
  const filled = places.filter(({ queue, state }) => depths[queue][state] > 0 && !isSchedule(queue, state))
  const jobs = await Promise.all(filled.map(({ queue, state }) => jobsIn(queues, queue, state)))
  return { depths: { ...depths }, jobs: jobs.flat() }
}

/** Returns whether a job is a scheduled run. The page does not list these jobs, because each report always has one. */
const isSchedule = (queue: QueueName, state: Job['state']): boolean => queue === 'ticks' && state === 'delayed'

async function jobsIn(queues: Queues, queue: QueueName, state: Job['state']): Promise<Job[]> {
  const types = state === 'waiting' ? (['waiting', 'prioritized'] as const) : ([state] as const)
  const jobs = await queues.queue(queue).getJobs([...types], 0, JOBS_MAX - 1)
  return jobs
    .filter((job: (typeof jobs)[number] | undefined) => job !== undefined)
    .map((job) => ({
      id: job.id ?? '',
      queue,
      name: job.name,
      state,
      tries: job.attemptsMade,
      added_at: formatInstant(fromMillis(job.timestamp)),
      error: job.failedReason ?? null,
    }))
}

function unknownName(name: string): SyncError {
  const cure = 'If it was a run, it may be older than the setting "history" allows.'
  return usageError(`there is no run or report ${name}`, cure, { status: 404 })
}

/** Endpoints that read: the overview, one report, runs with their log, rejected rows, backfills. */
import { z } from 'zod'
import { isPerRecord } from '../../../schema/index.ts'
import type { Activity, Answer } from '../../../jobs/control/control.ts'
import type { Clock } from '../../clock.ts'
import { SyncError } from '../../errors.ts'
import { linesOfRun } from '../../runLogs.ts'
import { attentionOf } from '../attention.ts'
import {
  backfillsOf,
  explainedOf,
  marksOver,
  pausesOf,
  recentRows,
  rejectedOf,
  runOfId,
  runsOf,
} from '../books/shown.ts'
import type { AllSettings, ConsoleBackend } from '../backend.ts'
import { runningOf } from '../running.ts'
import { type Endpoint, endpoint } from './endpoint.ts'
import { Backfill, Overview, RejectedRow, Report, ReportDetail, Run, RunDetail } from './shapes.ts'

export interface FieldSource {
  readonly clock: Clock
  readonly settings: AllSettings
  /** Where the log lines of runs lie. */
  readonly runLogs: string
}

const RUNS_OF_REPORT = 60
const BACKFILLS_SHOWN = 20
const limit = (max: number, usual: number) => z.coerce.number().int().min(1).max(max).default(usual)

export const readingEndpoints = (parts: FieldSource): readonly Endpoint[] => [
  endpoint({
    method: 'GET',
    path: '/api/overview',
    summary: 'How every report stands, what runs, and what somebody should look at',
    answer: Overview,
    does: ({ backend }) => overview(backend, parts),
  }),
  endpoint({
    method: 'GET',
    path: '/api/reports/:report',
    summary: 'One report: in words, its mark over time, its last runs',
    params: z.strictObject({ report: Report }),
    answer: ReportDetail,
    does: ({ backend, params }) => detail(backend, parts, params.report),
  }),
  endpoint({
    method: 'GET',
    path: '/api/runs',
    summary: 'Runs, newest first',
    query: z.strictObject({
      report: Report.optional(),
      state: z.enum(['running', 'done', 'failed', 'stopped']).optional(),
      before: z.iso.datetime().optional().describe('Those that began earlier'),
      limit: limit(200, 50),
    }),
    answer: z.object({ runs: z.array(Run) }),
    does: async ({ backend, query }) => ({ runs: await runsOf(backend.books, query) }),
  }),
  endpoint({
    method: 'GET',
    path: '/api/runs/:run',
    summary: 'One run with the lines of its log',
    params: z.strictObject({ run: z.string().min(1).max(100) }),
    answer: RunDetail,
    does: async ({ backend, params }) => {
      const run = await runOfId(backend.books, params.run)
      const lines = await linesOfRun(parts.runLogs, params.run)
      if (run === undefined && lines.length === 0) throw noRun(params.run)
      return { run: run ?? null, lines }
    },
  }),
  endpoint({
    method: 'GET',
    path: '/api/rejected',
    summary: 'Rows that could not be stored, with the reason',
    query: z.strictObject({
      report: Report.optional(),
      limit: limit(100, 20),
      offset: z.coerce.number().int().min(0).default(0),
    }),
    answer: z.object({ total: z.int(), rows: z.array(RejectedRow) }),
    does: ({ backend, query }) => rejectedOf(backend.books, query),
  }),
  endpoint({
    method: 'GET',
    path: '/api/backfills',
    summary: 'Backfills, those asked for last first',
    answer: z.object({ backfills: z.array(Backfill) }),
    does: async ({ backend }) => ({ backfills: await backfillsOf(backend.books, BACKFILLS_SHOWN) }),
  }),
]

async function overview(backend: ConsoleBackend, { settings, clock }: FieldSource): Promise<Overview> {
  const standings = await backend.standings()
  const recent = await recentRows(backend.books)
  const pauses = await pausesOf(backend.books)
  const activity = await activityOf(backend, clock)
  return {
    owner: backend.isOwner,
    reports: standings.map((standing) => ({
      ...standing,
      every: settings[standing.report].every,
      per_record: isPerRecord(standing.report),
      recent: [...(recent.get(standing.report) ?? [])],
    })),
    attention: attentionOf({ standings, pauses, settings }),
    running: activity.running.map(runningOf),
    waiting: [...activity.waiting],
    queues: { ...activity.queues },
  }
}

/** Whoever looks at the overview waits no longer for what runs. */
const ACTIVITY_MS_MAX = 2_000

/** Nobody may answer in time, where the owner is elsewhere; then nothing is known to run. */
async function activityOf(backend: ConsoleBackend, clock: Clock): Promise<Activity> {
  const asking = new AbortController()
  const late = Promise.withResolvers<undefined>()
  const callOff = clock.after(ACTIVITY_MS_MAX, () => late.resolve(undefined))
  const asked: Promise<Answer> = backend.answer({ do: 'activity' }, { tell: () => undefined, signal: asking.signal })
  const answer = await Promise.race([asked, late.promise])
  callOff()
  if (answer === undefined) asking.abort()
  if (answer !== undefined && 'result' in answer) return answer.result as Activity
  return { running: backend.running(), waiting: [], queues: {} }
}

async function detail(backend: ConsoleBackend, { settings }: FieldSource, report: z.infer<typeof Report>) {
  const standing = (await backend.standings()).find((each) => each.report === report)
  if (standing === undefined) throw noRun(report)
  const { every, settleMs, overlapMs, start } = settings[report]
  return {
    standing,
    explained: await explainedOf(backend.books, report),
    settings: { every, settle_seconds: settleMs / 1_000, overlap_seconds: overlapMs / 1_000, start },
    attention: attentionOf({ standings: [standing], pauses: await pausesOf(backend.books), settings }),
    marks: await marksOver(backend.books, report, settleMs),
    runs: await runsOf(backend.books, { report, limit: RUNS_OF_REPORT }),
  }
}

const noRun = (name: string): SyncError =>
  new SyncError('USAGE_INVALID', `nothing is known of ${name}`, {
    cure: 'It may be older than what is kept (the setting "history").',
    data: { status: 404 },
  })

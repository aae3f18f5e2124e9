/** Schemas of the API's responses. A test compares real responses with them. */
import { z } from 'zod'
import { Report } from '../../../schema/index.ts'
import { SpanText, time } from '../../status/coverage.ts'
import { Warrant } from '../../reader/warrants.ts'
import { ReceiverBehind } from '../../status/receivers.ts'
import { Problem, Standing } from '../../status/standing.ts'

const count = z.int().min(0)

export const RunningRun = z.object({
  run_id: z.string(),
  report: Report,
  kind: z.enum(['incremental', 'backfill', 'reconcile']),
  started_at: time,
  pages: count,
  rows: count,
  rows_expected: count.nullable(),
  windows: z.object({ done: count, failed: count, total: count, ms_left: z.number().nullable() }).nullable(),
})
export type RunningRun = z.infer<typeof RunningRun>

export const Attention = z.object({
  reports: z.array(Report).describe('All reports with this cause; none if it concerns no report'),
  kind: z.enum(['paused', 'failed', 'rejected', 'misfits', 'behind', 'gap', 'late', 'settings']),
  title: z.string(),
  why: z.string(),
  cure: z.string(),
  urgent: z.boolean().describe('The report is not read until somebody acts'),
  action: z.enum(['resume', 'sync', 'retry-rejected', 'backfill']).nullable(),
  next_try: time.nullable().describe('The latest time when a failed report runs again by itself'),
})
export type Attention = z.infer<typeof Attention>

export const Depth = z.object({ waiting: count, active: count, delayed: count, failed: count })

export const Overview = z.object({
  owner: z
    .boolean()
    .describe('True: this process owns the warehouse. False: the figures are those of the published copy'),
  reports: z.array(
    Standing.extend({
      every: z.string(),
      per_record: z
        .boolean()
        .describe('Only records that changed are requested, so the lag grows while nothing changes'),
      recent: z.array(count).describe('Rows of the last runs'),
    }),
  ),
  attention: z.array(Attention).describe('What needs attention, worst first'),
  receivers_behind: z.array(ReceiverBehind).describe('Receivers of messages that did not accept the last one'),
  figures: z.array(z.string()).describe('Requests of 24 hours, the effect of a budget, the last upkeep of a lake'),
  running: z.array(RunningRun),
  waiting: z.array(z.object({ id: z.string(), report: z.string(), kind: z.string() })),
  queues: z.record(z.string(), Depth),
})
export type Overview = z.infer<typeof Overview>

export const Run = z.object({
  run_id: z.string(),
  report: Report,
  kind: z.string(),
  state: z.string(),
  started_at: time,
  ended_at: time.nullable(),
  seconds: z.number().nullable(),
  pages: count,
  rows: count,
  inserted: count,
  updated: count,
  deleted: count,
  rejected: count,
  misfits: count,
  error: Problem.nullable(),
})
export type Run = z.infer<typeof Run>

const limit = (max: number, usual: number) => z.coerce.number().int().min(1).max(max).default(usual)

export const RunQuery = z.strictObject({
  report: Report.optional(),
  state: z.enum(['running', 'done', 'failed', 'stopped']).optional(),
  empty: z.enum(['hide']).optional().describe('hide: without runs that ended well and read no row'),
  before: z.iso.datetime().optional().describe('Only runs that began earlier'),
  limit: limit(200, 50),
})
export type RunQuery = z.infer<typeof RunQuery>

export const ReportDetail = z.object({
  standing: Standing,
  explained: z.string().describe('The state of the report in words'),
  settings: z.object({ every: z.string(), settle_seconds: z.number(), overlap_seconds: z.number(), start: time }),
  attention: z.array(Attention),
  marks: z.array(z.object({ at: time, mark: time })).describe('The mark after each run, earliest first'),
  runs: z.array(Run).describe('The last runs, newest first'),
})

export const Jobs = z.object({
  depths: z.record(z.string(), Depth).describe('Number of jobs per queue and state'),
  jobs: z
    .array(
      z.object({
        id: z.string(),
        queue: z.string(),
        name: z.string().describe('The report, or the kind of housekeeping'),
        state: z.enum(['active', 'waiting', 'delayed', 'failed']).describe('Delayed: waits for its next try'),
        tries: count.describe('Tries so far'),
        added_at: time,
        error: z.string().nullable().describe('Reason of the last failure'),
      }),
    )
    .describe('The newest jobs of each queue and state; scheduled ticks are left out'),
})
export type Jobs = z.infer<typeof Jobs>

export const RunLine = z.looseObject({ time: z.string(), level: z.int(), msg: z.string() })
export const RunDetail = z.object({ run: Run.nullable(), lines: z.array(RunLine) })

export const RejectedRow = z.object({
  report: Report,
  scope: z.string(),
  key: z.string().nullable(),
  reason: z.string(),
  observed_at: time.nullable(),
  row: z.string().describe('JSON as the service sent it'),
  cut: z.boolean().describe('True: the row is cut here; tidemark.rejected_rows contains the whole row'),
})
export type RejectedRow = z.infer<typeof RejectedRow>

export const RejectedQuery = z.strictObject({
  report: Report.optional(),
  limit: limit(100, 20),
  offset: z.coerce.number().int().min(0).default(0),
})
export type RejectedQuery = z.infer<typeof RejectedQuery>

export const Backfill = z.object({
  backfill_id: z.string(),
  report: Report,
  since: time,
  until: time,
  state: z.enum(['pending', 'running', 'done', 'failed', 'cancelled']),
  requested_at: time,
  ended_at: time.nullable(),
  windows: count,
  done: count,
  failed: count,
  rows: count,
  error: z.string().nullable().describe('Error of the newest window that failed'),
})
export type Backfill = z.infer<typeof Backfill>

export const Plan = z.object({
  report: Report,
  since: time,
  until: time,
  goes_on: z.boolean().describe('A backfill of this range was begun before'),
  requests: count.describe(
    'Estimated number of requests; the smallest possible number where the rows of a window are unknown',
  ),
  windows: z.array(SpanText.extend({ number: count, scope: z.string(), rows: count.nullable(), requests: count })),
})

export const Outcome = z.object({ report: z.string(), state: z.string(), text: z.string(), error: Problem.nullable() })
export type Outcome = z.infer<typeof Outcome>

export const Errand = z.object({
  id: z.string(),
  what: z.string(),
  reports: z.array(z.string()),
  state: z.enum(['running', 'done', 'failed']),
  started_at: time,
  outcomes: z.array(Outcome),
  error: Problem.nullable(),
})
export type Errand = z.infer<typeof Errand>

export const Statement = z.strictObject({
  sql: z.string().min(1).max(10_000),
  limit: z.int().min(1).max(10_000).default(1_000).describe('The most rows of the answer'),
})

export const QueryAnswer = z.object({
  columns: z.array(z.string()),
  rows: z.array(z.array(z.string().nullable())).describe('Values as exact text, as in CSV; null is NULL'),
  more: z.boolean().describe('True: the statement has more rows than this answer'),
  reports: z.array(Warrant.extend({ text: z.string() })).describe('How complete each report is that was read'),
})
export type QueryAnswer = z.infer<typeof QueryAnswer>

export const Tables = z.object({
  tables: QueryAnswer.describe('Tables with their comments, and how complete the report of each table is'),
  table: z.object({ name: z.string(), count: QueryAnswer, columns: QueryAnswer, sample: QueryAnswer }).nullable(),
})

/**
 * What the API answers with, as schemas: the document for machines is made from them, and a test holds real answers to
 * them.
 */
import { z } from 'zod'
import { reportNames } from '../../../schema/index.ts'

export const Report = z.enum(reportNames)
const time = z.iso.datetime({ precision: 6 }).describe('UTC, to the microsecond')
const count = z.int().min(0)

export const Problem = z.object({
  code: z.string(),
  message: z.string(),
  cure: z.string().describe('What to do about it'),
})

const Span = z.object({ since: time.nullable().describe('Null: from the beginning'), until: time })

export const ScopeCoverage = z.object({
  scope: z.string(),
  asked: z.boolean().describe('False: its currency was taken out of the configuration'),
  covered: z.array(Span),
  gaps: z.array(Span),
  reading_again: Span.extend({ because: z.array(z.string()).readonly(), records: count.nullable() }).nullable(),
})

export const Standing = z.object({
  report: Report,
  state: z.enum(['done', 'failed', 'stopped', 'running', 'paused', 'off', 'never run']),
  mark: time.nullable(),
  lag_seconds: z.int().nullable(),
  last_run: time.nullable(),
  rows: count,
  deleted: count,
  rejected: count,
  deletes_visible: z.string().nullable(),
  not_running_because: z.string().nullable(),
  error: Problem.nullable(),
  late_rows: count.nullable(),
  largest_lateness_seconds: z.number().nullable(),
  advised_overlap: z.string().nullable(),
  future_rows: count.nullable(),
  unstamped_rows: count.nullable(),
  coverage: z.array(ScopeCoverage),
  explained: z.string().nullable().describe('The same in words'),
})
export type Standing = z.infer<typeof Standing>

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
  report: Report,
  kind: z.enum(['paused', 'failed', 'rejected', 'behind', 'gap', 'late']),
  title: z.string(),
  why: z.string(),
  cure: z.string(),
  urgent: z.boolean().describe('It does not pass by itself and keeps the report from being read'),
  action: z.enum(['resume', 'sync', 'retry-rejected', 'backfill']).nullable(),
})
export type Attention = z.infer<typeof Attention>

export const Depth = z.object({ waiting: count, active: count, delayed: count, failed: count })

export const Overview = z.object({
  owner: z.boolean().describe('This process holds the warehouse; else the books are those of the published copy'),
  reports: z.array(
    Standing.extend({
      every: z.string(),
      per_record: z
        .boolean()
        .describe('Only records that changed are asked about: its lag grows while nothing changes'),
      recent: z.array(count).describe('Rows of the last runs'),
    }),
  ),
  attention: z.array(Attention).describe('What somebody should look at, worst first'),
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
  error: Problem.nullable(),
})
export type Run = z.infer<typeof Run>

export const ReportDetail = z.object({
  standing: Standing,
  explained: z.string().describe('The same in words'),
  settings: z.object({
    every: z.string(),
    settle_seconds: z.number(),
    overlap_seconds: z.number(),
    start: time,
  }),
  attention: z.array(Attention),
  marks: z.array(z.object({ at: time, mark: time })).describe('Where the mark stood after each run, earliest first'),
  runs: z.array(Run).describe('The last runs, newest first'),
})

export const RunLine = z.looseObject({ time: z.string(), level: z.int(), msg: z.string() })
export const RunDetail = z.object({ run: Run.nullable(), lines: z.array(RunLine) })

export const RejectedRow = z.object({
  report: Report,
  scope: z.string(),
  key: z.string().nullable(),
  reason: z.string(),
  observed_at: time.nullable(),
  row: z.string().describe('JSON as it was sent'),
  cut: z.boolean().describe('The row is longer than is shown; tidemark.rejected_rows has it whole'),
})

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
  error: z.string().nullable().describe('Of its newest window that failed'),
})

export const Plan = z.object({
  report: Report,
  since: time,
  until: time,
  goes_on: z.boolean().describe('A backfill of this range was begun before'),
  requests: count.describe('About'),
  windows: z.array(Span.extend({ number: count, scope: z.string(), rows: count.nullable(), requests: count })),
})

export const Outcome = z.object({
  report: z.string(),
  state: z.string(),
  text: z.string(),
  error: Problem.nullable(),
})

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
